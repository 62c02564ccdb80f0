// SPDX-License-Identifier: Apache-2.0
//
// The flows of functions of Relax. Compilers pass results as arguments: a kernel writes the last ones, which
// were allocated before. What a call writes is therefore the allocated tensors among its arguments that nothing
// has written.
#include "core/formats/dtype_codes.hpp"
#include "core/formats/relax_program.hpp"
#include "tools/gantry/draw/vm_flow.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::cli {
namespace {

// What a function of the machine itself does for a drawing.
enum class BuiltinKind : std::uint8_t {
  // no node: memory, checks, shapes, numbers
  hidden,
  // no node: the result is what the arguments are
  same,
  alloc_tensor,
  make_shape,
  // a node that moves a tensor
  light,
  // a node for the function that is the first argument
  indirect,
};

struct BuiltinRow {
  std::string_view name;
  BuiltinKind kind;
};
// Others are calls. Sorted.
constexpr BuiltinRow builtin_rows[] = {
    {"vm.builtin.alloc_shape_heap", BuiltinKind::hidden},
    {"vm.builtin.alloc_storage", BuiltinKind::hidden},
    {"vm.builtin.alloc_tensor", BuiltinKind::alloc_tensor},
    {"vm.builtin.call_tir_dyn", BuiltinKind::indirect},
    {"vm.builtin.check_func_info", BuiltinKind::hidden},
    {"vm.builtin.check_prim_value_info", BuiltinKind::hidden},
    {"vm.builtin.check_shape_info", BuiltinKind::hidden},
    {"vm.builtin.check_string_info", BuiltinKind::hidden},
    {"vm.builtin.check_tensor_info", BuiltinKind::hidden},
    {"vm.builtin.check_tuple_info", BuiltinKind::hidden},
    {"vm.builtin.copy", BuiltinKind::same},
    {"vm.builtin.ensure_zero_offset", BuiltinKind::same},
    {"vm.builtin.make_closure", BuiltinKind::indirect},
    {"vm.builtin.make_prim_value", BuiltinKind::hidden},
    {"vm.builtin.make_shape", BuiltinKind::make_shape},
    {"vm.builtin.make_tuple", BuiltinKind::same},
    {"vm.builtin.match_prim_value", BuiltinKind::hidden},
    {"vm.builtin.match_shape", BuiltinKind::hidden},
    {"vm.builtin.null_value", BuiltinKind::hidden},
    {"vm.builtin.read_if_cond", BuiltinKind::same},
    {"vm.builtin.reshape", BuiltinKind::light},
    {"vm.builtin.shape_of", BuiltinKind::hidden},
    {"vm.builtin.to_device", BuiltinKind::light},
    {"vm.builtin.tuple_getitem", BuiltinKind::same},
};

constexpr std::size_t max_type_characters = 60;

const BuiltinRow* find_row(std::string_view name) {
  const auto found = std::ranges::lower_bound(builtin_rows, name, {}, &BuiltinRow::name);
  return found != std::end(builtin_rows) && found->name == name ? &*found : nullptr;
}

// The types of the inputs or outputs of a function, as the file states them.
std::vector<std::string> types_of(const std::vector<StatedTensor>& tensors, std::size_t module,
                                  std::string_view function) {
  const std::string_view name = first_characters(function, max_function_characters);
  std::vector<std::string> types;
  for (const StatedTensor& each : tensors) {
    if (each.module == module && each.function == name)
      types.push_back(shown_text(each.text, max_type_characters));
  }
  return types;
}

// Replaces the types after the fourth by their number.
void shorten(std::vector<std::string>& types) {
  constexpr std::size_t max = 4;
  if (types.size() <= max) return;
  const std::size_t more = types.size() - max;
  types.resize(max);
  types.push_back(concat("and ", more, " more"));
}

FlowNode parameter_of(const relax::FunctionCode& function, std::uint32_t i,
                      const std::vector<std::string>& types) {
  const bool has_name = i < function.parameter_names.size();
  const std::string name =
      has_name ? std::string(function.parameter_names[i]) : concat("parameter ", i);
  FlowNode node{.kind = FlowNode::Kind::input, .title = short_name(name)};
  node.name = shown_text(name);
  if (i < types.size() && !types[i].empty()) node.lines.push_back(types[i]);
  return node;
}

class RelaxFlow {
 public:
  RelaxFlow(const RelaxCode& code, const relax::Program& program, bool has_private_float_codes,
            const relax::FunctionCode& function, FlowBuilder& builder,
            std::vector<std::string> parameters, std::vector<std::string> results)
      : code_(code),
        program_(program),
        has_private_float_codes_(has_private_float_codes),
        function_(function),
        parameters_(std::move(parameters)),
        flow_(builder,
              {function.instruction_count, function.register_count, function.parameter_count,
               [this](std::uint32_t i) { return parameter_of(function_, i, parameters_); },
               [this](std::uint32_t i) { return step(i); }}),
        results_(std::move(results)) {}

