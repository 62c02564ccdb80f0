// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/object.hpp"

#include <gantry/result.hpp>
#include <gantry/runtime.hpp>

#include <string>

namespace gantry {

// See gantry_embed::inspect.
Result<OwnedValue> inspection(const Runtime& runtime, const std::string& path);

}  // namespace gantry
