// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/devices.hpp"

namespace gantry {

using DeviceInfo = ListedDevice;

}  // namespace gantry
