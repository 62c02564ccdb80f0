// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <array>

namespace gantry::aot {
namespace {

gantry_code run(Executor& executor, const Call& call, gantry_status* status) {
  return executor.run(call.env, status);
}

constexpr std::array all_functions{
    method<&run, "run()">,
    method<&set_input, "set_input(name or index, tensor)">,
    method<&set_input_zero_copy, "set_input_zero_copy(name or index, tensor)">,
    method<&get_input, "get_input(name or index)">,
    method<&get_input_index, "get_input_index(name)">,
    method<&get_input_name, "get_input_name(index)">,
    method<&get_num_inputs, "get_num_inputs()">,
    method<&set_output_zero_copy, "set_output_zero_copy(name or index, tensor)">,
    method<&get_output, "get_output(name or index[, tensor])">,
    method<&get_num_outputs, "get_num_outputs()">,
    method<&get_input_info, "get_input_info()">,
    method<&get_output_info, "get_output_info()">,
};

// True for the name that compilers give to a tensor.
//
// source   apache/tvm include/tvm/runtime/name_transforms.h
bool is_identifier_of(std::string_view identifier, std::string_view name) {
  const auto replaced = [](char c) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_kept ? c : '_';
  };
  return std::ranges::equal(identifier, name, {}, {}, replaced);
}

}  // namespace

std::span<const Method<Executor>> Executor::functions() const { return all_functions; }

std::size_t index_of(std::string_view name, const std::vector<AotTensor>& tensors) {
  auto found = std::ranges::find(tensors, name, &AotTensor::name);
  if (found == tensors.end()) {
    found = std::ranges::find_if(
        tensors, [&](std::string_view identifier) { return is_identifier_of(identifier, name); },
        &AotTensor::name);
  }
  return static_cast<std::size_t>(found - tensors.begin());
}

Result<std::size_t> index_of(const Call& call, const gantry_value& key, std::string_view what,
                             const std::vector<AotTensor>& tensors) {
  if (const auto name = value_text(key)) {
    const std::size_t index = index_of(*name, tensors);
    if (index != tensors.size()) return index;
    constexpr std::size_t max_listed = 16;
    const std::string names = join(
        tensors, ", ", [](const AotTensor& tensor) { return quoted(tensor.name); }, max_listed);
    return not_found(what, " ", quoted(*name), " not found; ", what,
                     "s: ", names.empty() ? "none" : names)
        .with_reason(what == "input" ? "INPUT" : "OUTPUT");
  }
  const auto index = value_int(key);
  if (!index) return call.refuse("key is ", kind_text(key.kind), ", expected a name or an index");
  if (*index >= 0 && static_cast<std::uint64_t>(*index) < tensors.size())
    return static_cast<std::size_t>(*index);
  return call.refuse(what, " index is ", *index, ", ", what, " count is ", tensors.size());
}

std::string title(std::string_view what, const AotTensor& tensor) {
  return concat(what, " ", quoted(tensor.name), " ", type_text(tensor.dtype, tensor.shape));
}

Status bind_argument(Executor& executor, const Call& call, std::size_t argument,
                     std::string_view what, const AotTensor& tensor) {
  GANTRY_TRY(const gantry_tensor* const memory, call.tensor(1));
  gantry_object* const keeper = call.args[1].kind == GANTRY_TENSOR ? call.args[1].object : nullptr;
  Status bound = executor.memory().bind(argument, *memory, keeper);
  if (!bound.ok()) return std::move(bound).error().at("while binding ", title(what, tensor));
  return {};
}

namespace {

Result<std::size_t> input_of(const Executor& executor, const Call& call, const gantry_value& key) {
  return index_of(call, key, "input", executor.metadata().inputs);
}

std::string input_title(const Executor& executor, std::size_t input) {
  return title("input", executor.metadata().inputs[input]);
}

}  // namespace

Result<Value> set_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* const from, call.tensor(1));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  Status copied = executor.memory().copy_in(input, *from, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while setting ", input_title(executor, input));
  return Value();
}

Result<Value> set_input_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  GANTRY_CHECK(bind_argument(executor, call, input, "input", executor.metadata().inputs[input]));
  return Value();
}

Result<Value> get_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  return executor.memory().tensor(input);
}

Result<Value> get_input_index(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  const std::vector<AotTensor>& inputs = executor.metadata().inputs;
  const std::size_t index = index_of(name, inputs);
  return Value::adopt(int_value(index == inputs.size() ? -1 : static_cast<std::int64_t>(index)));
}

Result<Value> get_input_name(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_CHECK(call.integer(0));
  GANTRY_TRY(const std::size_t input, input_of(executor, call, call.args[0]));
  return executor.host().text(executor.metadata().inputs[input].name);
}

Result<Value> get_num_inputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.metadata().inputs.size())));
}

namespace {

Result<std::size_t> output_of(const Executor& executor, const Call& call) {
  return index_of(call, call.args[0], "output", executor.metadata().outputs);
}

std::string output_title(const Executor& executor, std::size_t output) {
  return title("output", executor.metadata().outputs[output]);
}

}  // namespace

Result<Value> set_output_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::size_t output, output_of(executor, call));
  GANTRY_CHECK(bind_argument(executor, call, executor.memory().output(output), "output",
                             executor.metadata().outputs[output]));
  return Value();
}

Result<Value> get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::size_t output, output_of(executor, call));
  Memory& memory = executor.memory();
  const std::size_t argument = memory.output(output);
  if (call.args.size() == 1) return memory.tensor(argument);

  GANTRY_TRY(const gantry_tensor* const to, call.tensor(1));
  if (!std::ranges::equal(shape_of(*to), executor.metadata().outputs[output].shape))
    return call.refuse("tensor has another shape than ", output_title(executor, output));
  Status copied = executor.host().tensor_copy(memory.cell(argument), *to, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while copying ", output_title(executor, output));
  return Value();
}

Result<Value> get_num_outputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.metadata().outputs.size())));
}

Result<Value> info_of(const Host& host, const std::vector<AotTensor>& tensors,
                      const std::function<bool(std::size_t)>& is_listed) {
  std::vector<Host::Entry> shapes, dtypes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_listed && !is_listed(i)) continue;
    GANTRY_TRY(const Value name, host.text(tensors[i].name));
    GANTRY_TRY(const Value shape, host.shape(tensors[i].shape));
    GANTRY_TRY(const Value dtype, host.text(dtype_text(tensors[i].dtype)));
    shapes.emplace_back(name, shape);
    dtypes.emplace_back(name, dtype);
  }
  GANTRY_TRY(const Value shape, host.text("shape"));
  GANTRY_TRY(const Value all_shapes, host.map(shapes));
  GANTRY_TRY(const Value dtype, host.text("dtype"));
  GANTRY_TRY(const Value all_dtypes, host.map(dtypes));
  return host.map({{shape, all_shapes}, {dtype, all_dtypes}});
}

Result<Value> get_input_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return info_of(executor.host(), executor.metadata().inputs,
                 [&](std::size_t i) { return !executor.memory().is_parameter(i); });
}

Result<Value> get_output_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return info_of(executor.host(), executor.metadata().outputs);
}

}  // namespace gantry::aot
