// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/vm_model.hpp"

#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/host_array.hpp"
#include "tools/gantry/script/virtual_machine.hpp"

#include "core/base/near_name.hpp"
#include "core/format/details.hpp"
#include "core/format/vm_details.hpp"
#include "core/module/module.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <map>

namespace gantry::cli {
namespace {

constexpr std::size_t max_type_characters = 48;

// The description of the executable in the file; empty if there is none.
Detail described_executable(const Runtime& runtime, const Module& module) {
  const Artifact& artifact = *reinterpret_cast<const ModuleNode*>(module.get())->artifact;
  for (const Entry& entry : artifact.container.entries) {
    if (!is_virtual_machine(entry.type_key)) continue;
    return describe_payload(entry, artifact.container.facts, InstalledPlugins(runtime).layouts())
        .root;
  }
  return {};
}

using DetailsByName = std::map<std::string_view, const Detail*>;

DetailsByName children_of(const Detail* parent) {
  DetailsByName children;
  if (parent == nullptr) return children;
  for (const Detail& child : parent->children) children.emplace(child.name, &child);
  return children;
}

const Detail* find_in(const DetailsByName& details, std::string_view name) {
  const auto found = details.find(name);
  return found != details.end() ? found->second : nullptr;
}

InputInfo input_of(std::string name, const Detail* annotation) {
  InputInfo input{.name = std::move(name), .type = {}, .type_text = {}};
  if (annotation == nullptr) return input;
  input.type = tensor_annotation(annotation->value);
  const std::string_view text = input.type ? input.type->text : annotation->value;
  const std::string_view shown = first_characters(text, max_type_characters);
  input.type_text = concat(escaped(shown), shown.size() == text.size() ? "" : "...");
  input.is_tensor = accepts_tensor(annotation->value);
  input.is_tuple = is_tuple(annotation->value);
  return input;
}

// The functions that the machine itself has: get_function_arity fails for all other names.
Result<std::vector<VmFunction>> functions_of(const Module& machine, const Detail& executable) {
  GANTRY_TRY(std::vector<std::string> names, machine.functions());
  GANTRY_TRY(const Function arity_of, machine.function("get_function_arity"));
  GANTRY_TRY(const Function name_of, machine.function("get_function_param_name"));
  std::ranges::sort(names);
  const DetailsByName described = children_of(executable.find("functions"));
  std::vector<VmFunction> functions;
  for (const std::string& name : names) {
    const auto arity = arity_of(name);
    if (!arity.ok()) continue;
    GANTRY_TRY(const std::int64_t count, arity->integer());
    const Detail* const details = find_in(described, name);
    const DetailsByName annotations =
        children_of(details != nullptr ? details->find("annotations") : nullptr);
    VmFunction function{name, {}};
    for (std::int64_t i = 0; i < count; ++i) {
      // Executables need not have the names.
      std::string input = concat(i);
      if (const auto named = name_of(name, i); named.ok()) {
        GANTRY_TRY(input, named->text());
      }
      const Detail* const annotation = find_in(annotations, input);
      function.inputs.push_back(input_of(std::move(input), annotation));
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

class VmModel final : public Model {
 public:
  VmModel(Runtime runtime, Module machine, VmFunction function, Function call, std::string device)
      : runtime_(std::move(runtime)),
        machine_(std::move(machine)),
        function_(std::move(function)),
        call_(std::move(call)),
        device_(std::move(device)),
        args_(function_.inputs.size()) {}

  std::string_view name() const override { return function_.name; }
  std::span<const InputInfo> inputs() const override { return function_.inputs; }

  Status set_input(std::size_t input, const Tensor& tensor) override {
    // Compiled code accepts no tensor that begins within its memory, such as a row.
    GANTRY_TRY(const Tensor copy, copied_to(runtime_, tensor, device_));
    args_[input] = Any::share(copy);
    return {};
  }
  Status set_value(std::size_t input, const Any& value) override {
    args_[input] = value;
    return {};
  }

  Status run() override {
    values_.clear();
    for (const Any& arg : args_) values_.push_back(arg.value());
    auto result = call_.call(values_);
    if (!result.ok()) return std::move(result).failure().at("in ", subject());
    result_ = std::move(*result);
    return {};
  }

  Result<std::vector<NamedValue>> outputs() const override {
    return named_items(result_, "output");
  }

 private:
  Runtime runtime_;
  Module machine_;
  VmFunction function_;
  Function call_;
  // its first one
  std::string device_;
  std::vector<Any> args_;
  // of args_, for the call
  std::vector<gantry_value> values_;
  Any result_;
};

}  // namespace

bool has_virtual_machine(const Module& module) {
  return module.function("vm_load_executable").ok();
}

std::string VmFunction::text() const {
  return concat(escaped(name), "(",
                join(inputs, ", ", [](const InputInfo& input) { return escaped(input.name); }),
                ")");
}

Result<VirtualMachine> VirtualMachine::create(Runtime& runtime, const Module& module,
                                              std::span<const std::string> devices) {
  VirtualMachine machine;
  GANTRY_TRY(machine.module, create_machine(runtime, module, devices));
  GANTRY_TRY(machine.functions,
             functions_of(machine.module, described_executable(runtime, module)));
  return machine;
}

const VmFunction* VirtualMachine::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(functions, name, {}, &VmFunction::name);
  return found != functions.end() && found->name == name ? &*found : nullptr;
}

Result<const VmFunction*> VirtualMachine::select(std::string_view name) const {
  if (const VmFunction* found = find(name.empty() ? "main" : name); found != nullptr) return found;
  if (name.empty() && functions.size() == 1) return &functions.front();
  std::vector<std::string_view> names;
  for (const VmFunction& function : functions) names.push_back(function.name);
  Error error = name.empty()
                    ? fail(Code::not_found, "the file has ", functions.size(), " functions and no ",
                           quoted("main"), "; --function NAME selects one")
                    : fail(Code::not_found, "the file has no function ", quoted(name),
                           did_you_mean(name, names));
  error.reason = "FUNCTION";
  for (std::size_t i = 0; i < std::min(functions.size(), max_listed_names); ++i)
    error.at(functions[i].text());
  if (functions.size() > max_listed_names)
    error.at("and ", functions.size() - max_listed_names, " more");
  return error;
}

Result<std::unique_ptr<Model>> make_vm_model(Runtime& runtime, const Module& module,
                                             const ModelOptions& options) {
  if (options.capture) {
    return invalid("--capture records graphs; functions of a virtual machine cannot be recorded");
  }
  GANTRY_TRY(const VirtualMachine machine,
             VirtualMachine::create(runtime, module, options.devices));
  GANTRY_TRY(const VmFunction* const function, machine.select(options.function));
  GANTRY_TRY(Function call, machine.module.function(function->name));
  return std::make_unique<VmModel>(runtime, machine.module, *function, std::move(call),
                                   options.devices.front());
}

}  // namespace gantry::cli
