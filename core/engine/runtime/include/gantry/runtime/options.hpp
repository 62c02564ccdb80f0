// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/options.hpp"

namespace gantry {

using LoadOptions = LoadPermissions;
using GraphFiles = ModelFiles;
using RuntimeOptions = EngineOptions;

}  // namespace gantry
