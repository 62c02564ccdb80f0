// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "core/formats/annotation.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/run_outputs.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <string>
#include <variant>

namespace gantry::relax {
namespace {

constexpr std::string_view main_function = "main";
constexpr std::string_view metadata_function = "_metadata";

// They have about 150 bytes for each weight.
constexpr std::size_t max_metadata_bytes = std::size_t{16} << 20;

// States the type of a tensor; leaves a parameter as it is if the annotation is not that of one.
bool set_tensor(ParameterInfo& to, std::string_view annotation) {
  auto tensor = tensor_annotation(annotation);
  if (!tensor) return false;
  to.kind = GANTRY_TENSOR;
  to.type = std::move(tensor->type);
  to.type_text = std::move(tensor->text);
  const bool has_free = std::ranges::any_of(
      tensor->extents, [](const std::string& extent) { return !extent.empty(); });
  if (has_free) to.extents = std::move(tensor->extents);
  return true;
}

// Returns the text that the function `_metadata` returns, if its code does nothing but copy a
// constant.
std::optional<std::string_view> metadata_of(const Loaded& code) {
  const Program& program = code.program;
  const auto index = program.find(metadata_function);
  if (!index) return std::nullopt;
  const FunctionCode& function = program.functions[*index];
  if (function.kind != FunctionKind::bytecode || function.parameter_count != 0 ||
      function.instruction_count != 2)
    return std::nullopt;
  const Instruction* const first = program.instructions.data() + function.first_instruction;
  const bool copies = first[0].opcode == Opcode::call && first[0].argument_count == 1 &&
                      program.functions[first[0].target].name == "vm.builtin.copy" &&
                      first[1].opcode == Opcode::ret && first[1].reg == first[0].reg;
  if (!copies) return std::nullopt;
  const Argument& argument = program.arguments_of(first[0]).front();
  if (argument.kind != ArgumentKind::constant) return std::nullopt;
  const auto* const text = std::get_if<std::string_view>(
      &code.code.constants.values[static_cast<std::size_t>(argument.value)]);
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

// Returns the number of weights that metadata list, {"params": [{"name": ...}, ...]}; 0 for another
// text.
std::size_t weights_in(std::string_view metadata) {
  if (metadata.size() > max_metadata_bytes) return 0;
  const auto tree = JsonTree::parse(metadata);
  const auto params = tree.ok() ? tree->root().find("params") : std::nullopt;
  return params && params->is(JsonKind::array) ? params->size() : 0;
}

}  // namespace

ModelFunctions::ModelFunctions(std::shared_ptr<const Loaded> code) : code_(std::move(code)) {
  const std::vector<FunctionCode>& all = code_->program.functions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == FunctionKind::packed) continue;
    if (all[i].name == main_function)
      info_.default_function = static_cast<std::uint32_t>(indices_.size());
    info_.functions.emplace_back(all[i].name);
    indices_.push_back(i);
  }
  info_.prepare();
  signatures_.resize(indices_.size());
}

void ModelFunctions::read_constants() const {
  if (are_constants_read_) return;
  for (const VmConstant& constant : code_->code.constants.values) {
    const auto* const text = std::get_if<std::string_view>(&constant);
    const auto stated = text != nullptr ? stated_annotation(*text) : std::nullopt;
    if (stated) annotations_.try_emplace({stated->function, stated->param}, stated->type);
  }
  if (const auto metadata = metadata_of(*code_)) weight_count_ = weights_in(*metadata);
  are_constants_read_ = true;
}

std::string_view ModelFunctions::annotation_of(const Place& place) const {
  const auto found = annotations_.find(place);
  return found != annotations_.end() ? found->second : std::string_view();
}