  void run() {
    flow_.run([&](std::uint32_t i) { draw(at(i)); });
  }

 private:
  const relax::Instruction& at(std::uint32_t i) const {
    return program_.instructions[function_.first_instruction + i];
  }

  VmStep step(std::uint32_t i) const {
    const relax::Instruction& instruction = at(i);
    const std::uint32_t target = instruction.target - function_.first_instruction;
    switch (instruction.opcode) {
      case relax::Opcode::call:
        return {};
      case relax::Opcode::ret:
        return {VmStep::Kind::end};
      case relax::Opcode::jump:
        return {VmStep::Kind::jump, target};
      case relax::Opcode::branch:
        return {VmStep::Kind::branch, i + 1, target};
    }
    return {};
  }

  void draw(const relax::Instruction& instruction) {
    switch (instruction.opcode) {
      case relax::Opcode::call:
        return draw_call(instruction);
      case relax::Opcode::ret: {
        std::vector<std::uint32_t> read;
        if (instruction.reg != relax::no_register) read.push_back(instruction.reg);
        flow_.add_reader({.kind = FlowNode::Kind::output, .title = "return", .lines = results_},
                         read);
        return;
      }
      case relax::Opcode::branch: {
        const FlowValue condition = flow_.value(instruction.reg);
        return flow_.add_choice({.kind = FlowNode::Kind::choice, .title = "if"}, condition);
      }
      case relax::Opcode::jump:
        return;
    }
  }

  void draw_call(const relax::Instruction& call) {
    const relax::FunctionCode& callee = program_.functions[call.target];
    const std::span<const relax::Argument> arguments = program_.arguments_of(call);
    const BuiltinRow* const row = find_row(callee.name);
    if (row == nullptr) return add_call(call, callee.name, arguments, FlowNode::Kind::call);
    switch (row->kind) {
      case BuiltinKind::hidden:
        return set(call.reg, FlowValue{.is_hidden = callee.name != "vm.builtin.null_value"});
      case BuiltinKind::same:
        return set(call.reg, flow_.values(registers_in(arguments)));
      case BuiltinKind::alloc_tensor:
        return set(call.reg, {{}, allocated_type(arguments), true});
      case BuiltinKind::make_shape:
        return set(call.reg, {{}, shape_text(arguments), false, true});
      case BuiltinKind::light:
        return add_call(call, callee.name, arguments, FlowNode::Kind::light);
      case BuiltinKind::indirect: {
        const bool has_function =
            !arguments.empty() && arguments[0].kind == relax::ArgumentKind::function;
        const std::string_view name =
            has_function ? program_.functions[arguments[0].value].name : callee.name;
        return add_call(call, name, arguments, FlowNode::Kind::call);
      }
    }
  }

  void set(std::uint32_t reg, FlowValue value) {
    if (reg != relax::no_register) flow_.set(reg, std::move(value));
  }

  static std::vector<std::uint32_t> registers_in(std::span<const relax::Argument> arguments) {
    std::vector<std::uint32_t> registers;
    for (const relax::Argument& each : arguments) {
      if (each.kind == relax::ArgumentKind::reg)
        registers.push_back(static_cast<std::uint32_t>(each.value));
    }
    return registers;
  }

  void add_call(const relax::Instruction& call, std::string_view name,
                std::span<const relax::Argument> arguments, FlowNode::Kind kind) {
    const std::vector<std::uint32_t> registers = registers_in(arguments);
    // Host code that computes extents.
    if (!registers.empty() && call.reg == relax::no_register &&
        std::ranges::all_of(registers,
                            [&](std::uint32_t reg) { return flow_.value(reg).is_hidden; }))
      return;
    FlowNode node{.kind = kind, .title = short_name(name)};
    node.name = shown_text(name);
    node.timed = node.name;
    std::vector<std::uint32_t> written, read;
    for (const std::uint32_t reg : registers) {
      const FlowValue& value = flow_.value(reg);
      (value.is_unwritten ? written : read).push_back(reg);
      if (value.is_unwritten && !value.type.empty()) node.lines.push_back(value.type);
    }
    std::string type;
    if (kind == FlowNode::Kind::light && !read.empty())
      type = moved_type(flow_.value(read[0]).type, arguments);
    if (!type.empty()) node.lines.push_back(type);
    shorten(node.lines);
    const std::uint32_t index = flow_.add_reader(std::move(node), read);
    if (index == FlowBuilder::none) return;
    for (const std::uint32_t reg : written) flow_.set(reg, {{index}, flow_.value(reg).type});
    set(call.reg, {{index}, type});
  }

