// SPDX-License-Identifier: Apache-2.0
//
// A reference that keeps something alive. new_pin() of core/engine/tensor/object.hpp creates one that can
// be passed through the ABI.
#pragma once

#include <memory>

namespace gantry {

// A library, a mapping, a plugin instance or a runtime, which must outlive the owner of the pin.
using Pin = std::shared_ptr<const void>;

}  // namespace gantry