ParameterInfo ModelFunctions::input_of(const FunctionCode& function, std::size_t parameter) const {
  ParameterInfo input;
  // Executables need not have the names.
  input.name = parameter < function.parameter_names.size()
                   ? std::string(function.parameter_names[parameter])
                   : concat(parameter);
  const std::string_view annotation = annotation_of({function.name, input.name});
  if (set_tensor(input, annotation)) return input;
  // Complete, so that the types of all items of a tuple can be read.
  input.type_text = annotation;
  if (is_tuple(annotation)) {
    input.kind = GANTRY_ARRAY;
    // Models with metadata take their weights as one tuple.
    if (weight_count_ != 0 && tuple_items(annotation).size() == weight_count_)
      input.flags = GANTRY_PARAMETER_WEIGHT;
  } else if (accepts_tensor(annotation) && !annotation.empty()) {
    input.kind = GANTRY_TENSOR;
  }
  return input;
}

// The results of a function, those of tuples one by one; nullopt if the file does not state the type
// of each.
std::optional<std::vector<ParameterInfo>> ModelFunctions::outputs_of(
    const FunctionCode& function) const {
  const std::string shown = shown_annotation(annotation_of({function.name, {}}));
  if (shown.empty()) return std::nullopt;
  const std::vector<std::string_view> all = flat_annotations(shown);
  std::vector<ParameterInfo> outputs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ParameterInfo& output = outputs.emplace_back();
    output.name = output_name(i, all.size());
    if (!set_tensor(output, all[i])) return std::nullopt;
  }
  return outputs;
}

const Signature& ModelFunctions::signature(std::uint32_t function) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Signature>& made = signatures_[function];
  if (made != nullptr) return *made;
  read_constants();
  const FunctionCode& code = code_->program.functions[indices_[function]];
  std::vector<ParameterInfo> inputs;
  for (std::size_t i = 0; i < code.parameter_count; ++i) inputs.push_back(input_of(code, i));
  made = std::make_unique<const Signature>(std::move(inputs), outputs_of(code));
  return *made;
}

const Executor::Known& Executor::known(std::uint32_t function) {
  Known& known = known_[function];
  if (known.signature != nullptr) return known;
  const Signature& signature = functions_.signature(function);
  const gantry_device_id device = *vm_.device(0);
  // Registers keep inputs, which may be results.
  known.placed.inputs.assign(signature.inputs().size(),
                             {device, static_cast<std::uint32_t>(in_place_alignment_since_v0_10),
                              GANTRY_PLACEMENT_KEPT, nullptr});
  if (signature.outputs()) {
    // A result may be any part of a storage.
    known.placed.outputs.assign(signature.outputs()->size(), {device, 1, 0, nullptr});
  }
  known.signature = &signature;
  return known;
}

Result<const Placements*> Executor::placements(std::uint32_t function) {
  return &known(function).placed;
}

Result<Value> Executor::result_of(std::uint32_t function, const gantry_env& env,
                                  std::span<const gantry_value> inputs) {
  const auto begins_later = [](const gantry_value& input) {
    return input.kind == GANTRY_TENSOR && gantry_value_tensor(&input)->byte_offset != 0;
  };
  const std::uint32_t index = functions_.index_of(function);
  if (std::ranges::none_of(inputs, begins_later)) return vm_.run(index, &env, inputs);
  // Compiled code expects a byte offset of 0.
  std::vector<Value> views;
  std::vector<gantry_value> all(inputs.begin(), inputs.end());
  for (gantry_value& input : all) {
    if (!begins_later(input)) continue;
    gantry_tensor from = *gantry_value_tensor(&input);
    from.data = element_address(from);
    from.byte_offset = 0;
    GANTRY_TRY(Value view, host_.tensor_view(from, input.object));
    input = views.emplace_back(std::move(view)).get();
  }
  return vm_.run(index, &env, all);
}

Status Executor::run(const gantry_env& env, ExecutorRun& run) {
  const Known& known = this->known(run.function());
  const RunFunction function{functions_.info().functions[run.function()], *known.signature,
                             known.placed};
  auto result = result_of(run.function(), env, run.inputs());
  if (!result.ok()) return std::move(result).failure().at("in ", function.title());
  return pass_result(function, host_, env, std::move(*result), run);
}

}  // namespace gantry::relax
