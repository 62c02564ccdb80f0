// SPDX-License-Identifier: Apache-2.0
//
// Late-bound constants in a file of parameters (.params, gantry/param_names.hpp).
#pragma once

#include "loaded.hpp"

#include <gantry/handle.hpp>

#include <string_view>
#include <vector>

namespace gantry::relay {

// Reads all tensors of a file into memory of the CPU.
//
// returns  NOT_FOUND, UNAVAILABLE  as MappedFile::open(); MALFORMED: not a list of parameters
Result<std::vector<Loaded::Named>> read_parameter_file(const Host& host, std::string_view path,
                                                       const gantry_env* env);

// Writes tensors of the CPU. The file is replaced completely or not at all.
Status write_parameter_file(std::string_view path, const std::vector<Loaded::Named>& tensors);

}  // namespace gantry::relay
