// SPDX-License-Identifier: Apache-2.0
//
// Writes .npz files, which NumPy can read.
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

// Writes the archive to a temporary file in the directory of `path` and renames it. Members are not
// compressed and are dated 1980-01-01, so the same arrays result in the same bytes.
//
// returns  invalid      no items; a name is empty, occurs twice, is above 1024 bytes or contains
//                       NUL; the size of data does not match dtype and shape
//          unsupported  NumPy has no such type
//          not_found, unavailable  the file cannot be written; `path` is unchanged
Status write_npz(const std::filesystem::path& path, std::span<const NpzItem> items);

}  // namespace gantry
