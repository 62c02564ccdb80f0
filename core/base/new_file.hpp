// SPDX-License-Identifier: Apache-2.0
//
// Files that did not exist and that only this user can read, for compilers.
#pragma once

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>

namespace gantry {

// Creates an empty file and opens it for writing.
//
// returns  unavailable  it exists or cannot be created
Result<Descriptor> create_file(const std::filesystem::path& path);

// Creates a file with these bytes.
//
// returns  unavailable  it exists, or cannot be created or written
Status write_new_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

}  // namespace gantry
