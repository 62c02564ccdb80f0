// SPDX-License-Identifier: Apache-2.0
//
// Writes the .npz files that NumPy reads.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace gantry {

// An array to write. Owns nothing.
struct NpzItem {
  std::string_view name;
  gantry_dtype dtype{};
  std::span<const std::int64_t> shape;
  std::span<const std::uint8_t> data;
};

// Writes the archive to a temporary file beside `path`, then renames it. Members are stored and
// dated 1980-01-01: the same arrays give the same bytes.
//
// returns  invalid      no items; a name is empty, occurs twice, is above 1024 bytes or contains
//                       NUL; data are not as large as dtype and shape require
//          unsupported  NumPy has no such type
//          not_found, unavailable  the file; what was at `path` is unchanged
Status write_npz(const std::filesystem::path& path, std::span<const NpzItem> items);

}  // namespace gantry
