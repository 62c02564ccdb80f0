// SPDX-License-Identifier: Apache-2.0
//
// Reads .params files: named parameters, as written by save_params() of the compilers. Their layout
// is that of gantry/param_names.hpp.
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/param_names.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Name and data are views of the file's bytes.
using Param = NamedArray;

// Returns the parameters in the order of the file.
//
// bytes    [in]   the whole file
// returns  malformed at the first wrong byte: another magic, a name that occurs twice, counts that
//          differ, a wrong record, bytes after the last record
// lifetime names and data view `bytes`
// costs    O(parameters log parameters); does not read the data
Result<std::vector<Param>> read_params(std::span<const std::uint8_t> bytes);

}  // namespace gantry
