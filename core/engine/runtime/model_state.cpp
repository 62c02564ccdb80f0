// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/model_state.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/escape.hpp"
#include "core/base/near_name.hpp"
#include "core/base/process_end.hpp"
#include "core/base/text.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/prepare.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/library/table_copy.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <ranges>
#include <unordered_set>
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

// Calls a function of a plugin.
//
// function  [in]  of the table: "executor_new"
// call      [in]  gantry_code(gantry_status*)
template <class Call>
Status checked_call(const ModuleNode& node, std::string_view function, Call&& call) {
  if (!may_call(node)) return process_end_error(described(node));
  StatusBuffer status;
  const gantry_code code = call_plugin(
      status, function, node.plugin, [&] { return described(node); }, std::forward<Call>(call));
  if (code == GANTRY_OK) return {};
  return status.error(code, function);
}

Result<std::vector<ParameterInfo>> infos_of(const gantry_parameter* const* parameters,
                                            std::uint32_t count, std::string_view subject) {
  std::vector<ParameterInfo> infos;
  for (std::uint32_t i = 0; i < count; ++i) {
    GANTRY_TRY(const gantry_parameter parameter, copy_record(parameters[i], subject));
    infos.push_back(info_of(parameter));
  }
  return infos;
}

// The module's table of a model; NULL: it is none.
Result<const gantry_model*> model_table_of(RuntimeState& runtime, const ModuleNode& node) {
  const gantry_module_table* const table = node.table.load(std::memory_order_acquire);
  if (table == nullptr || table->get_extension == nullptr || !may_call(node)) return nullptr;
  const void* const found = table->get_extension(node.self, GANTRY_MODEL_1);
  if (found == nullptr) return nullptr;
  return runtime.models.get(static_cast<const gantry_model*>(found), described(node));
}

// The only function that describes nothing about the model itself, as "_metadata" does; empty if
// there are several.
std::string only_function(const std::vector<ModelState::Function>& functions) {
  const auto computes = [](const ModelState::Function& each) {
    return !each.name.starts_with('_');
  };
  if (std::ranges::count_if(functions, computes) != 1) return "";
  return std::ranges::find_if(functions, computes)->name;
}

}  // namespace

FunctionSignature::FunctionSignature(std::string function, std::string title,
                                     std::vector<ParameterInfo> inputs,
                                     std::optional<std::vector<ParameterInfo>> outputs,
                                     gantry_device_id device)
    : name(std::move(function)),
      subject(std::move(title)),
      own(std::move(inputs), std::move(outputs)),
      table(own.table()) {
  table.name = bytes_of(name);
  table.subject = bytes_of(subject);
  table.device = device;
}

ModelExecutor::~ModelExecutor() {
  if (may_call(*node_)) call_destroy("an executor", [&] { table_->destroy(self_); });
}

std::string ModelExecutor::title() const { return concat("an executor of ", described(*node_)); }

Result<ModelExecutor::Placed> ModelExecutor::placements(std::uint32_t function,
                                                        const gantry_signature& signature) {
  const gantry_placement* inputs = nullptr;
  const gantry_placement* outputs = nullptr;
  GANTRY_CHECK(checked_call(*node_, "placements", [&](gantry_status* status) {
    return table_->placements(self_, function, &inputs, &outputs, status);
  }));
  if ((inputs == nullptr && signature.input_count != 0) ||
      (outputs == nullptr && signature.output_count != 0)) {
    return bug("placements of ", title(), " returns no ", inputs == nullptr ? "inputs" : "outputs",
               ", the function has ", signature.input_count, " inputs and ", signature.output_count,
               " outputs")
        .with_reason("PLACEMENT");
  }
  const Placed placed{{inputs, signature.input_count}, {outputs, signature.output_count}};
  for (const auto& side : {placed.inputs, placed.outputs}) {
    for (const gantry_placement& each : side) {
      if (each.alignment != 0 && (each.alignment & (each.alignment - 1)) == 0 &&
          ((each.flags & GANTRY_PLACEMENT_OWN_ONLY) == 0 || each.own != nullptr))
        continue;
      return bug("placements of ", title(), ": alignment is ", each.alignment,
                 ", expected a power of two; flags are ", Hex{each.flags},
                 each.own == nullptr ? ", and there is no own memory" : "")
          .with_reason("PLACEMENT");
    }
  }
  return placed;
}

Status ModelExecutor::run(const gantry_env& env, gantry_executor_run& run) {
  return checked_call(
      *node_, "run", [&](gantry_status* status) { return table_->run(self_, &env, &run, status); });
}

