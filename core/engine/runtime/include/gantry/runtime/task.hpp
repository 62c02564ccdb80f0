// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/gantry.h>
#include "core/engine/runtime/call_task.hpp"

namespace gantry {

class Task : public CallTask {
 public:
  // lifetime the task must outlive the call
  gantry_env env(gantry_device_id device = {1, 0}) const {
    return {device, nullptr, static_cast<const CallTask*>(this)};
  }
};

}  // namespace gantry
