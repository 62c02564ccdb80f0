// SPDX-License-Identifier: Apache-2.0
//
// Reports as trees of maps, arrays, texts and numbers.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// See gantry_embed::report, for a runtime, a module and a model.
Result<Value> report(RuntimeState& runtime, std::string_view what);
Result<Value> report(ModuleNode& module, std::string_view what);
Result<Value> report(ModelState& model, std::string_view what);

}  // namespace gantry
