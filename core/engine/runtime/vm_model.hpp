// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

#include "core/formats/payload_layout.hpp"

namespace gantry {

// Returns a model of a new virtual machine.
//
// load     [in]   the function of the executable that creates machines
Result<std::shared_ptr<ModelState>> vm_model(Runtime runtime, const Module& module,
                                             const Function& load, const PayloadLayouts& layouts,
                                             std::span<const std::string> devices,
                                             const ModelOptions& options);

}  // namespace gantry
