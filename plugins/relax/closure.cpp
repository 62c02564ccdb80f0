// SPDX-License-Identifier: Apache-2.0
#include "closure.hpp"

#include "builtin.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/opaque.hpp>

#include <memory>

namespace gantry::relax {

Result<Value> make_closure(const Host& host, const gantry_value& function,
                           std::span<const gantry_value> captured, const gantry_env* env) {
  if (function.kind < GANTRY_OBJECT) {
    return raise(host, "TypeError", "make_closure receives ", kind_text(function.kind),
                 ", expected a function");
  }
  auto made = std::make_unique<Closure>();
  if (function.kind == GANTRY_OBJECT) {
    GANTRY_TRY(const Closure* const inner, opaque_of<Closure>(host, function.object));
    *made = *inner;
  } else {
    GANTRY_TRY(made->other, host.keep(function));
  }
  for (const gantry_value& value : captured) {
    GANTRY_TRY(Value kept, keep_or_copy(host, value, env));
    made->captured.push_back(std::move(kept));
  }
  return new_opaque(host, std::move(made));
}

}  // namespace gantry::relax
