// SPDX-License-Identifier: Apache-2.0
//
// gantry/run_outputs.hpp - passes the result of a function to the caller of a run: the items of
// tuples one by one, in tensors of the caller where it has passed some.
//
//     gantry::Status Executor::run(const gantry_env& env, gantry::ExecutorRun& run) {
//       GANTRY_TRY(gantry::Value result, machine_.run(run.function(), &env, run.inputs()));
//       return gantry::pass_result({"main", signature, placed}, host_, env, std::move(result), run);
//     }
#pragma once

#include <gantry/device_name.hpp>
#include <gantry/handle.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/model.hpp>
#include <gantry/parameter_info.hpp>
#include <gantry/quoted.hpp>
#include <gantry/signature.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The function of a run, which must outlive the call.
struct RunFunction {
  std::string_view name;
  const Signature& signature;
  const Placements& placed;

  // "function "main"", as errors have it.
  std::string title() const { return concat("function ", quoted(name)); }
};

namespace detail {

inline Result<std::vector<Value>> flat_result(const Host& host, Value result) {
  return flat_items(std::move(result),
                    [&](const Value& value) -> Result<std::optional<std::vector<Value>>> {
                      if (value.kind() != GANTRY_ARRAY) return std::optional<std::vector<Value>>();
                      GANTRY_TRY(const auto parts, host.items(value.object()));
                      std::vector<Value> items;
                      items.reserve(parts.size());
                      for (const gantry_value& part : parts) items.push_back(Value::share(part));
                      return std::optional(std::move(items));
                    });
}

inline Status fill_output(const RunFunction& function, const Host& host, const gantry_env& env,
                          std::uint32_t index, const Value& value, const gantry_tensor& to) {
  const auto title = [&] {
    return concat("output ", quoted((*function.signature.outputs())[index].name), " of ",
                  function.title());
  };
  const gantry_tensor* const from = value.tensor();
  if (from == nullptr) {
    return invalid(title(), " is ", kind_text(value.kind()),
                   ", and a tensor is to be filled with it")
        .with_reason("ARGUMENT_KIND");
  }
  if (!same_dtype(to.dtype, from->dtype) || !std::ranges::equal(shape_of(to), shape_of(*from))) {
    return wrong_type(concat("the tensor for ", title()), to.dtype, shape_of(to), from->dtype,
                      tensor_text(*from));
  }
  Status copied = host.tensor_copy(*from, to, &env);
  if (!copied.ok()) return std::move(copied).failure().at("while filling the tensor for ", title());
  return {};
}

}  // namespace detail

// Passes the result of a function as the outputs of a run. A tensor that the function has left on
// another device than the stated one is copied.
//
// env      [in]   of the run: copies are in its stream
// run      [in,out] unchanged after a failure, but for the content of tensors to fill
// returns  MALFORMED  the function has another number of outputs than its signature
//          INVALID    a tensor to fill has another type than the output (ARGUMENT_DTYPE,
//                     ARGUMENT_SHAPE), or the output is no tensor (ARGUMENT_KIND)
//          EXHAUSTED  too many items
inline Status pass_result(const RunFunction& function, const Host& host, const gantry_env& env,
                          Value result, ExecutorRun& run) {
  GANTRY_TRY(std::vector<Value> items, detail::flat_result(host, std::move(result)));
  const auto& stated = function.signature.outputs();
  if (stated && items.size() != stated->size()) {
    return malformed(no_offset, function.title(), " has ", items.size(),
                     " outputs, its signature has ", stated->size());
  }
  for (std::uint32_t i = 0; i < function.placed.outputs.size(); ++i) {
    const gantry_tensor* const to = run.has_outputs() ? run.target(i) : nullptr;
    const gantry_tensor* const from = items[i].tensor();
    const gantry_device_id device = function.placed.outputs[i].device;
    if (to != nullptr) {
      GANTRY_CHECK(detail::fill_output(function, host, env, i, items[i], *to));
    } else if (from != nullptr && !same_device(from->device, device)) {
      GANTRY_TRY(items[i], host.tensor_copied(*from, device, &env));
    }
  }
  if (!run.has_outputs()) {
    // An array of the function's own may have further references, which those of its items do not show.
    GANTRY_TRY(Value array, host.array(items));
    run.set_result(std::move(array));
    return {};
  }
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (run.target(i) == nullptr) run.set_output(i, std::move(items[i]));
  }
  return {};
}

}  // namespace gantry
