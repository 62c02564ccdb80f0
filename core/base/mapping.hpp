// SPDX-License-Identifier: Apache-2.0
//
// The files behind addresses of this process, as the kernel reports them.
#pragma once

#include "core/base/mapped_file.hpp"

#include <link.h>

#include <string>

namespace gantry {

// Device and inode of two mappings, in the format of /proc/self/maps; empty if there is none. Some
// file systems report other device numbers to stat().
struct MappingPair {
  std::string first, second;

  bool is_one_file() const { return !first.empty() && first == second; }
};

// Returns the mappings that contain two addresses.
//
// costs    one reading of /proc/self/maps, up to the higher address: microseconds
MappingPair mappings_of(const void* first, const void* second);

// Returns the linker's record of the library behind a handle of dlopen(); NULL if it reports none.
link_map* link_map_of(void* handle);

// Returns the mappings of the library behind a handle of dlopen() and of a file; the first one is
// empty if the linker does not report its address.
MappingPair mappings_of_library(void* handle, const MappedFile& file);

}  // namespace gantry
