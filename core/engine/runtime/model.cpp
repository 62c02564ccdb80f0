// SPDX-License-Identifier: Apache-2.0
#include "core/base/escape.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/graph_model.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/runtime/vm_model.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/utf8.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace gantry {
namespace {

// of an input in a list
constexpr std::size_t max_type_characters = 48;

std::string input_text(const ParameterInfo& input) {
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
                   : fail(Code::not_found, "function ", quoted(name), " of the model not found",
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

ModelState::ModelState(Ref<ModuleNode> made, std::vector<std::string> names, std::string unnamed)
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

Result<std::shared_ptr<ModelState>> model_state(const ModelSource& source) {
  if (!archived_models(*source.module).empty()) return archive_model(source);
  const auto load = find_function(*source.module, own_or_imported, "vm_load_executable");
  if (!load.ok()) return graph_model(source);
  return vm_model(source, **load);
}

Result<std::size_t> input_index(std::string_view subject, std::span<const ParameterInfo> inputs,
                                std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &ParameterInfo::name);
  if (found != inputs.end()) return static_cast<std::size_t>(found - inputs.begin());
  const auto position = parse_number<std::size_t>(name);
  if (position && *position < inputs.size()) return *position;
  std::vector<std::string_view> names;
  for (const ParameterInfo& input : inputs) names.push_back(input.name);
  return invalid("input ", quoted(name), " of ", subject, " not found", did_you_mean(name, names))
      .with_reason("INPUT");
}

std::string inputs_text(std::span<const ParameterInfo> inputs) {
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

Result<Ref<ModuleNode>> made_for(RuntimeState& runtime, FunctionObject& make,
                                 std::span<const std::string> names) {
  std::vector<gantry_value> args;
  for (const std::string& name : names) {
    GANTRY_TRY(const gantry_device_id id, find_device(runtime, name));
    args.push_back(device_value(id));
  }
  GANTRY_TRY(Value made, call(make, nullptr, args));
  if (made.get().kind != GANTRY_MODULE) return wrong_kind(made.get(), "a module");
  return Ref<ModuleNode>::adopt(reinterpret_cast<ModuleNode*>(made.take().object));
}

}  // namespace gantry
