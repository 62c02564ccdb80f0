// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/embed/objects.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

namespace gantry {

// See gantry_embed::run.
//
// run      [in,out] has the members of this version
Status run_model(ModelObject& model, gantry_run& run);

}  // namespace gantry
