// SPDX-License-Identifier: Apache-2.0
//
// The processes that have a file open.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gantry {

struct FileUser {
  pid_t process = 0;
  // the kernel's name of its program, at most 15 bytes
  std::string program;
};

// Returns the other processes that have a file or a device node open, by number. Processes whose
// descriptors this user may not list are left out.
//
// path     [in]   a device node is compared by its device number, any other file by its identity
// max      [in]   of the processes returned
// returns  empty if the file does not exist, or without /proc
// costs    one stat() for each descriptor of each process of this user, or of all for root
std::vector<FileUser> other_users_of(const std::string& path, std::size_t max);

}  // namespace gantry
