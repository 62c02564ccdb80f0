// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/golden_call.hpp"

#include "core/engine/tensor/object.hpp"
#include "tools/conformance/plugin_call.hpp"
#include "tools/gantry/common/element_value.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <cmath>

namespace gantry::kit {
namespace {

using Kind = GoldenValue::Kind;

// Copies bytes between the host and the device.
Status copy_bytes(const Device& device, gantry_location from, gantry_location to,
                  std::uint64_t size) {
  gantry_copy what{};
  what.struct_size = sizeof what;
  what.flags = GANTRY_COPY_BLOCKING;
  what.from = from;
  what.to = to;
  what.size = size;
  StatusBuffer status;
  const PluginCall record("copy");
  const gantry_code code = status.call([&](gantry_status* failure) {
    return device.table->copy(device.self, 0, &what, nullptr, failure);
  });
  if (code != GANTRY_OK) return status.error(code, "copy");
  return {};
}
gantry_location host_location(const void* data) { return {const_cast<void*>(data), 0, {kCpu, 0}}; }

bool differs(const std::uint8_t* found, const std::uint8_t* wanted, gantry_dtype dtype,
             double tolerance) {
  const auto read = cli::element_reader(dtype);
  if (!read) return std::memcmp(found, wanted, element_bytes(dtype)) != 0;
  const long double a = (*read)(found), b = (*read)(wanted);
  if (static_cast<TypeCode>(dtype.code) != TypeCode::float_) return a != b;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  return std::fabs(a - b) > tolerance * (1 + std::fabs(b));
}

// wanted   [in]   the elements of `like`
Status compare_elements(std::span<const std::uint8_t> found, std::span<const std::uint8_t> wanted,
                        const GoldenTensor& like, double tolerance) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : like.shape) count *= static_cast<std::uint64_t>(extent);
  std::vector<std::uint8_t> room_of_a, room_of_b;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint8_t* const a = cli::element_at(found, like.dtype, i, room_of_a);
    const std::uint8_t* const b = cli::element_at(wanted, like.dtype, i, room_of_b);
    if (!differs(a, b, like.dtype, tolerance)) continue;
    return bug("element ", i, " is ", cli::element_text(a, like.dtype), ", expected ",
               cli::element_text(b, like.dtype));
  }
  return {};
}

Status compare_tensor(const Device& device, const gantry_tensor& found, const GoldenTensor& wanted,
                      double tolerance) {
  const std::span<const std::int64_t> shape(found.shape, static_cast<std::size_t>(found.ndim));
  if (!same_dtype(found.dtype, wanted.dtype) ||
      !std::equal(shape.begin(), shape.end(), wanted.shape.begin(), wanted.shape.end())) {
    return bug("the result is ", type_text(found.dtype, shape), ", expected ",
               type_text(wanted.dtype, wanted.shape));
  }
  std::vector<std::uint8_t> bytes(wanted.bytes.size());
  GANTRY_CHECK(copy_bytes(device, {found.data, found.byte_offset, found.device},
                          host_location(bytes.data()), bytes.size()));
  return compare_elements(bytes, wanted.bytes, wanted, tolerance);
}

}  // namespace

Status compare_result(const Device& device, const gantry_value& found, const GoldenValue& wanted,
                      double tolerance) {
  switch (wanted.kind) {
    case Kind::none:
      if (found.kind != GANTRY_NONE)
        return bug("the result is of kind ", found.kind, ", expected none");
      return {};
    case Kind::integer:
    case Kind::boolean: {
      const auto number = value_int(found);
      if (!number) return bug("the result is of kind ", found.kind, ", expected an integer");
      if (*number != wanted.integer)
        return bug("the result is ", *number, ", expected ", wanted.integer);
      return {};
    }
    case Kind::number:
      if (found.kind != GANTRY_FLOAT)
        return bug("the result is of kind ", found.kind, ", expected a float");
      if (std::fabs(found.f - wanted.number) > tolerance * (1 + std::fabs(wanted.number)))
        return bug("the result is ", std::to_string(found.f), ", expected ",
                   std::to_string(wanted.number));
      return {};
    case Kind::text: {
      const auto text = value_text(found);
      if (!text) return bug("the result is of kind ", found.kind, ", expected a text");
      if (*text != wanted.text)
        return bug("the result is ", quoted(*text), ", expected ", quoted(wanted.text));
      return {};
    }
    case Kind::tensor:
    case Kind::buffer: {
      const gantry_tensor* const tensor = gantry_value_tensor(&found);
      if (tensor == nullptr)
        return bug("the result is of kind ", found.kind, ", expected a tensor");
      return compare_tensor(device, *tensor, wanted.tensor, tolerance);
    }
  }
  return {};
}

