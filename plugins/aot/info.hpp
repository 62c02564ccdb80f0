// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/aot_metadata.hpp"

#include <gantry/handle.hpp>

#include <functional>
#include <vector>

namespace gantry::aot {

// Returns {"shape": {name: shape}, "dtype": {name: text}} of tensors, as the graph executor does.
//
// is_listed  [in]   by index; empty: all are listed
Result<Value> info_of(const Host& host, const std::vector<AotTensor>& tensors,
                      const std::function<bool(std::size_t)>& is_listed = {});

}  // namespace gantry::aot
