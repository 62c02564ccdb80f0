// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/tensor/tensor.hpp"

#include <gantry/result.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gantry {

struct RuntimeState;

// Reads the tensors of an .npy (one, without a name), .npz or .params file to the CPU.
Result<std::vector<std::pair<std::string, Ref<TensorObject>>>> read_tensors(
    RuntimeState& state, const std::string& path);

}  // namespace gantry
