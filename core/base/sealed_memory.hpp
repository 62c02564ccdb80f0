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

// The file has no path; /proc/self/fd/<number> opens it.
//
// name     [in]   shown in /proc/<pid>/maps, up to 200 bytes
// returns  exhausted    no memory or descriptor
//          unavailable  the kernel does not permit such files
// costs    one copy of the bytes
Result<Descriptor> sealed_memory(std::string_view name, std::span<const std::uint8_t> bytes);

}  // namespace gantry
