// SPDX-License-Identifier: Apache-2.0
//
// Functions that choose tokens from the logits or probabilities of a model's output, and that
// change logits in place. All of them run on the CPU; those that choose also take tensors of other
// devices, which they copy.
#pragma once

#include "plugins/relax/builtin.hpp"

namespace gantry::relax {

// costs    O(vocabulary); choosing sorts the tokens that it may choose
std::span<const Builtin> sampling_builtins();

}  // namespace gantry::relax
