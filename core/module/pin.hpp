// SPDX-License-Identifier: Apache-2.0
//
// What a loaded thing keeps alive. new_pin() of core/tensor/object.hpp makes one that can cross the
// ABI.
#pragma once

#include <memory>

namespace gantry {

// A library, a mapping, a plugin instance, a runtime: whatever must not go before the holder does.
using Pin = std::shared_ptr<const void>;

}  // namespace gantry
