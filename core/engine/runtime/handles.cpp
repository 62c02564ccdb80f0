// SPDX-License-Identifier: Apache-2.0
//
// Implements the handles of runtime.hpp with the objects of core/engine/tensor and core/engine/module.
#include <gantry/runtime.hpp>
#include "core/base/process_end.hpp"
#include "core/base/trace/trace_json.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/graph_files.hpp"
#include "core/engine/runtime/graph_model.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/read_tensors.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/raised_error.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/join.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace gantry {
namespace {

TensorObject* tensor_of(gantry_object* object) { return reinterpret_cast<TensorObject*>(object); }
ModuleNode* node_of(gantry_object* object) { return reinterpret_cast<ModuleNode*>(object); }
ModuleNode& node_of(const Module& module) { return *node_of(module.get()); }
Module module_handle(Ref<ModuleNode> node) {
  return Module(Object::adopt(reinterpret_cast<gantry_object*>(node.take())));
}
FunctionObject& function_of(gantry_object* object) {
  return *reinterpret_cast<FunctionObject*>(object);
}

constexpr gantry_function_table added_function_table{
    sizeof(gantry_function_table), 0,
    [](void* self) { delete static_cast<Runtime::AddedFunction*>(self); },
    [](void* self, const gantry_env*, const gantry_value* args, std::int32_t count,
       gantry_value* result, gantry_status* status) {
      return abi_boundary(status, [&]() -> Status {
        const auto& function = *static_cast<const Runtime::AddedFunction*>(self);
        GANTRY_TRY(Any made, function(std::span(args, static_cast<std::size_t>(count))));
        *result = std::exchange(*made.slot(), gantry_value{});
        return {};
      });
    }};

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
    GANTRY_TRY(Value made, new_text(GANTRY_STRING, text));
    return adopt(made.take());
  });
}

Result<Any> Any::of_shape(std::span<const std::int64_t> extents) {
  return guard([&]() -> Result<Any> {
    GANTRY_TRY(Ref<ShapeObject> made, new_shape(extents));
    return adopt(owned_value(std::move(made)).take());
  });
}

