// SPDX-License-Identifier: Apache-2.0
#include "core/base/escape.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/archive_model.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/graph_model.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/runtime/vm_model.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/utf8.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// A tuple may contain itself several times, so a few bytes of code can make any number of items.
constexpr std::size_t max_items = 65536;
// of an input in a list
constexpr std::size_t max_type_characters = 48;

std::string input_text(const InputInfo& input) {
  if (input.type_text.empty()) return escaped(input.name);
  const std::string_view shown = first_characters(input.type_text, max_type_characters);
  return concat(escaped(input.name), " ", escaped(shown),
                shown.size() == input.type_text.size() ? "" : "...");
}

Error no_function(const ModelState& model, std::string_view name) {
  const std::vector<std::string>& functions = model.functions;
  Error error =
      name.empty() ? fail(Code::not_found, "the model has ", functions.size(), " functions and no ",
                          quoted(model.default_function), "; one must be named")
                   : fail(Code::not_found, "the model has no function ", quoted(name),
                          did_you_mean(name, {functions.begin(), functions.end()}));
  error.reason = "FUNCTION";
  const std::size_t listed = std::min(functions.size(), max_listed_names);
  for (std::size_t i = 0; i < listed; ++i) error.at(model.text_of(functions[i]));
  if (functions.size() > listed) error.at("and ", functions.size() - listed, " more");
  return error;
}

// The only function that describes nothing about the model itself, as "_metadata" does; the end of
// the list if there are several.
std::vector<std::string>::const_iterator only_model_function(
    const std::vector<std::string>& functions) {
  const auto computes = [](const std::string& name) { return !name.starts_with('_'); };
  if (std::ranges::count_if(functions, computes) != 1) return functions.end();
  return std::ranges::find_if(functions, computes);
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

ModelState::ModelState(Module made, std::vector<std::string> names, std::string unnamed)
    : module(std::move(made)),
      functions(sorted(std::move(names))),
      default_function(std::move(unnamed)) {}

std::string ModelState::text_of(const std::string& name) const {
  std::string text;
  append_escaped(text, name);
  return text;
}

Result<std::shared_ptr<FunctionState>> ModelState::chosen(std::string_view name) {
  const std::string_view wanted = name.empty() ? std::string_view(default_function) : name;
  auto found = std::ranges::find(functions, wanted);
  if (found == functions.end() && name.empty()) found = only_model_function(functions);
  if (found == functions.end()) return no_function(*this, name);
  return function(*found);
}

Result<std::shared_ptr<ModelState>> model_state(Runtime runtime, const Module& module,
                                                const PayloadLayouts& layouts,
                                                std::span<const std::string> devices,
                                                const ModelOptions& options) {
  if (!archived_models(*reinterpret_cast<const ModuleNode*>(module.get())).empty())
    return archive_model(std::move(runtime), module, layouts, devices, options);
  const auto load = module.function("vm_load_executable");
  if (!load.ok()) return graph_model(std::move(runtime), module, layouts, devices, options);
  return vm_model(std::move(runtime), module, *load, layouts, devices, options);
}

Result<std::size_t> input_index(const FunctionState& function, std::string_view name) {
  const std::vector<InputInfo>& inputs = function.inputs;
  const auto found = std::ranges::find(inputs, name, &InputInfo::name);
  if (found != inputs.end()) return static_cast<std::size_t>(found - inputs.begin());
  const auto position = parse_number<std::size_t>(name);
  if (position && *position < inputs.size()) return *position;
  std::vector<std::string_view> names;
  for (const InputInfo& input : inputs) names.push_back(input.name);
  return invalid(function.subject(), " has no input ", quoted(name), did_you_mean(name, names))
      .with_reason("INPUT");
}

std::string inputs_text(std::span<const InputInfo> inputs) {
  return inputs.empty() ? "none" : join(inputs, ", ", input_text, max_listed_names);
}

Status InputCopies::add(const FunctionState& function, std::size_t index,
                        const gantry_value& value) {
  const gantry_tensor* const tensor = gantry_value_tensor(&value);
  if (are_allowed || tensor == nullptr) {
    bytes += tensor_size(value);
    return {};
  }
  return invalid("input ", quoted(function.inputs[index].name), " of ", function.subject(),
                 " must be copied, ", tensor_text(*tensor), " at ",
                 Hex{reinterpret_cast<std::uintptr_t>(tensor->data) + tensor->byte_offset},
                 ", and copies are not allowed")
      .with_reason("COPY_REQUIRED");
}

std::uint64_t tensor_size(const gantry_value& value) {
  const gantry_tensor* const tensor = gantry_value_tensor(&value);
  if (tensor == nullptr) return 0;
  const auto size = data_bytes(*tensor);
  return size.ok() ? *size : 0;
}

Result<Module> made_for(Runtime& runtime, const Function& make,
                        std::span<const std::string> names) {
  std::vector<gantry_value> args;
  for (const std::string& name : names) {
    GANTRY_TRY(const gantry_device_id id, runtime.device(name));
    args.push_back(device_value(id));
  }
  GANTRY_TRY(const Any made, make.call(args));
  return made.module();
}

Result<std::vector<NamedValue>> named_items(const Any& value, std::string_view base) {
  return guard([&]() -> Result<std::vector<NamedValue>> {
    std::vector<Any> items;
    // in reverse order
    std::vector<Any> waiting{value};
    for (std::size_t visited = 0; !waiting.empty(); ++visited) {
      Any next = std::move(waiting.back());
      waiting.pop_back();
      if (next.value().kind != GANTRY_ARRAY) {
        items.push_back(std::move(next));
        continue;
      }
      GANTRY_TRY(const std::vector<Any> parts, next.items());
      if (visited + waiting.size() + parts.size() > max_items)
        return exhausted("the result has more than ", max_items, " items, the limit");
      waiting.insert(waiting.end(), parts.rbegin(), parts.rend());
    }
    std::vector<NamedValue> named;
    for (std::size_t i = 0; i < items.size(); ++i) {
      named.push_back(
          {items.size() == 1 ? std::string(base) : concat(base, i), std::move(items[i])});
    }
    return named;
  });
}

const std::string& ModelFunction::name() const { return state_->name; }
std::string ModelFunction::subject() const { return state_->subject(); }
std::span<const InputInfo> ModelFunction::inputs() const { return state_->inputs; }
const Module& ModelFunction::module() const { return state_->module; }

Result<std::size_t> ModelFunction::input(std::string_view name) const {
  return guard([&] { return input_index(*state_, name); });
}

Status ModelFunction::set_input(std::size_t index, const Tensor& tensor) {
  return guard([&]() -> Status {
    if (!tensor) return invalid("input ", index, " of ", subject(), ": the tensor handle is empty");
    GANTRY_CHECK(check_index(index));
    return state_->set_tensor(index, tensor);
  });
}

Status ModelFunction::set_input(std::string_view name, const Tensor& tensor) {
  GANTRY_TRY(const std::size_t index, input(name));
  return set_input(index, tensor);
}

Status ModelFunction::set_value(std::size_t index, const Any& value) {
  return guard([&]() -> Status {
    GANTRY_CHECK(check_index(index));
    return state_->set_value(index, value);
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
  return guard([&] { return state_->outputs(); });
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
const Module& Model::module() const { return state_->module; }

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
    GANTRY_TRY(auto state, model_state(*this, module, state_->layouts, devices, options));
    return Model(std::move(state));
  });
}

}  // namespace gantry
