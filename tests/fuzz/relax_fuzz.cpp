// SPDX-License-Identifier: Apache-2.0
//
// A Relax executable: read, verified and listed. What the verifier accepts is checked again, word
// by word, in its decoded form.
//
//     byte 0   numbering of the constants, modulo 4; 0: unknown
//     rest     the payload
#include "core/format/vm_details.hpp"
#include "plugins/relax/listing.hpp"
#include "tests/fuzz/payload_frame.hpp"

#include <algorithm>
#include <optional>

using namespace gantry;
using namespace gantry::fuzz;
using relax::ArgumentKind;
using relax::Executable;
using relax::FunctionKind;
using relax::Instruction;
using relax::Opcode;
using relax::Program;

namespace {

// A constant of 8 bytes is a variant of 80.
constexpr Cost read_cost{.bytes_per_input_byte = 16};
// A word is a name of 128 characters, each an escaped byte; texts double when they grow.
constexpr Cost list_cost{.bytes_per_input_byte = 512};

void expect_views(const Executable& executable, std::span<const std::uint8_t> bytes) {
  const auto expect_text = [&](std::string_view text) {
    expect_lies_in(bytes, text.data(), text.size(), "a text is inside the payload");
  };
  for (std::size_t i = 0; i < executable.functions.size(); ++i) {
    const relax::Function& function = executable.functions[i];
    expect_text(function.name);
    expect(executable.find(function.name) == i, "a function is found by its name");
    for (const std::string_view name : function.parameter_names) expect_text(name);
  }
  for (const relax::MemoryScope& scope : executable.memory_scopes) {
    expect_text(scope.scope);
    expect(scope.constant < executable.constants.size(), "the constant of a scope exists");
  }
  for (const relax::Constant& constant : executable.constants) {
    if (const auto* array = std::get_if<ArrayRecord>(&constant)) {
      expect_lies_in(bytes, array->data.data(), array->data.size(), "data are inside the payload");
      expect(array->data.empty() || array->data.data() == bytes.data() + array->data_at,
             "data are at their offset");
    } else if (const auto* text = std::get_if<std::string_view>(&constant)) {
      expect_text(*text);
    }
  }
}

void expect_valid_call(const Executable& executable, const Program& program,
                       const relax::Function& caller, const Instruction& call) {
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
    expect(argument.kind != ArgumentKind::constant || value < executable.constants.size(),
           "the constant of an argument exists");
    expect(argument.kind != ArgumentKind::function || value < program.functions.size(),
           "the function of an argument exists");
  }
}

void expect_valid_function(const Executable& executable, const Program& program,
                           std::size_t index) {
  const relax::Function& function = executable.functions[index];
  const relax::FunctionCode& code = program.functions[index];
  expect(code.kind == function.kind && code.parameter_count <= code.register_count,
         "parameters are registers");
  if (code.kind != FunctionKind::bytecode) return;
  expect(code.first_instruction == function.begin && function.begin < function.end &&
             function.end <= program.instructions.size(),
         "a function has instructions");
  for (std::uint32_t i = function.begin; i < function.end; ++i) {
    const Instruction& instruction = program.instructions[i];
    const bool is_jump = instruction.opcode == Opcode::jump || instruction.opcode == Opcode::branch;
    const bool may_be_void =
        instruction.opcode == Opcode::call || instruction.opcode == Opcode::ret;
    expect(instruction.opcode == Opcode::jump || instruction.reg < code.register_count ||
               (may_be_void && instruction.reg == relax::no_register),
           "a register exists");
    expect(!is_jump || (instruction.target >= function.begin && instruction.target < function.end),
           "a jump stays in its function");
    if (instruction.opcode == Opcode::call) {
      expect_valid_call(executable, program, function, instruction);
      expect(instruction.argument_count <= code.max_arguments,
             "no call has more arguments than the maximum");
    }
  }
  const Opcode last = program.instructions[function.end - 1].opcode;
  expect(last == Opcode::ret || last == Opcode::jump, "a function ends with ret or goto");
}

// The core gets the payload without its length. It does not limit what the plugin limits.
void expect_described(std::span<const std::uint8_t> payload, std::uint64_t code_at,
                      Numbering numbering) {
  DetailSink sink;
  sink.max = UINT64_MAX;
  const ByteReader code(payload.subspan(code_at), code_at);
  expect(describe_virtual_machine("relax.VMExecutable", code,
                                  static_cast<ExporterFacts::Numbering>(numbering), sink)
             .ok(),
         "the core accepts what the plugin accepts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({data, size});
  const auto numbering = static_cast<Numbering>(choices.below(4));
  gantry_blob blob = test::payload_blob(choices.rest(), -1);
  blob.numbering = static_cast<std::uint32_t>(numbering);
  const std::span<const std::uint8_t> bytes = bytes_in(blob);

  std::optional<Executable> executable;
  std::optional<Program> program;
  {
    const Budget budget(size, read_cost);
    std::uint64_t consumed = 0;
    auto read = test::read_whole(blob, relax::read_executable, &consumed);
    if (!read.ok()) return expect_refusal(read.error(), bytes.size());
    expect(consumed == bytes.size(), "an exact payload is consumed completely");
    expect_written(bytes, [&](const Sink& sink) { return write_executable(*read, sink); });
    auto decoded = relax::decode(*read);
    if (!decoded.ok()) expect_refusal(decoded.error(), bytes.size());
    if (decoded.ok()) program = std::move(*decoded);
    executable = std::move(*read);
  }
  expect_views(*executable, bytes);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  // A payload that begins with its length is code after it.
  const bool is_sized = length == bytes.size() - sizeof length;
  expect_described(bytes, is_sized ? sizeof length : 0,
                   is_sized || numbering != Numbering::unknown ? numbering : Numbering::ffi);
  if (!program) return 0;

  for (std::size_t i = 0; i < program->functions.size(); ++i) {
    expect_valid_function(*executable, *program, i);
  }
  const Budget budget(size, list_cost);
  const std::string listed = relax::listing(*executable, *program);
  const auto lines = static_cast<std::size_t>(std::ranges::count(listed, '\n'));
  expect(lines == 2 * executable->functions.size() + program->instructions.size(),
         "each instruction and each function has a line");
  return 0;
}
