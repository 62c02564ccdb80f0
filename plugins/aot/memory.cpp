// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <utility>

namespace gantry::aot {
namespace {

constexpr gantry_device_id cpu{cpu_device_type, 0};

}  // namespace

Status Memory::create(const Payload& payload, bool with_parameters, const gantry_env* env) {
  const std::size_t pools = metadata_.workspaces.empty() ? 0 : 1 + metadata_.workspaces.size();
  const std::size_t count = metadata_.inputs.size() + metadata_.outputs.size() + pools;
  slots_.reserve(count);
  cells_.reserve(count);
  arguments_.reserve(count);
  pool_bytes_.reserve(pools);
  for (const AotTensor& input : metadata_.inputs)
    GANTRY_CHECK(add("input", input.name, input.dtype, input.shape));
  for (const AotTensor& output : metadata_.outputs)
    GANTRY_CHECK(add("output", output.name, output.dtype, output.shape));
  if (pools != 0) GANTRY_CHECK(add_pools(env));
  if (!with_parameters) return {};
  for (const Parameter& parameter : payload.parameters) {
    const auto input = std::ranges::find(metadata_.inputs, parameter.name, &AotTensor::name);
    if (input == metadata_.inputs.end()) continue;
    const auto index = static_cast<std::size_t>(input - metadata_.inputs.begin());
    Status set = set_parameter(index, parameter, payload, env);
    if (!set.ok())
      return std::move(set).error().at("while setting parameter ", quoted(parameter.name));
  }
  return {};
}

Status Memory::add(std::string_view what, std::string_view name, gantry_dtype dtype,
                   std::span<const std::int64_t> shape) {
  // The sizes of all tensors are checked when the metadata are read.
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape, dtype));
  GANTRY_TRY(const Value memory, allocate(what, name, bytes));
  const std::size_t argument = cells_.size();
  cells_.push_back(compact_tensor(dtype, shape, cpu));
  slots_.emplace_back();
  arguments_.push_back(tensor_ref_value(&cells_.back()));
  return use(argument, *memory.tensor(), memory.object(), false);
}

// The pool of constants is an argument even if it is empty.
Status Memory::add_pools(const gantry_env* env) {
  const auto add_pool = [&](std::string_view what, std::string_view name, std::uint64_t bytes) {
    pool_bytes_.push_back(static_cast<std::int64_t>(bytes));
    return add(what, name, dtypes::uint8, {&pool_bytes_.back(), 1});
  };
  GANTRY_CHECK(add_pool("pool of constants", metadata_.module_name, metadata_.constant_bytes));
  GANTRY_CHECK(copy_constants(cells_.back(), env));
  for (const AotTensor& workspace : metadata_.workspaces)
    GANTRY_CHECK(add_pool("workspace", workspace.name, workspace.bytes));
  return {};
}

Status Memory::copy_constants(gantry_tensor& pool, const gantry_env* env) {
  for (const AotConstant& constant : metadata_.constants) {
    const auto bytes = static_cast<std::int64_t>(constant.array.data.size());
    if (bytes == 0) continue;
    const gantry_tensor from =
        compact_tensor(dtypes::uint8, {&bytes, 1}, cpu, constant.array.data.data());
    gantry_tensor to = from;
    to.data = static_cast<std::uint8_t*>(pool.data) + constant.offset;
    Status copied = host_.tensor_copy(from, to, env);
    if (!copied.ok())
      return std::move(copied).error().at("while copying constant ", quoted(constant.name));
  }
  return {};
}

Status Memory::set_parameter(std::size_t input, const Parameter& parameter, const Payload& payload,
                             const gantry_env* env) {
  const AotTensor& expected = metadata_.inputs[input];
  const ArrayRecord& array = parameter.array;
  if (array.data.size() != expected.bytes || !same_dtype(array.dtype, expected.dtype) ||
      !std::ranges::equal(array.shape, expected.shape)) {
    return malformed(array.data_at, "parameter is ", type_text(array.dtype, array.shape), " in ",
                     array.data.size(), " bytes, its input is ",
                     type_text(expected.dtype, expected.shape), " in ", expected.bytes)
        .with_reason("BLOB_FORMAT");
  }
  slots_[input].is_parameter = true;
  gantry_tensor from = cells_[input];
  from.data = const_cast<std::uint8_t*>(array.data.data());
  if (payload.kept.pin && is_aligned_in_place(from.data))
    return use(input, from, payload.kept.pin.get(), true);
  return host_.tensor_copy(from, cells_[input], env);
}

Status Memory::copy_in(std::size_t input, const gantry_tensor& from, const gantry_env* env) {
  if (!slots_[input].is_borrowed) return host_.tensor_copy(from, cells_[input], env);
  const AotTensor& expected = metadata_.inputs[input];
  GANTRY_TRY(const Value own, allocate("input", expected.name, expected.bytes));
  gantry_tensor target = cells_[input];
  target.data = own.tensor()->data;
  GANTRY_CHECK(host_.tensor_copy(from, target, env));
  return use(input, target, own.object(), false);
}

Status Memory::bind(std::size_t argument, const gantry_tensor& what, gantry_object* keeper) {
  GANTRY_CHECK(check_zero_copy(host_, what, cells_[argument]));
  return use(argument, what, keeper, true);
}

Status Memory::use(std::size_t argument, const gantry_tensor& what, gantry_object* keeper,
                   bool is_borrowed) {
  gantry_tensor& cell = cells_[argument];
  gantry_tensor view = cell;
  view.data = element_address(what);
  GANTRY_TRY(Value tensor, host_.tensor_view(view, keeper));
  // Nothing fails from here on.
  slots_[argument].tensor = std::move(tensor);
  slots_[argument].is_borrowed = is_borrowed;
  cell.data = view.data;
  return {};
}

Result<Value> Memory::allocate(std::string_view what, std::string_view name,
                               std::uint64_t bytes) const {
  const auto extent = static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 1));
  Result<Value> memory = host_.tensor_new(compact_tensor(dtypes::uint8, {&extent, 1}, cpu));
  if (!memory.ok()) {
    return std::move(memory).error().at("while allocating ", what, " ", quoted(name), ", ",
                                        ByteCount(bytes));
  }
  return memory;
}

}  // namespace gantry::aot
