// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/offered_by.hpp"

#include "core/engine/runtime/state.hpp"

namespace gantry {

std::optional<std::string> offered_by(const RuntimeState& state, const ServingPlugins& plugins,
                                      std::string_view name) {
  if (state.globals->find(name)) return "gantry";
  return plugins.id_for_function(name);
}

}  // namespace gantry