Result<std::unique_ptr<CallArguments>> CallArguments::make(const Device& device,
                                                           const GoldenCall& call, Room room) {
  std::unique_ptr<CallArguments> made(new CallArguments(device, call));
  for (const GoldenValue& wanted : call.arguments) {
    gantry_value value{};
    void*& data = made->data_.emplace_back(nullptr);
    std::uint64_t& data_bytes = made->data_bytes_.emplace_back(0);
    auto& tensor = made->tensors.emplace_back();
    made->shapes_.push_back(wanted.tensor.shape);
    if (wanted.kind == Kind::integer) value = int_value(wanted.integer);
    if (wanted.kind == Kind::boolean) value = bool_value(wanted.integer != 0);
    if (wanted.kind == Kind::number) value = float_value(wanted.number);
    if (wanted.kind == Kind::text) {
      value.kind = GANTRY_CSTRING;
      value.cstring = wanted.text.c_str();
    }
    if (wanted.kind == Kind::tensor || wanted.kind == Kind::buffer) {
      gantry_alloc what{};
      what.struct_size = sizeof what;
      // Also for cases that shift the tensor.
      what.size = wanted.tensor.bytes.size() + 64;
      what.alignment = 128;
      what.dtype = wanted.tensor.dtype;
      if (room == Room::exact && device.type == kCpu) {
        data = made->guarded_
                   .emplace_back(std::make_unique<GuardedBytes>(wanted.tensor.bytes, 0,
                                                                GuardedBytes::Access::writable))
                   ->data();
      } else {
        GANTRY_TRY(data, device_alloc(device, 0, what));
        data_bytes = what.size;
      }
      const gantry_device_id id{device.type, 0};
      GANTRY_CHECK(copy_bytes(device, host_location(wanted.tensor.bytes.data()), {data, 0, id},
                              wanted.tensor.bytes.size()));
      tensor = std::make_unique<gantry_tensor>();
      tensor->data = data;
      tensor->device = id;
      tensor->dtype = wanted.tensor.dtype;
      tensor->ndim = static_cast<std::int32_t>(wanted.tensor.shape.size());
    }
    if (wanted.kind == Kind::tensor) value = tensor_ref_value(tensor.get());
    if (wanted.kind == Kind::buffer) {
      value.kind = GANTRY_POINTER;
      value.p = data;
    }
    made->values.push_back(value);
  }
  for (std::size_t i = 0; i < made->tensors.size(); ++i) {
    if (made->tensors[i]) made->tensors[i]->shape = made->shapes_[i].data();
  }
  return made;
}

CallArguments::~CallArguments() {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    // Not guarded memory.
    if (data_bytes_[i] != 0) device_free(device_, 0, data_[i], data_bytes_[i]);
  }
}

Status CallArguments::check_after(double tolerance) const {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const GoldenTensor& wanted = call_.arguments[i].tensor;
    if (!wanted.after) continue;
    std::vector<std::uint8_t> found(wanted.after->size());
    const std::uint64_t offset = tensors[i] ? tensors[i]->byte_offset : 0;
    GANTRY_CHECK(copy_bytes(device_, {data_[i], offset, {device_.type, 0}},
                            host_location(found.data()), found.size()));
    const Status compared = compare_elements(found, *wanted.after, wanted, tolerance);
    if (!compared.ok()) return bug("argument ", i, ": ", compared.error().message);
  }
  return {};
}

