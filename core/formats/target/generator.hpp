// SPDX-License-Identifier: Apache-2.0
//
// A code generator, opened: that of a plugin by core/engine/runtime, a built-in one by core/writing/generator, which
// calls both.
#pragma once

#include "core/base/pin.hpp"

#include <gantry/generator.h>

#include <string>

namespace gantry {

struct Generator {
  // id of the plugin, or the built-in generator's, for messages
  std::string name;
  // complete, see table_copy.hpp
  gantry_generator table{};
  void* self = nullptr;
  // keeps `self`
  Pin life;
};

}  // namespace gantry
