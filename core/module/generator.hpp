// SPDX-License-Identifier: Apache-2.0
//
// The code generator of a plugin, opened: core/runtime opens it, core/pack calls it.
#pragma once

#include "core/module/pin.hpp"

#include <gantry/generator.h>

#include <string>

namespace gantry {

struct Generator {
  // id, for messages
  std::string plugin;
  // complete, see table_copy.hpp
  gantry_generator table{};
  void* self = nullptr;
  // keeps the plugin
  Pin life;
};

}  // namespace gantry
