// SPDX-License-Identifier: Apache-2.0
#include "module_arguments.hpp"

#include "core/formats/late_bound_file.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace gantry::relay {

Result<std::uint32_t> function_of(const Program& program, const Call& call, std::size_t argument) {
  GANTRY_TRY(const std::string_view name, call.text(argument));
  if (const auto function = program.find(name)) return *function;
  return not_found(
             "function ", quoted(name), " not found; functions: ",
             join(
                 program.functions, ", ",
                 [](const FunctionCode& each) { return quoted(each.name); }, max_listed_names))
      .with_reason("FUNCTION");
}

Result<Value> arity_of(const Program& program, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint32_t function, function_of(program, call, 0));
  const std::size_t arity = program.functions[function].params.size();
  return Value::adopt(int_value(static_cast<std::int64_t>(arity)));
}

Result<Value> param_name_of(const Host& host, const Program& program, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::uint32_t function, function_of(program, call, 0));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  const auto& params = program.functions[function].params;
  if (index < 0 || static_cast<std::uint64_t>(index) >= params.size())
    return call.refuse("index is ", index, ", parameter count is ", params.size());
  return host.text(params[static_cast<std::size_t>(index)]);
}

Result<Value> load_constants(Loaded& code, const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view path, call.text(0));
  GANTRY_TRY(const LateBoundFile file, read_late_bound_file(path));
  std::vector<Loaded::Named> tensors;
  for (const auto& [name, array] : file.arrays) {
    const gantry_tensor from =
        compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
    GANTRY_TRY(Value copy, host.tensor_copied(from, {cpu_device_type, 0}, call.env));
    tensors.emplace_back(name, std::move(copy));
  }
  GANTRY_CHECK(code.bind(std::move(tensors)));
  return Value();
}

}  // namespace gantry::relay
