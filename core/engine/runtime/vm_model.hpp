// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

namespace gantry {

// Returns a model of a new virtual machine.
//
// load     [in]   the function of the executable that creates machines
Result<std::shared_ptr<ModelState>> vm_model(const ModelSource& source, FunctionObject& load);

}  // namespace gantry
