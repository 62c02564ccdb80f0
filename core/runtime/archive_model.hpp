// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/model_state.hpp"

#include "core/format/payload_layout.hpp"

namespace gantry {

// Returns a model whose functions are the models of an archive, by their names. Each is loaded on the
// devices when it is chosen.
//
// module   [in]   of archive_module.hpp
std::shared_ptr<ModelState> archive_model(Runtime runtime, const Module& module,
                                          const PayloadLayouts& layouts,
                                          std::span<const std::string> devices,
                                          const ModelOptions& options);

}  // namespace gantry
