// SPDX-License-Identifier: Apache-2.0
#include "closure.hpp"

#include "builtin.hpp"
#include "registers.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/opaque.hpp>

#include <memory>

namespace gantry::relax {
namespace {

// No call has more arguments.
constexpr std::uint64_t max_bytes = RegisterStack::max_values * sizeof(Value);
// Of one closure, as of a tuple with as many elements.
constexpr std::uint64_t uncounted_bytes = 16 * sizeof(Value);

}  // namespace

Closure::Closure(const Host& host, std::shared_ptr<StorageMemory> memory, std::uint32_t index)
    : function(index),
      counted(host, std::move(memory), "values that a closure captures", max_bytes,
              uncounted_bytes),
      captured(&counted) {}

Result<Value> make_closure(const Host& host, const std::shared_ptr<StorageMemory>& memory,
                           const gantry_value& function, std::span<const gantry_value> captured,
                           const gantry_env* env) {
  if (function.kind < GANTRY_OBJECT) {
    return raise(host, "TypeError", "make_closure receives ", kind_text(function.kind),
                 ", expected a function");
  }
  auto made = std::make_unique<Closure>(host, memory);
  if (function.kind == GANTRY_OBJECT) {
    GANTRY_TRY(const Closure* const inner, opaque_of<Closure>(host, function.object));
    made->function = inner->function;
    made->other = inner->other;
    made->captured.reserve(inner->captured.size() + captured.size());
    made->captured = inner->captured;
  } else {
    GANTRY_TRY(made->other, host.keep(function));
    made->captured.reserve(captured.size());
  }
  for (const gantry_value& value : captured) {
    GANTRY_TRY(Value kept, keep_or_copy(host, value, env));
    made->captured.push_back(std::move(kept));
  }
  return new_opaque(host, std::move(made));
}

}  // namespace gantry::relax
