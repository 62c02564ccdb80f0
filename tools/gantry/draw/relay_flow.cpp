// SPDX-License-Identifier: Apache-2.0
//
// The flows of functions of Relay.
#include "core/formats/relay_program.hpp"
#include "tools/gantry/draw/vm_flow.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {
namespace {

FlowNode parameter_of(const relay::FunctionCode& function, std::uint32_t i) {
  const std::string_view name = function.params[i];
  FlowNode node{.kind = FlowNode::Kind::input, .title = short_name(name)};
  node.name = shown_text(name);
  return node;
}

class RelayFlow {
 public:
  RelayFlow(const relay::Program& program, const relay::FunctionCode& function,
            FlowBuilder& builder)
      : program_(program),
        function_(function),
        flow_(builder, {function.end - function.begin, function.register_count,
                        static_cast<std::uint32_t>(function.params.size()),
                        [this](std::uint32_t i) { return parameter_of(function_, i); },
                        [this](std::uint32_t i) { return step(i); }}) {}

  void run() {
    flow_.run([&](std::uint32_t i) { draw(program_.instructions[function_.begin + i]); });
  }

 private:
  VmStep step(std::uint32_t i) const {
    const relay::Instruction& instruction = program_.instructions[function_.begin + i];
    switch (instruction.opcode) {
      case relay::Opcode::ret:
      case relay::Opcode::fatal:
        return {VmStep::Kind::end};
      case relay::Opcode::jump:
        return {VmStep::Kind::jump, instruction.c - function_.begin};
      case relay::Opcode::branch:
        return {VmStep::Kind::branch, instruction.c - function_.begin,
                instruction.first - function_.begin};
      default:
        return {};
    }
  }

  void set(std::uint32_t reg, FlowValue value) {
    if (reg != relay::no_register) flow_.set(reg, std::move(value));
  }

  void add_result(const relay::Instruction& at, FlowNode node,
                  std::span<const std::uint32_t> registers) {
    const std::string type = node.lines.empty() ? std::string() : node.lines.front();
    const std::uint32_t index = flow_.add_reader(std::move(node), registers);
    FlowValue value{.type = type};
    if (index != FlowBuilder::none) value.from = {index};
    set(at.dst, std::move(value));
  }

  static FlowNode call_of(std::string_view name) {
    FlowNode node{.title = short_name(name)};
    node.name = shown_text(name);
    node.timed = node.name;
    return node;
  }

  void draw(const relay::Instruction& at) {
    const std::span<const std::uint32_t> registers =
        has_registers(at.opcode) ? program_.registers_of(at) : std::span<const std::uint32_t>();
    switch (at.opcode) {
      case relay::Opcode::move:
      case relay::Opcode::get_field:
      case relay::Opcode::get_tag:
        return set(at.dst, flow_.value(at.a));
      case relay::Opcode::shape_of: {
        FlowValue value = flow_.value(at.a);
        value.type.clear();
        return set(at.dst, std::move(value));
      }
      case relay::Opcode::alloc_data:
        return set(at.dst, flow_.values(registers));
      case relay::Opcode::alloc_tensor:
        return set(at.dst, {.type = shown_text(type_text(at.dtype, program_.extents_of(at)), 60)});
      case relay::Opcode::alloc_tensor_reg:
        return set(at.dst, {.type = concat(dtype_text(at.dtype), "[?]")});
      case relay::Opcode::load_const:
      case relay::Opcode::load_integer:
      case relay::Opcode::alloc_storage:
      case relay::Opcode::kill_register:
        return set(at.dst, {});
      case relay::Opcode::invoke:
        return add_result(at, call_of(program_.functions[at.a].name), registers);
      case relay::Opcode::alloc_closure: {
        FlowNode node = call_of(program_.functions[at.a].name);
        node.kind = FlowNode::Kind::light;
        node.title = shown_text(concat("closure ", node.title), 40);
        node.timed.clear();
        return add_result(at, std::move(node), registers);
      }
      case relay::Opcode::invoke_closure: {
        std::vector<std::uint32_t> all{at.a};
        all.insert(all.end(), registers.begin(), registers.end());
        return add_result(at, {.title = "call of a closure"}, all);
      }
      case relay::Opcode::invoke_packed:
        return draw_kernel(at, registers);
      case relay::Opcode::reshape_tensor:
        return add_result(at, {.kind = FlowNode::Kind::light, .title = "reshape"},
                          std::span(&at.a, 1));
      case relay::Opcode::device_copy: {
        FlowNode node{.kind = FlowNode::Kind::light, .title = "copy"};
        const std::string type = flow_.value(at.a).type;
        if (!type.empty()) node.lines.push_back(type);
        node.lines.push_back(concat("device ", at.b, " to device ", at.c));
        return add_result(at, std::move(node), std::span(&at.a, 1));
      }
      case relay::Opcode::branch: {
        const std::uint32_t compared[] = {at.a, at.b};
        return flow_.add_choice({.kind = FlowNode::Kind::choice, .title = "if"},
                                flow_.values(compared));
      }
      case relay::Opcode::ret: {
        flow_.add_reader({.kind = FlowNode::Kind::output, .title = "return"}, std::span(&at.a, 1));
        return;
      }
      case relay::Opcode::fatal:
        flow_.add({.kind = FlowNode::Kind::output, .title = "fatal"});
        return;
      case relay::Opcode::jump:
        return;
    }
  }

  static bool has_registers(relay::Opcode opcode) {
    const auto& operands = relay::opcode_table[static_cast<std::size_t>(opcode)].operands;
    return std::ranges::find(operands, relay::Operand::registers) != operands.end();
  }

  void draw_kernel(const relay::Instruction& at, std::span<const std::uint32_t> registers) {
    FlowNode node = call_of(program_.packed_functions[at.a]);
    const auto outputs = registers.last(at.b);
    constexpr std::size_t max_types = 4;
    for (const std::uint32_t reg : outputs.first(std::min(outputs.size(), max_types))) {
      const std::string& type = flow_.value(reg).type;
      if (!type.empty()) node.lines.push_back(type);
    }
    if (outputs.size() > max_types)
      node.lines.push_back(concat("and ", outputs.size() - max_types, " more"));
    const std::uint32_t index =
        flow_.add_reader(std::move(node), registers.first(registers.size() - at.b));
    if (index == FlowBuilder::none) return;
    for (const std::uint32_t reg : outputs) {
      FlowValue value = flow_.value(reg);
      value.from = {index};
      set(reg, std::move(value));
    }
  }

  const relay::Program& program_;
  const relay::FunctionCode& function_;
  VmFlow flow_;
};

}  // namespace

Result<std::vector<Flow>> relay_flows(const Entry& entry, const FlowLimits& limits) {
  GANTRY_TRY(const RelayCode code, read_relay_payload(entry.payload));
  GANTRY_TRY(const relay::Program program, relay::decode(code));
  std::vector<Flow> flows;
  FlowLimits left = limits;
  for (const relay::FunctionCode& function : program.functions) {
    if (flows.size() == limits.flows) break;
    FlowBuilder builder(function.name, left);
    builder.set_timed(shown_text(function.name));
    RelayFlow(program, function, builder).run();
    flows.push_back(std::move(builder).finish());
    left.use(flows.back());
  }
  return flows;
}

}  // namespace gantry::cli
