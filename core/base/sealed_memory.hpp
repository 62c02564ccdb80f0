// SPDX-License-Identifier: Apache-2.0
//
// A copy of bytes in a file in memory that nobody can change, for interfaces that take a file.
#pragma once

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

// Bytes of a file that are not written: they are zeros and take no memory until they are read.
struct FileHole {
  std::uint64_t at = 0, size = 0;
};

// The file has no path; /proc/self/fd/<number> opens it.
//
// name     [in]   shown in /proc/<pid>/maps, up to 200 bytes
// hole     [in]   inside `bytes`; the bytes there are not read
// returns  exhausted    no memory or descriptor
//          unavailable  the kernel does not permit such files
// costs    one copy of the bytes
Result<Descriptor> sealed_memory(std::string_view name, std::span<const std::uint8_t> bytes,
                                 FileHole hole = {});

}  // namespace gantry
