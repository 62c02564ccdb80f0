// SPDX-License-Identifier: Apache-2.0
//
// Writes .npz and .npy files, which NumPy can read.
#pragma once

#include "core/base/output_file.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
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

// Writes the archive; the caller commits `out`. Members are not compressed and are dated 1980-01-01,
// so the same arrays result in the same bytes.
//
// returns  invalid      no items; a name is empty, occurs twice, is above 1024 bytes or contains
//                       NUL; the size of data does not match dtype and shape
//          unsupported  NumPy has no such type
//          unavailable  the output cannot be written
Status write_npz(OutputFile& out, std::span<const NpzItem> items);

// Writes one array, without its name; the caller commits `out`.
//
// returns  as write_npz()
Status write_npy(OutputFile& out, const NpzItem& item);

}  // namespace gantry
