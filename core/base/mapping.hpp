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

// True if /proc is mounted: descriptors have a path, and mappings state their file.
bool has_proc();

// Compares the library behind a handle of dlopen() with a file that ElfFile::parse() accepts: the
// kernel's entries of their mappings. Without /proc: the file at the path of `file`, and the bytes
// of all segments that are readable and not writable.
//
// returns  empty: the library is the file; else what differs, for messages
// costs    as mappings_of(); without /proc O(size of the segments)
std::string difference_of(void* handle, const MappedFile& file);

}  // namespace gantry
