// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/trace_arguments.hpp"

#include "core/engine/tensor/null_value.hpp"

#include <gantry/concat.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace gantry {

std::optional<TraceValue> trace_value(const gantry_value& value) {
  if (value.kind == GANTRY_INT) return value.i;
  if (value.kind == GANTRY_BOOL) return value.i != 0;
  if (value.kind == GANTRY_FLOAT) return value.f;
  if (is_null(value)) return std::nullopt;
  if (const auto text = value_text(value))
    return std::string(text->substr(0, TraceLimits{}.text + 1));
  return std::nullopt;
}

std::vector<TraceArgument> trace_arguments(const gantry_value* args, std::int32_t count) noexcept
    try {
  std::vector<TraceArgument> all;
  // Two more are added when they are written.
  constexpr auto max = static_cast<std::int32_t>(TraceLimits{}.arguments) - 2;
  for (std::int32_t i = 0; args != nullptr && i < std::min(count, max); ++i) {
    if (is_null(args[i])) continue;
    const gantry_tensor* const tensor = gantry_value_tensor(&args[i]);
    std::optional<TraceValue> value =
        tensor != nullptr ? TraceTensor::of(*tensor) : trace_value(args[i]);
    if (value) all.push_back({concat("arg", i), *std::move(value)});
  }
  return all;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace gantry
