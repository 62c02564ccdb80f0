// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/embed/objects.hpp"
#include "core/engine/module/module.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// See gantry_embed::model_new.
Result<Ref<ModelObject>> new_model(ModuleNode& module, const gantry_model_options* given);

// See gantry_embed::model_module.
Result<Ref<ModuleNode>> module_of(ModelObject& model);

// See gantry_embed::model_signature.
Result<const Signature*> signature_of(ModelObject& model, std::string_view function);

}  // namespace gantry
