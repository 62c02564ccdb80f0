// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

#include "core/formats/payload_layout.hpp"

namespace gantry {

// Returns a model whose functions are the models of an archive, by their names. Each is loaded on its
// devices when it is chosen.
//
// module   [in]   of archive_module.hpp
// devices  [in]   that the caller names; see default_devices.hpp
std::shared_ptr<ModelState> archive_model(Runtime runtime, const Module& module,
                                          const PayloadLayouts& layouts,
                                          std::span<const std::string> devices,
                                          const ModelOptions& options);

}  // namespace gantry
