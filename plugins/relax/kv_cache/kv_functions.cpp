// SPDX-License-Identifier: Apache-2.0
#include "legacy_cache.hpp"
#include "sampling.hpp"

#include <vector>

namespace gantry::relax {

std::span<const Builtin> kv_builtins() {
  static const std::vector<Builtin> rows = [] {
    std::vector<Builtin> all;
    for (const std::span<const Builtin> part : {legacy_cache_builtins(), sampling_builtins()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace gantry::relax