  // The type of a reshaped or moved tensor.
  std::string moved_type(const std::string& from, std::span<const relax::Argument> arguments) {
    if (arguments.size() < 2) return {};
    if (arguments[1].kind == relax::ArgumentKind::immediate) return from;
    const std::string extents = extents_at(arguments[1]);
    const std::size_t bracket = from.find('[');
    if (bracket == from.npos || extents.empty()) return {};
    return shown_text(concat(std::string_view(from).substr(0, bracket), '[', extents, ']'),
                      max_type_characters);
  }

  // "1, 64", of a constant or a shape that was made; empty: unknown.
  std::string extents_at(const relax::Argument& argument) {
    if (argument.kind == relax::ArgumentKind::reg)
      return flow_.value(static_cast<std::uint32_t>(argument.value)).type;
    if (argument.kind != relax::ArgumentKind::constant) return {};
    const auto* const shape = std::get_if<std::vector<std::int64_t>>(
        &code_.constants.values[static_cast<std::size_t>(argument.value)]);
    if (shape == nullptr) return {};
    const std::string text = numbers_text(*shape);
    return text.substr(1, text.size() - 2);
  }

  // alloc_tensor(storage, offset, shape, dtype, ...)
  std::string allocated_type(std::span<const relax::Argument> arguments) {
    if (arguments.size() < 4 || arguments[3].kind != relax::ArgumentKind::constant) return {};
    const auto* const dtype = std::get_if<gantry_dtype>(
        &code_.constants.values[static_cast<std::size_t>(arguments[3].value)]);
    if (dtype == nullptr) return {};
    return shown_text(concat(dtype_text(dlpack_dtype(*dtype, has_private_float_codes_)), '[',
                             extents_at(arguments[2]), ']'),
                      max_type_characters);
  }

  // make_shape(heap, count, code, number, ...): code 0 is the number, 1 its place in the heap.
  static std::string shape_text(std::span<const relax::Argument> arguments) {
    std::vector<std::string> extents;
    for (std::size_t i = 2; i + 1 < arguments.size() && extents.size() < 16; i += 2) {
      const bool is_number = arguments[i].kind == relax::ArgumentKind::immediate &&
                             arguments[i].value == 0 &&
                             arguments[i + 1].kind == relax::ArgumentKind::immediate;
      extents.push_back(is_number ? concat(arguments[i + 1].value) : "?");
    }
    return join(extents, ", ");
  }

  const RelaxCode& code_;
  const relax::Program& program_;
  const bool has_private_float_codes_;
  const relax::FunctionCode& function_;
  // types
  std::vector<std::string> parameters_;
  VmFlow flow_;
  std::vector<std::string> results_;
};

}  // namespace

Result<std::vector<Flow>> relax_flows(const Entry& entry, std::size_t module,
                                      const ExporterFacts& facts, const StatedSignature& signature,
                                      const FlowLimits& limits) {
  GANTRY_TRY(const RelaxCode code, read_relax_payload(entry.payload, facts.numbering));
  GANTRY_TRY(const relax::Program program, relax::decode(code));
  std::vector<Flow> flows;
  FlowLimits left = limits;
  for (const relax::FunctionCode& function : program.functions) {
    if (function.kind == relax::FunctionKind::packed || flows.size() == limits.flows) continue;
    FlowBuilder builder(function.name, left);
    builder.set_timed(shown_text(function.name));
    if (function.kind == relax::FunctionKind::bytecode) {
      std::vector<std::string> results = types_of(signature.outputs, module, function.name);
      shorten(results);
      RelaxFlow(code, program, facts.has_private_float_codes, function, builder,
                types_of(signature.inputs, module, function.name), std::move(results))
          .run();
    } else {
      builder.note(
          "the function is compiled into the library: no call of it is in the code of the "
          "virtual machine");
    }
    flows.push_back(std::move(builder).finish());
    left.use(flows.back());
  }
  return flows;
}

}  // namespace gantry::cli