CallOutcome call_function(const Device& device, const gantry_function& function,
                          const std::vector<gantry_value>& values, const CallContext& context) {
  const gantry_env env{{device.type, 0}, context.stream, context.task, context.streams};
  CallOutcome outcome;
  gantry_value result{};
  StatusBuffer status;
  const std::string name =
      context.name.empty() ? "a function" : concat("function ", quoted(context.name));
  const PluginCall record(name);
  outcome.code = status.call([&](gantry_status* failure) {
    return function.table->call(function.self, &env, values.empty() ? nullptr : values.data(),
                                static_cast<std::int32_t>(values.size()), &result, failure);
  });
  if (outcome.code != GANTRY_OK) outcome.error = status.error(outcome.code, "the call");
  outcome.result = Value::adopt(result);
  const PluginCall waits("synchronize");
  const gantry_code done = status.call([&](gantry_status* failure) {
    return device.table->synchronize(device.self, 0, context.stream, failure);
  });
  if (outcome.code == GANTRY_OK && done != GANTRY_OK) {
    outcome.code = done;
    outcome.error = status.error(done, "synchronize");
  }
  return outcome;
}

namespace {

// A result is owned by the caller, in one form.
Status check_form(const gantry_value& result) {
  if (!is_owned_kind(result.kind))
    return bug("the result has kind ", result.kind, ", which is an argument's: results are owned");
  if (!gantry_value_is_canonical(&result))
    return bug("the result of kind ", result.kind,
               " is not canonical: bytes that the kind does not use must be 0");
  return {};
}

}  // namespace

Status check_function(const Device& device, const gantry_function& function, const Payload& payload,
                      const GoldenCall& call, const CallContext& context) {
  CallContext named = context;
  named.name = call.function;
  const auto check = [&]() -> Status {
    GANTRY_TRY(const auto arguments, CallArguments::make(device, call));
    const CallOutcome outcome = call_function(device, function, arguments->values, named);
    if (outcome.code != GANTRY_OK) return outcome.error;
    GANTRY_CHECK(check_form(outcome.result.get()));
    if (call.result) {
      GANTRY_CHECK(compare_result(device, outcome.result.get(), *call.result, payload.tolerance));
    }
    return arguments->check_after(payload.tolerance);
  };
  Status done = check();
  if (!done.ok()) return std::move(done).error().at("in function ", quoted(call.function));
  return {};
}

Status check_calls(const Stage& stage, const Device& device, const LoadedModule& module,
                   const Payload& payload, const CallContext& context) {
  for (const GoldenCall& call : payload.calls) {
    GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
    GANTRY_CHECK(check_function(device, function.pair, payload, call, context));
  }
  return {};
}

Status check_golden(const Stage& stage, const Device& device, const Payload& payload) {
  const PinnedBytes given = pinned(payload.bytes);
  const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
  if (module.ok() && check_calls(stage, device, *module, payload).ok()) return {};
  return not_run("the golden calls fail, see case 51");
}

PinnedBytes pinned(std::span<const std::uint8_t> bytes, std::size_t before_the_end,
                   GuardedBytes::Access access) {
  auto guarded = std::make_shared<GuardedBytes>(bytes, before_the_end, access);
  ObjectPtr pin = new_pin(guarded).value();
  return {std::move(guarded), std::move(pin)};
}

Status for_each_payload(Subject& subject,
                        const std::function<Status(Stage& stage, const Payload& payload)>& check,
                        const Observation& observed) {
  GANTRY_TRY(const std::vector<Payload>* const payloads, subject.needed_payloads());
  GANTRY_TRY(const auto stage, Stage::open(subject, observed));
  // A payload to which the case does not apply does not hide the others.
  Status last;
  bool any = false;
  for (const Payload& payload : *payloads) {
    Status done = check(*stage, payload);
    if (done.ok()) {
      any = true;
      continue;
    }
    Error error = std::move(done).error();
    if (error.reason != skip_reason) return std::move(error.at("of ", payload.name));
    last = std::move(error);
  }
  return any ? Status() : last;
}

}  // namespace gantry::kit
