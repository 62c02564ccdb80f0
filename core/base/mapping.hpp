// SPDX-License-Identifier: Apache-2.0
//
// The file behind an address of this process, as the kernel reports it.
#pragma once

#include <link.h>

#include <string>

namespace gantry {

// Returns device and inode of the mapping that contains an address, in the format of
// /proc/self/maps; empty if there is none. Some file systems report other device numbers to stat().
std::string mapping_of(const void* address);

// Returns the linker's record of the library behind a handle of dlopen(); NULL if it reports none.
link_map* link_map_of(void* handle);

// Returns mapping_of() the library behind a handle of dlopen(); empty if the linker does not report
// its address.
std::string mapping_of_library(void* handle);

}  // namespace gantry
