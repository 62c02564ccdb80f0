// SPDX-License-Identifier: Apache-2.0
//
// Implements the handles of runtime.hpp with the objects of core/engine/tensor and core/engine/module.
#include <gantry/runtime.hpp>
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace gantry {
namespace {

TensorObject* tensor_of(gantry_object* object) { return reinterpret_cast<TensorObject*>(object); }
ModuleNode* node_of(gantry_object* object) { return reinterpret_cast<ModuleNode*>(object); }
FunctionObject& function_of(gantry_object* object) {
  return *reinterpret_cast<FunctionObject*>(object);
}

Failure wrong_kind(const gantry_value& value, std::string_view expected) {
  return invalid("value is ", kind_text(value.kind), ", expected ", expected)
      .with_reason("VALUE_KIND");
}

// The beginning of FunctionObject, as programs know it.
static_assert(offsetof(FunctionObject, target) == offsetof(detail::FunctionLayout, target));
static_assert(offsetof(FunctionObject, packed) == offsetof(detail::FunctionLayout, packed));
static_assert(std::is_same_v<PackedEntry, detail::PackedEntry>);
static_assert(offsetof(FunctionObject, env) == offsetof(detail::FunctionLayout, env));
static_assert(offsetof(FunctionObject, process_phase) ==
              offsetof(detail::FunctionLayout, process_phase));

}  // namespace

Object::Object(const Object& other) : object_(other.object_) {
  if (object_ != nullptr) gantry_retain(object_);
}

void Object::drop(gantry_object* object) { gantry_release(object); }

Object Object::adopt(gantry_object* object) {
  Object handle;
  handle.object_ = object;
  return handle;
}

gantry_tensor* Tensor::dlpack() const { return &tensor_of(object_)->tensor; }
std::uint64_t Tensor::byte_size() const { return tensor_of(object_)->bytes; }
std::string Tensor::describe() const { return gantry::describe(*dlpack(), DeviceSet()); }

void* Tensor::data() const {
  const gantry_tensor& tensor = *dlpack();
  if (tensor.device.type != kCpu || tensor.data == nullptr) return nullptr;
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

Result<Tensor> Tensor::row(std::int64_t index) const {
  return guard([&]() -> Result<Tensor> {
    const gantry_tensor& whole = *dlpack();
    if (whole.ndim < 1)
      return invalid("tensor ", describe(), " has no first axis and therefore no rows");
    if (index < 0 || index >= whole.shape[0]) {
      return invalid("row ", index, " of tensor ", describe(), " does not exist, the last is ",
                     whole.shape[0] - 1);
    }
    if (!is_compact(whole))
      return invalid("tensor ", describe(), " is not dense, expected a dense tensor");
    gantry_tensor part = whole;
    part.ndim = whole.ndim - 1;
    part.shape = whole.shape + 1;
    part.strides = nullptr;
    part.byte_offset += static_cast<std::uint64_t>(index) *
                        (byte_size() / static_cast<std::uint64_t>(whole.shape[0]));
    GANTRY_TRY(Ref<TensorObject> view, tensor_view(part, object_));
    return Tensor(Object::adopt(reinterpret_cast<gantry_object*>(view.take())));
  });
}

Any::Any(const Any& other) : value_(other.value_) {
  if (holds_object(value_)) gantry_retain(value_.object);
}

Any Any::share(const gantry_value& value) {
  if (holds_object(value)) gantry_retain(value.object);
  return adopt(value);
}

Any Any::share(const Object& object) {
  if (!object) return {};
  return share(gantry_value{object.get()->kind, 0, {.object = object.get()}});
}

Result<std::int64_t> Any::integer() const {
  if (value_.kind != GANTRY_INT && value_.kind != GANTRY_BOOL)
    return wrong_kind(value_, "an integer");
  return value_.i;
}

Result<double> Any::number() const {
  if (value_.kind == GANTRY_FLOAT) return value_.f;
  if (value_.kind != GANTRY_INT && value_.kind != GANTRY_BOOL)
    return wrong_kind(value_, "a number");
  return static_cast<double>(value_.i);
}

Result<std::string> Any::text() const {
  return guard([&]() -> Result<std::string> {
    gantry_bytes text{};
    if (!gantry_value_bytes(&value_, &text)) return wrong_kind(value_, "a string");
    return std::string(text.data, text.size);
  });
}

Result<Tensor> Any::tensor() const {
  if (value_.kind != GANTRY_TENSOR) return wrong_kind(value_, "a tensor");
  gantry_retain(value_.object);
  return Tensor(Object::adopt(value_.object));
}

Result<Function> Any::function() const {
  if (value_.kind != GANTRY_FUNCTION) return wrong_kind(value_, "a function");
  gantry_retain(value_.object);
  return Function(Object::adopt(value_.object));
}

Result<Module> Any::module() const {
  if (value_.kind != GANTRY_MODULE) return wrong_kind(value_, "a module");
  gantry_retain(value_.object);
  return Module(Object::adopt(value_.object));
}

Result<std::vector<std::int64_t>> Any::shape() const {
  return guard([&]() -> Result<std::vector<std::int64_t>> {
    const auto extents = value_shape(value_);
    if (!extents) return wrong_kind(value_, "a shape");
    return std::vector(extents->begin(), extents->end());
  });
}

Result<std::vector<Any>> Any::items() const {
  return guard([&]() -> Result<std::vector<Any>> {
    if (value_.kind != GANTRY_ARRAY && value_.kind != GANTRY_MAP)
      return wrong_kind(value_, "an array or a map");
    const auto& list = *reinterpret_cast<const ItemsObject*>(value_.object);
    std::vector<Any> all;
    for (std::uint64_t i = 0; i < list.count; ++i) all.push_back(share(list.items[i]));
    return all;
  });
}

Result<Any> Any::of_text(std::string_view text) {
  return guard([&]() -> Result<Any> {
    GANTRY_TRY(OwnedValue made, new_text(GANTRY_STRING, text));
    return adopt(made.take());
  });
}

Result<Any> Any::of_shape(std::span<const std::int64_t> extents) {
  return guard([&]() -> Result<Any> {
    GANTRY_TRY(Ref<ShapeObject> made, new_shape(extents));
    return adopt(OwnedValue(std::move(made)).take());
  });
}

Result<Any> Any::of_items(std::span<const Any> items) {
  return guard([&]() -> Result<Any> {
    std::vector<gantry_value> values;
    for (const Any& item : items) values.push_back(item.value());
    GANTRY_TRY(Ref<ItemsObject> made, new_items(GANTRY_ARRAY, values));
    return adopt(OwnedValue(std::move(made)).take());
  });
}

void detail::refuse_call(const gantry_object* function, std::size_t argument_count,
                         Result<Any>& result) noexcept {
  result = guard([&]() -> Result<Any> {
    if (function == nullptr) return invalid("function handle is empty");
    return invalid("a call has ", argument_count, " arguments, maximum is ", INT32_MAX);
  });
}

bool detail::may_call_at_end(gantry_object* object, Result<Any>& result) noexcept {
  const FunctionObject& function = function_of(object);
  if (gantry::may_call(function)) return true;
  result = guard([&]() -> Result<Any> { return process_end_error(described(function)); });
  return false;
}

gantry_code detail::take_exception(gantry_object* object, gantry_value* result,
                                   gantry_status* status) noexcept {
  return thrown(function_of(object), result, status);
}

void detail::finish_call(gantry_object* object, gantry_code code, CallStatus& said,
                         Result<Any>& result) noexcept {
  FunctionObject& function = function_of(object);
  if (code == GANTRY_OK && is_result(result->value())) return;
  code = ended_badly(function, code, result->slot(), &said.status);
  const std::string_view text(said.text,
                              std::min<std::size_t>(said.status.text_size, sizeof said.text - 1));
  result = guard(
      [&]() -> Result<Any> { return error_of(said.status, text, code, described(function)); });
  if (said.status.error != nullptr) gantry_release(said.status.error);
}

std::string Module::type_key() const { return std::string(node_of(object_)->type_key); }

std::vector<Module> Module::imports() const {
  std::vector<Module> all;
  for (const Ref<ModuleNode>& import : node_of(object_)->imports) {
    all.push_back(
        Module(Object::adopt(reinterpret_cast<gantry_object*>(Ref<ModuleNode>(import).take()))));
  }
  return all;
}

Result<Function> Module::function(std::string_view name) const {
  return guard([&]() -> Result<Function> {
    GANTRY_TRY(Ref<FunctionObject> found,
               find_function(*node_of(object_), GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS, name));
    return Function(Object::adopt(reinterpret_cast<gantry_object*>(found.take())));
  });
}

Result<std::vector<std::string>> Module::functions() const {
  return guard([&] { return list_functions(*node_of(object_)); });
}

std::vector<std::string> Module::missing() const {
  std::vector<std::string> reasons;
  for (ModuleNode* node : reachable(*node_of(object_))) {
    if (is_unbound(*node)) reasons.push_back(unbound_error(*node).error().message);
  }
  return reasons;
}

Result<Executor> Executor::wrap(Module made) {
  return guard([&]() -> Result<Executor> {
    if (!made) return invalid("module handle is empty, expected an executor");
    Executor executor;
    const struct {
      const char* name;
      Function* function;
    } wanted[] = {{"set_input", &executor.set_input_},
                  {"run", &executor.run_},
                  {"get_output", &executor.output_},
                  {"get_num_outputs", &executor.output_count_}};
    for (const auto& [name, function] : wanted) {
      auto found = made.function(name);
      if (!found.ok())
        return std::move(found).failure().at("while looking for an executor's functions in ",
                                             made.type_key());
      *function = std::move(*found);
    }
    executor.module_ = std::move(made);
    return executor;
  });
}

Status Executor::set_input(const std::string& name, const Tensor& tensor) {
  GANTRY_CHECK(set_input_(name, tensor));
  return {};
}

Status Executor::run() {
  GANTRY_CHECK(run_());
  return {};
}

Result<std::vector<Tensor>> Executor::run(std::span<const std::pair<std::string, Tensor>> inputs) {
  return guard([&]() -> Result<std::vector<Tensor>> {
    for (const auto& [name, tensor] : inputs) GANTRY_CHECK(set_input(name, tensor));
    GANTRY_CHECK(run());
    GANTRY_TRY(const std::int64_t count, output_count());
    std::vector<Tensor> outputs;
    for (std::int64_t i = 0; i < count; ++i) {
      GANTRY_TRY(outputs.emplace_back(), output(i));
    }
    return outputs;
  });
}

Result<Tensor> Executor::output(std::int64_t index) const {
  GANTRY_TRY(const Any made, output_(index));
  return made.tensor();
}

Result<std::int64_t> Executor::output_count() const {
  GANTRY_TRY(const Any count, output_count_());
  return count.integer();
}

}  // namespace gantry
