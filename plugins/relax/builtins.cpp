// SPDX-License-Identifier: Apache-2.0
#include "builtin.hpp"

#include <algorithm>

namespace gantry::relax {

std::span<const Builtin* const> builtins() {
  static const std::vector<const Builtin*> sorted = [] {
    std::vector<const Builtin*> all;
    for (const auto rows : {check_builtins(), shape_builtins(), tensor_builtins(),
                            object_builtins(), capture_builtins(), paged_cache_builtins(),
                            legacy_cache_builtins(), sampling_builtins()}) {
      for (const Builtin& row : rows) all.push_back(&row);
    }
    std::ranges::sort(all, {}, &Builtin::name);
    return all;
  }();
  return sorted;
}

const Builtin* find_builtin(std::string_view name) {
  const auto found = std::ranges::lower_bound(builtins(), name, {}, &Builtin::name);
  return found != builtins().end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace gantry::relax
