// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>

namespace gantry {

// True for the device of /dev/null, whatever its name is.
bool is_null_device(const struct stat& about);

// True for an empty regular file and for /dev/null under any name, with which administrators mask
// files of the same name in lower directories.
bool is_null_file(const std::string& path);

}  // namespace gantry