Result<std::vector<ModelState::Member>> models_of(RuntimeState& runtime, ModuleNode& module) {
  std::vector<ModelState::Member> models;
  std::unordered_set<const ModuleNode*> seen{&module};
  // in reverse order
  std::vector<ModuleNode*> waiting{&module};
  while (!waiting.empty()) {
    ModuleNode& node = *waiting.back();
    waiting.pop_back();
    GANTRY_TRY(const gantry_model* const table, model_table_of(runtime, node));
    if (table != nullptr) {
      models.push_back({.node = Ref<ModuleNode>::share(&node), .table = table});
      continue;
    }
    const auto& imports = node.parent ? node.parent->imports : node.imports;
    for (const Ref<ModuleNode>& import : std::views::reverse(imports)) {
      if (seen.insert(import.get()).second) waiting.push_back(import.get());
    }
  }
  for (ModelState::Member& model : models) {
    model.info.struct_size = sizeof model.info;
    GANTRY_CHECK(checked_call(*model.node, "info", [&](gantry_status* status) {
      return model.table->info(model.node->self, &model.info, status);
    }));
    const gantry_model_info& info = model.info;
    const bool has_lists = (info.functions != nullptr || info.function_count == 0) &&
                           (info.device_types != nullptr || info.device_count == 0);
    const bool is_in_list =
        info.default_function < info.function_count || info.default_function == GANTRY_NO_FUNCTION;
    if (has_lists && is_in_list) continue;
    return bug("info of ", described(*model.node), ": function count is ", info.function_count,
               ", default function is ", info.default_function, ", device count is ",
               info.device_count, has_lists ? "" : ", and a list is empty")
        .with_reason("MODEL_INFO");
  }
  return models;
}

Status ModelState::add_members() {
  GANTRY_TRY(members_, models_of(*source_.runtime, *source_.module));
  if (members_.empty()) {
    // The error lists modules without a plugin, one of which may be the model.
    const auto found = find_function(*source_.module, own_or_imported, "default");
    if (!found.ok()) return found.error();
    return not_found(described(*source_.module), " has no model: none of its modules states one")
        .with_reason("FUNCTION");
  }
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const gantry_model_info& info = members_[m].info;
    for (std::uint32_t i = 0; i < info.function_count; ++i) {
      const std::string_view name = view_of(info.functions[i]);
      if (std::ranges::find(functions_, name, &Function::name) == functions_.end())
        functions_.push_back({std::string(name), m, i});
    }
  }
  const gantry_model_info& first = members_.front().info;
  if (members_.size() != 1) {
    default_function_ = "default";
  } else if (first.default_function != GANTRY_NO_FUNCTION) {
    default_function_ = view_of(first.functions[first.default_function]);
  }
  return {};
}

// Each model of an archive has one name, whatever functions it has.
Status ModelState::add_archive(std::vector<std::string> names) {
  is_archive_ = true;
  for (std::string& name : names) {
    GANTRY_TRY(const Ref<ModuleNode> root, archived_model(*source_.module, name));
    ModelSource own = source_;
    own.module = root;
    GANTRY_TRY(const std::shared_ptr<ModelState> model, find(std::move(own)));
    GANTRY_TRY(const Function* const chosen, model->function({}));
    functions_.push_back({std::move(name), members_.size(), chosen->index});
    members_.push_back(model->members_[chosen->member]);
  }
  return {};
}

Result<std::shared_ptr<ModelState>> ModelState::find(ModelSource source) {
  std::shared_ptr<ModelState> model(new ModelState(std::move(source)));
  std::vector<std::string> archived = archived_models(*model->source_.module);
  if (archived.empty()) {
    GANTRY_CHECK(model->add_members());
  } else {
    GANTRY_CHECK(model->add_archive(std::move(archived)));
  }
  std::ranges::sort(model->functions_, {}, &Function::name);
  if (!model->is_archive_ && std::ranges::find(model->functions_, model->default_function_,
                                               &Function::name) == model->functions_.end())
    model->default_function_ = only_function(model->functions_);
  model->signatures_.resize(model->functions_.size());
  model->devices_.resize(model->members_.size());
  return model;
}

std::string ModelState::listed(const Function& function) {
  if (is_archive_) return escaped(function.name);
  const auto known = signature(function);
  if (!known.ok()) return escaped(function.name);
  const auto name_of = [](const ParameterInfo& input) { return escaped(input.name); };
  return concat(escaped(function.name), "(",
                join((*known)->own.inputs(), ", ", name_of, max_listed_names), ")");
}

Error ModelState::no_function(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Function& each : functions_) names.push_back(each.name);
  Error error = name.empty() ? fail(Code::not_found, "the model has ", names.size(),
                                    " functions and no default; one must be named")
                             : fail(Code::not_found, "function ", quoted(name),
                                    " of the model not found", did_you_mean(name, names));
  error.reason = "FUNCTION";
  const std::size_t shown = std::min(names.size(), max_listed_names);
  for (std::size_t i = 0; i < shown; ++i) error.at(listed(functions_[i]));
  if (names.size() > shown) error.at("and ", names.size() - shown, " more");
  return error;
}

