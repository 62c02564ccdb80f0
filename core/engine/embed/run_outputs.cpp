// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run_outputs.hpp"

#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/run_inputs.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/tensor_type.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace gantry {
namespace {

bool has_one_reference(const gantry_object& object) {
  return (std::atomic_ref(const_cast<gantry_object&>(object).counts).load() & UINT32_MAX) == 1;
}

// True if the memory of two tensors may overlap.
bool share_memory(const gantry_tensor& a, const gantry_tensor& b) {
  if (!same_device(a.device, b.device)) return false;
  if (a.device.type != kCpu) return a.data == b.data;
  const auto extent = [](const gantry_tensor& tensor) {
    const auto size = data_bytes(tensor);
    return size.ok() ? *size : UINT64_MAX;
  };
  const auto begin = [](const gantry_tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  };
  return begin(a) <= begin(b) ? begin(b) - begin(a) < extent(a) : begin(a) - begin(b) < extent(b);
}

class OutputPasser {
 public:
  OutputPasser(RuntimeState& runtime, FunctionState& function, std::span<const gantry_value> inputs,
               const gantry_env* env)
      : runtime_(runtime), function_(function), inputs_(inputs), env_(env) {}

  // Returns an output as an object of the caller.
  Result<Value> as_object(const Value& output) const {
    const gantry_value& value = output.get();
    if (!must_copy(value)) return output;
    const gantry_tensor& from = *gantry_value_tensor(&value);
    GANTRY_TRY(
        Ref<TensorObject> made,
        tensor_new(runtime_.devices, compact_tensor(from.dtype, shape_of(from), from.device)));
    GANTRY_CHECK(tensor_copy(runtime_.devices, from, made->tensor, env_));
    return owned_value(std::move(made));
  }

  // Copies an output to a tensor of the caller.
  Status fill(const gantry_tensor& to, const NamedOutput& output) const {
    const gantry_value& value = output.value.get();
    const auto title = [&] {
      return concat("output ", quoted(output.name), " of ", function_.subject());
    };
    const gantry_tensor* const from = gantry_value_tensor(&value);
    if (from == nullptr) {
      return invalid(title(), " is ", kind_text(value.kind),
                     ", and a tensor is to be filled with it")
          .with_reason("ARGUMENT_KIND");
    }
    if (!same_dtype(to.dtype, from->dtype) || !std::ranges::equal(shape_of(to), shape_of(*from))) {
      return wrong_type(concat("the tensor for ", title()), to.dtype, shape_of(to), from->dtype,
                        tensor_text(*from));
    }
    Status copied = tensor_copy(runtime_.devices, *from, to, env_);
    if (!copied.ok()) return std::move(copied).error().at("while filling the tensor for ", title());
    return {};
  }

 private:
  // True for a tensor whose memory is or may become that of others: of the function, of an input, or
  // of a constant.
  bool must_copy(const gantry_value& value) const {
    const gantry_tensor* const tensor = gantry_value_tensor(&value);
    if (tensor == nullptr) return false;
    if (function_.reuses_outputs() || !has_one_reference(*value.object)) return true;
    return std::ranges::any_of(inputs_, [&](const gantry_value& input) {
      const gantry_tensor* const passed = gantry_value_tensor(&input);
      return passed != nullptr && share_memory(*tensor, *passed);
    });
  }

  RuntimeState& runtime_;
  FunctionState& function_;
  std::span<const gantry_value> inputs_;
  const gantry_env* env_;
};

Status check_target(const gantry_value& given, std::uint32_t index) {
  if (given.kind == GANTRY_NONE) return {};
  const bool is_tensor = given.kind == GANTRY_TENSOR || given.kind == GANTRY_TENSOR_REF;
  if (is_tensor && given.p != nullptr) {
    if (given.kind == GANTRY_TENSOR_REF ||
        !dlpack::is_read_only(*reinterpret_cast<const TensorObject*>(given.object)))
      return {};
    return invalid("element ", index, " of outputs is read-only").with_reason("READ_ONLY");
  }
  return invalid("element ", index, " of outputs is ",
                 is_tensor ? std::string("NULL") : kind_text(given.kind),
                 ", expected none or a tensor")
      .with_reason("ARGUMENT_KIND");
}

}  // namespace

Status pass_outputs(RuntimeState& runtime, FunctionState& function,
                    std::span<const gantry_value> inputs, const gantry_env* env, gantry_run& run) {
  GANTRY_TRY(const std::vector<NamedOutput> outputs, function.outputs());
  // Results that only the function kept have one reference from here on.
  if (!function.reuses_outputs()) function.forget();
  const OutputPasser passer(runtime, function, inputs, env);
  const auto count = static_cast<std::uint32_t>(outputs.size());
  if (run.outputs != nullptr && count > run.output_count) {
    return invalid(function.subject(), " has ", count, " outputs, `outputs` has ", run.output_count,
                   " elements")
        .with_reason("OUTPUT_COUNT");
  }
  std::vector<Value> made(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const gantry_value given = run.outputs != nullptr ? run.outputs[i] : gantry_value{};
    GANTRY_CHECK(check_target(given, i));
    if (const gantry_tensor* const target = gantry_value_tensor(&given)) {
      GANTRY_CHECK(passer.fill(*target, outputs[i]));
    } else {
      GANTRY_TRY(made[i], passer.as_object(outputs[i].value));
    }
  }
  if (run.outputs == nullptr) {
    std::vector<gantry_value> items;
    for (const Value& value : made) items.push_back(value.get());
    GANTRY_TRY(Ref<ItemsObject> array, new_items(GANTRY_ARRAY, items));
    run.result = owned_value(std::move(array)).take();
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (run.outputs[i].kind == GANTRY_NONE) run.outputs[i] = made[i].take();
    }
  }
  run.output_count = count;
  return {};
}

}  // namespace gantry
