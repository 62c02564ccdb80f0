// SPDX-License-Identifier: Apache-2.0
//
// A Relax executable: read, verified and listed. What the verifier accepts is checked again, word
// by word, in its decoded form.
//
//     byte 0   numbering of the constants, modulo 4; 0: unknown
//     rest     the payload
#include "core/formats/vm_details.hpp"
#include "plugins/relax/listing.hpp"
#include "plugins/relax/loaded.hpp"
#include "tests/fuzz/payload_frame.hpp"
#include "tests/support/relax_code_in.hpp"

#include <algorithm>
#include <optional>
#include <variant>

using namespace gantry;
using namespace gantry::fuzz;
using relax::ArgumentKind;
using relax::FunctionKind;
using relax::Instruction;
using relax::Opcode;
using relax::Program;

namespace {

// A constant of 8 bytes is a value of 80 and an offset.
constexpr Cost read_cost{.bytes_per_input_byte = 16};
// A word is a name of 128 characters, each an escaped byte; texts double when they grow.
constexpr Cost list_cost{.bytes_per_input_byte = 512};

void expect_views(const RelaxCode& code, std::span<const std::uint8_t> bytes) {
  const auto expect_text = [&](std::string_view text) {
    expect_lies_in(bytes, text.data(), text.size(), "a text is inside the payload");
  };
  for (const RelaxFunction& function : code.functions) {
    expect_text(function.name);
    for (const std::string_view name : function.parameter_names) expect_text(name);
  }
  for (const RelaxMemoryScope& scope : code.scopes) expect_text(scope.scope);
  for (const VmConstant& constant : code.constants.values) {
    if (const auto* array = std::get_if<ArrayRecord>(&constant)) {
      expect_lies_in(bytes, array->data.data(), array->data.size(), "data are inside the payload");
      expect(array->data.empty() || array->data.data() == bytes.data() + array->data_at,
             "data are at their offset");
    } else if (const auto* text = std::get_if<std::string_view>(&constant)) {
      expect_text(*text);
    }
  }
}

void expect_valid_call(const RelaxCode& code, const Program& program,
                       const relax::FunctionCode& caller, const Instruction& call) {
  expect(call.target < program.functions.size(), "a callee exists");
  const relax::FunctionCode& callee = program.functions[call.target];
  expect(callee.kind == FunctionKind::packed || call.argument_count == callee.parameter_count,
         "a function gets as many arguments as it has parameters");
  expect(call.first_argument + std::uint64_t{call.argument_count} <= program.arguments.size(),
         "arguments exist");
  for (const relax::Argument& argument : program.arguments_of(call)) {
    const auto value = static_cast<std::uint64_t>(argument.value);
    expect(argument.kind != ArgumentKind::reg || value < caller.register_count,
           "the register of an argument exists");
    expect(argument.kind != ArgumentKind::constant || value < code.constants.size(),
           "the constant of an argument exists");
    expect(argument.kind != ArgumentKind::function || value < program.functions.size(),
           "the function of an argument exists");
  }
}

void expect_valid_function(const RelaxCode& code, const Program& program, std::size_t index) {
  const relax::FunctionCode& function = program.functions[index];
  expect(function.kind == code.functions[index].kind &&
             function.parameter_count <= function.register_count,
         "parameters are registers");
  expect(program.find(function.name) == index, "a function is found by its name");
  if (function.kind != FunctionKind::bytecode) return;
  const std::uint32_t begin = function.first_instruction;
  const std::uint64_t end = std::uint64_t{begin} + function.instruction_count;
  expect(begin < end && end <= program.instructions.size(), "a function has instructions");
  for (std::uint32_t i = begin; i < end; ++i) {
    const Instruction& instruction = program.instructions[i];
    const bool is_jump = instruction.opcode == Opcode::jump || instruction.opcode == Opcode::branch;
    const bool may_be_void =
        instruction.opcode == Opcode::call || instruction.opcode == Opcode::ret;
    expect(instruction.opcode == Opcode::jump || instruction.reg < function.register_count ||
               (may_be_void && instruction.reg == relax::no_register),
           "a register exists");
    expect(!is_jump || (instruction.target >= begin && instruction.target < end),
           "a jump stays in its function");
    if (instruction.opcode == Opcode::call) {
      expect_valid_call(code, program, function, instruction);
      expect(instruction.argument_count <= function.max_arguments,
             "no call has more arguments than the maximum");
    }
  }
  const Opcode last = program.instructions[end - 1].opcode;
  expect(last == Opcode::ret || last == Opcode::jump, "a function ends with ret or goto");
}

// The words that refer to constants, which aligning rewrites, are the arguments that the machine has.
void expect_same_uses(const RelaxCode& code, const Program& program) {
  const auto uses = find_constant_uses(code);
  expect(uses.ok(), "the constants of valid code are found");
  std::vector<bool> is_used = program.is_constant_used;
  for (const RelaxMemoryScope& scope : code.scopes)
    is_used[static_cast<std::size_t>(scope.constant)] = true;
  expect(uses->is_used == is_used, "aligning finds the constants that the machine uses");
}

// Displays what was read.
void expect_described(const RelaxCode& code) {
  DetailSink sink;
  sink.max = UINT64_MAX;
  const ByteReader in(code.whole.bytes, code.whole.at);
  expect(describe_virtual_machine("relax.VMExecutable", in, code.numbering, sink).ok(),
         "code that is read is displayed");
  expect(sink.root.find("functions")->children.size() == code.functions.size() &&
             sink.root.find("constants")->children.size() == code.constants.size(),
         "all functions and constants are displayed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({data, size});
  const auto numbering = static_cast<Numbering>(choices.below(4));
  gantry_blob blob = test::payload_blob(choices.rest(), -1);
  blob.numbering = static_cast<std::uint32_t>(numbering);
  const std::span<const std::uint8_t> bytes = bytes_in(blob);

  std::optional<RelaxCode> code;
  std::optional<Program> program;
  {
    const Budget budget(size, read_cost);
    std::uint64_t consumed = 0;
    auto read = test::relax_code_in(blob, &consumed);
    if (!read.ok()) return expect_refusal(read.error(), bytes.size());
    expect(consumed == bytes.size(), "an exact payload is consumed completely");
    auto decoded = relax::decode(*read);
    if (!decoded.ok()) expect_refusal(decoded.error(), bytes.size());
    if (decoded.ok()) program = std::move(*decoded);
    code = std::move(*read);
  }
  expect_views(*code, bytes);
  expect_described(*code);
  if (!program) return 0;
  expect_same_uses(*code, *program);

  for (std::size_t i = 0; i < program->functions.size(); ++i) {
    expect_valid_function(*code, *program, i);
  }
  const Budget budget(size, list_cost);
  const std::string listed = relax::listing(*program);
  const auto lines = static_cast<std::size_t>(std::ranges::count(listed, '\n'));
  expect(lines == 2 * code->functions.size() + program->instructions.size(),
         "each instruction and each function has a line");
  return 0;
}