Result<const ModelState::Function*> ModelState::function(std::string_view name) {
  const std::string_view wanted = name.empty() ? std::string_view(default_function_) : name;
  const auto found = std::ranges::lower_bound(functions_, wanted, {}, &Function::name);
  if (found != functions_.end() && found->name == wanted) return &*found;
  if (is_archive_) return archived_model(*source_.module, name).error();
  return no_function(name);
}

std::string ModelState::subject_of(const Function& function) const {
  return is_archive_ || functions_.size() == 1 ? std::string("the model")
                                               : concat("function ", quoted(function.name));
}

Result<const FunctionSignature*> ModelState::signature(const Function& function) {
  const auto index = static_cast<std::size_t>(&function - functions_.data());
  {
    const std::lock_guard lock(mutex_);
    if (signatures_[index] != nullptr) return signatures_[index].get();
  }
  const Member& member = members_[function.member];
  const gantry_signature* stated = nullptr;
  GANTRY_CHECK(checked_call(*member.node, "signature", [&](gantry_status* status) {
    return member.table->signature(member.node->self, function.index, &stated, status);
  }));
  const std::string owner = concat("signature of ", described(*member.node));
  GANTRY_TRY(const gantry_signature known, copy_record(stated, owner));
  GANTRY_TRY(std::vector<ParameterInfo> inputs, infos_of(known.inputs, known.input_count, owner));
  std::optional<std::vector<ParameterInfo>> outputs;
  if ((known.flags & GANTRY_SIGNATURE_OUTPUTS) != 0) {
    GANTRY_TRY(outputs, infos_of(known.outputs, known.output_count, owner));
  }
  GANTRY_TRY(const auto on, devices(function.member));
  auto made = std::make_unique<const FunctionSignature>(
      function.name, subject_of(function), std::move(inputs), std::move(outputs), on.front());
  const std::lock_guard lock(mutex_);
  if (signatures_[index] == nullptr) signatures_[index] = std::move(made);
  return signatures_[index].get();
}

Result<std::span<const gantry_device_id>> ModelState::devices(std::size_t index) {
  {
    const std::lock_guard lock(mutex_);
    if (!devices_[index].empty()) return std::span<const gantry_device_id>(devices_[index]);
  }
  ModuleNode& module = is_archive_ ? *members_[index].node : *source_.module;
  GANTRY_TRY(const std::vector<std::string> names,
             model_devices(*source_.runtime, module, {source_.devices, "model_new"}));
  std::vector<gantry_device_id> chosen;
  for (const std::string& name : names) {
    GANTRY_TRY(const gantry_device_id id, find_device(*source_.runtime, name));
    chosen.push_back(id);
  }
  const std::lock_guard lock(mutex_);
  if (devices_[index].empty()) devices_[index] = std::move(chosen);
  return std::span<const gantry_device_id>(devices_[index]);
}

Status ModelState::prepare() {
  const std::size_t roots = is_archive_ ? members_.size() : 1;
  for (std::size_t i = 0; i < roots; ++i) {
    GANTRY_TRY(const std::span<const gantry_device_id> on, devices(i));
    ModuleNode& root = is_archive_ ? *members_[i].node : *source_.module;
    GANTRY_CHECK(prepare_modules(root, on, gantry_env{}, [] { return false; }));
  }
  return {};
}

Result<std::unique_ptr<ModelExecutor>> ModelState::new_executor(std::size_t index,
                                                                const gantry_env& env) {
  const Member& member = members_[index];
  GANTRY_TRY(const std::span<const gantry_device_id> on, devices(index));
  gantry_executor_options options{};
  options.struct_size = sizeof options;
  options.flags = (source_.capture ? std::uint32_t{GANTRY_EXECUTOR_CAPTURE} : 0u) |
                  (source_.prepare ? std::uint32_t{GANTRY_EXECUTOR_PREPARE} : 0u);
  options.devices = on.data();
  options.device_count = static_cast<std::uint32_t>(on.size());
  gantry_executor made{};
  Status created = checked_call(*member.node, "executor_new", [&](gantry_status* status) {
    return member.table->executor_new(member.node->self, &env, &options, &made, status);
  });
  if (!created.ok()) {
    return std::move(created).error().at("while making an executor of ", described(*member.node));
  }
  auto owned = guard([&]() -> Result<std::unique_ptr<ModelExecutor>> {
    GANTRY_TRY(const gantry_executor_table* const table,
               source_.runtime->executors.get(made.table,
                                              concat("executor_new of ", described(*member.node))));
    return std::make_unique<ModelExecutor>(member.node, made.self, table);
  });
  // A table that is rejected is not called.
  if (!owned.ok() && owned.error().code == Code::exhausted)
    call_destroy("an executor", [&] { made.table->destroy(made.self); });
  return owned;
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

}  // namespace gantry
