// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

namespace gantry {

// Returns a model whose functions are the models of an archive, by their names. Each is loaded on its
// devices when it is chosen.
//
// source   [in]   with a module of archive_module.hpp, and the devices that the caller names; see
//                 default_devices.hpp
std::shared_ptr<ModelState> archive_model(const ModelSource& source);

}  // namespace gantry