Result<Any> Any::of_items(std::span<const Any> items) {
  return guard([&]() -> Result<Any> {
    std::vector<gantry_value> values;
    for (const Any& item : items) values.push_back(item.value());
    GANTRY_TRY(Ref<ItemsObject> made, new_items(GANTRY_ARRAY, values));
    return adopt(owned_value(std::move(made)).take());
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

Result<std::vector<NamedValue>> named_items(const Any& value, std::string_view base) {
  return guard([&]() -> Result<std::vector<NamedValue>> {
    GANTRY_TRY(const std::vector<NamedOutput> made, named_items(Value::share(value.value()), base));
    std::vector<NamedValue> all;
    for (const NamedOutput& each : made) all.push_back({each.name, Any::share(each.value.get())});
    return all;
  });
}

const std::string& ModelFunction::name() const { return state_->name; }
std::string ModelFunction::subject() const { return state_->subject(); }
std::span<const InputInfo> ModelFunction::inputs() const { return state_->inputs; }
Module ModelFunction::module() const { return module_handle(state_->module); }

Result<std::size_t> ModelFunction::input(std::string_view name) const {
  return guard([&] { return input_index(*state_, name); });
}

Status ModelFunction::set_input(std::size_t index, const Tensor& tensor) {
  return guard([&]() -> Status {
    if (!tensor) return invalid("input ", index, " of ", subject(), ": the tensor handle is empty");
    GANTRY_CHECK(check_index(index));
    return state_->set_tensor(index, *tensor.dlpack());
  });
}

Status ModelFunction::set_input(std::string_view name, const Tensor& tensor) {
  GANTRY_TRY(const std::size_t index, input(name));
  return set_input(index, tensor);
}

Status ModelFunction::set_value(std::size_t index, const Any& value) {
  return guard([&]() -> Status {
    GANTRY_CHECK(check_index(index));
    return state_->set_value(index, Value::share(value.value()));
  });
}

Status ModelFunction::set_value(std::string_view name, const Any& value) {
  GANTRY_TRY(const std::size_t index, input(name));
  return set_value(index, value);
}

Status ModelFunction::check_index(std::size_t index) const {
  if (index < inputs().size()) return {};
  return invalid(subject(), " has no input ", index, ", input count is ", inputs().size());
}

Status ModelFunction::run() {
  return guard([&] { return state_->run(); });
}

Result<std::vector<NamedValue>> ModelFunction::run(
    std::span<const std::pair<std::string, Tensor>> inputs) {
  for (const auto& [name, tensor] : inputs) GANTRY_CHECK(set_input(name, tensor));
  GANTRY_CHECK(run());
  return outputs();
}

Result<std::vector<NamedValue>> ModelFunction::outputs() const {
  return guard([&]() -> Result<std::vector<NamedValue>> {
    GANTRY_TRY(const std::vector<NamedOutput> made, state_->outputs());
    std::vector<NamedValue> all;
    for (const NamedOutput& each : made) all.push_back({each.name, Any::share(each.value.get())});
    return all;
  });
}

Result<Any> ModelFunction::output(std::string_view name) const {
  return guard([&]() -> Result<Any> {
    GANTRY_TRY(std::vector<NamedValue> values, outputs());
    const auto found = std::ranges::find(values, name, &NamedValue::name);
    if (found != values.end()) return std::move(found->value);
    return not_found(subject(), " has no output ", quoted(name),
                     "; outputs: ", join(values, ", ", [](const NamedValue& value) {
                       return quoted(value.name);
                     }));
  });
}

const std::vector<std::string>& Model::functions() const { return state_->functions; }
Module Model::module() const { return module_handle(state_->module); }

Result<ModelFunction> Model::function(std::string_view name) const {
  return guard([&]() -> Result<ModelFunction> {
    GANTRY_TRY(auto function, state_->chosen(name));
    return ModelFunction(std::move(function));
  });
}

Result<Model> Runtime::model(const Module& module, std::span<const std::string> devices,
                             const ModelOptions& options) {
  return guard([&]() -> Result<Model> {
    if (!module) return invalid("module handle is empty, expected a model");
    if (devices.empty()) return invalid("model has 0 devices, minimum is 1");
    GANTRY_TRY(auto state, model_state({state_,
                                        Ref<ModuleNode>::share(&node_of(module)),
                                        {devices.begin(), devices.end()},
                                        options.capture}));
    return Model(std::move(state));
  });
}

Failure raised_error(std::string_view kind, std::string_view text) {
  const Result<Any> failed = guard([&]() -> Result<Any> { return new_raised_error(kind, text); });
  return Failure(Error(failed.error()));
}

Status Runtime::add_function(std::string name, AddedFunction function) {
  return guard([&]() -> Status {
    if (name.empty()) return invalid("global function has an empty name");
    if (!function) return invalid("global function ", quoted(name), " is empty");
    auto kept = std::make_unique<AddedFunction>(std::move(function));
    GANTRY_TRY(Ref<FunctionObject> made, new_function({kept.get(), &added_function_table}, {}, 0));
    (void)kept.release();
    return state_->globals->add(std::move(name), std::move(made));
  });
}

Result<Function> Runtime::function(std::string_view name) const {
  return guard([&]() -> Result<Function> {
    GANTRY_TRY(Ref<FunctionObject> found, state_->globals->get(name));
    return Function(Object::adopt(reinterpret_cast<gantry_object*>(found.take())));
  });
}

Result<Runtime> Runtime::create(RuntimeOptions options) {
  return guard([&]() -> Result<Runtime> {
    GANTRY_TRY(auto state, RuntimeState::create(std::move(options)));
    return Runtime(std::move(state));
  });
}

Result<Module> Runtime::load(const std::string& path, const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_file(*state_, path, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_bytes(std::span<const std::uint8_t> bytes, std::string_view name,
                                   const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_memory(*state_, bytes, name, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_graph(const GraphFiles& files, const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_graph_files(*state_, files, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_linked(const gantry_linked_symbols& symbols, std::string_view prefix,
                                    const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, gantry::load_linked(*state_, symbols, prefix, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Executor> Runtime::executor(const Module& model, std::span<const std::string> devices,
                                   std::string_view factory) {
  return guard([&]() -> Result<Executor> {
    if (!model) return invalid("module handle is empty, expected a model");
    if (devices.empty()) return invalid("executor has 0 devices, minimum is 1");
    GANTRY_TRY(Ref<ModuleNode> made, new_executor({state_,
                                                   Ref<ModuleNode>::share(&node_of(model)),
                                                   {devices.begin(), devices.end()}},
                                                  factory));
    return Executor::wrap(module_handle(std::move(made)));
  });
}

Status Runtime::add_plugin(const gantry_plugin_table* (*query)(const gantry_host_info*,
                                                               gantry_status*)) {
  return guard([&]() -> Status { return state_->plugins->add_program_plugin(query); });
}

Status Runtime::bind_missing(const Module& model) {
  return guard([&]() -> Status {
    if (!model) return invalid("module handle is empty, expected a model");
    auto& root = *reinterpret_cast<ModuleNode*>(model.get());
    return gantry::bind_missing(*state_, root);
  });
}

Result<gantry_device_id> Runtime::device(std::string_view name) {
  return guard([&]() -> Result<gantry_device_id> { return find_device(*state_, name); });
}

int Runtime::threads() const { return state_->pool->size(); }

std::vector<DeviceInfo> Runtime::devices(std::vector<Message>& problems) {
  return list_devices(*state_, problems);
}

Result<Tensor> Runtime::tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                               std::string_view name) {
  return guard([&]() -> Result<Tensor> {
    GANTRY_TRY(const gantry_device_id id, device(name));
    GANTRY_TRY(Ref<TensorObject> made,
               tensor_new(state_->devices, compact_tensor(dtype, shape, id)));
    return Tensor(Object::adopt(reinterpret_cast<gantry_object*>(made.take())));
  });
}

Status Runtime::copy(const Tensor& from, const Tensor& to) {
  return guard([&]() -> Status {
    if (!from || !to) return invalid("tensor copy: tensor handle is empty");
    return tensor_copy(state_->devices, *from.dlpack(), *to.dlpack(), nullptr);
  });
}

Status Runtime::synchronize(gantry_device_id device) const {
  return guard([&]() -> Status {
    GANTRY_TRY(const auto found, state_->device(device.type));
    if (!may_call(*found)) return process_end_error(concat("synchronize of ", described(*found)));
    GANTRY_CHECK(device_at(*found, device.index, concat(found->name, ":", device.index)));
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* reported) {
      return found->table->synchronize(found->self, device.index, nullptr, reported);
    });
    if (code == GANTRY_OK) return {};
    return status.error(code, concat("synchronize of ", described(*found)))
        .at("while waiting for device ", found->name, ":", device.index);
  });
}

Result<gantry_device> Runtime::device_table(gantry_device_id device) const {
  return guard([&]() -> Result<gantry_device> { return device_of(*state_, device); });
}

std::vector<std::string> Runtime::plugins_in_use() const {
  std::vector<std::string> titles;
  for (const Candidate& candidate : state_->plugins->in_use()) titles.push_back(candidate.title());
  return titles;
}

std::string Runtime::explain_plugins() const {
  PluginSet& plugins = *state_->plugins;
  plugins.inspect_all();
  Explanation explanation = explain(plugins, all_requirements(plugins, {}));
  add_changes(plugins, explanation);
  return to_text(explanation);
}

std::uint64_t Runtime::fallbacks() const { return state_->plugins->fallbacks(); }

std::string Runtime::trace_json() const { return chrome_trace(state_->trace.get()); }

Result<std::vector<std::pair<std::string, Tensor>>> Runtime::read_tensors(const std::string& path) {
  return guard([&]() -> Result<std::vector<std::pair<std::string, Tensor>>> {
    GANTRY_TRY(auto named, gantry::read_tensors(*state_, path));
    std::vector<std::pair<std::string, Tensor>> all;
    for (auto& [name, tensor] : named) {
      all.emplace_back(std::move(name),
                       Tensor(Object::adopt(reinterpret_cast<gantry_object*>(tensor.take()))));
    }
    return all;
  });
}

}  // namespace gantry
