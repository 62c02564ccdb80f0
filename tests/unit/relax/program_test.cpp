// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relax_program.hpp"

#include "plugins/relax/listing.hpp"
#include "plugins/relax/loaded.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/relax_code_in.hpp"
#include "tests/unit/relax/golden.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <tuple>

namespace gantry::relax {

bool operator==(const Argument& a, const Argument& b) {
  return std::tie(a.kind, a.value) == std::tie(b.kind, b.value);
}
void PrintTo(const Argument& argument, std::ostream* out) {
  *out << static_cast<int>(argument.kind) << ':' << argument.value;
}

namespace test {
namespace {

using gantry::test::relax_argument;
using gantry::test::relax_constant;
using gantry::test::relax_function;
using gantry::test::relax_immediate;
using gantry::test::relax_register;
using gantry::test::relax_vm;
using gantry::test::relax_void;
using gantry::test::RelaxAssembler;
using gantry::test::RelaxPayload;
using gantry::test::small_relax_code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<Program> decoded(const RelaxPayload& payload) {
  GANTRY_TRY(const RelaxCode code, gantry::test::relax_code_in(payload.blob()));
  return decode(code);
}

// Instructions 0 to 5 are those of "main", 6 and 7 those of "twice".
//
//     word  0   main:  call f(x, 5, constant 0, function 3, none, vm) -> 1
//          10          if 1, else + 3
//          13          call twice(x) -> 1
//          18          goto + 2
//          20          call step(x) -> void
//          25          ret 1
//          27   twice: call f() -> 0
//          31          ret void
RelaxAssembler branching_code() {
  RelaxAssembler code;
  const auto f = code.packed("f");
  code.function("main", {"x"}, 2);
  code.text("constant");
  code.call(1, f,
            {relax_register(0), relax_immediate(5), relax_constant(0), relax_function(3),
             relax_register(relax_void), relax_register(relax_vm)});
  code.branch(1, 3);
  code.call(1, 2, {relax_register(0)});
  code.jump(2);
  code.call(relax_void, 3, {relax_register(0)});
  code.ret(1);
  code.function("twice", {"x"}, 1);
  code.call(0, f, {});
  code.ret(relax_void);
  code.vm_tir("step", 1, 2);
  return code;
}

class GoldenProgram : public ::testing::TestWithParam<GoldenExecutable> {};

TEST_P(GoldenProgram, IsValid) {
  const RelaxCode code = gantry::test::relax_code_in(GetParam().blob()).value();

  const auto program = decode(code);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->instructions.size(), code.instruction_offsets.size());
  EXPECT_EQ(program->functions.size(), code.functions.size());
}

INSTANTIATE_TEST_SUITE_P(Relax, GoldenProgram, ::testing::ValuesIn(golden_executables()),
                         [](const auto& test) { return test.param.name; });

TEST(Program, HasTheInstructionsOfTheFile) {
  const Program program = decoded(branching_code().payload()).value();

  std::vector<Opcode> opcodes;
  std::vector<std::uint32_t> registers;
  for (const Instruction& instruction : program.instructions) {
    opcodes.push_back(instruction.opcode);
    if (instruction.opcode != Opcode::jump) registers.push_back(instruction.reg);
  }
  EXPECT_THAT(opcodes, ElementsAre(Opcode::call, Opcode::branch, Opcode::call, Opcode::jump,
                                   Opcode::call, Opcode::ret, Opcode::call, Opcode::ret));
  EXPECT_THAT(registers, ElementsAre(1, 1, 1, no_register, 1, 0, no_register));
}

TEST(Program, HasTheArgumentsOfCalls) {
  const Program program = decoded(branching_code().payload()).value();

  EXPECT_THAT(program.arguments_of(program.instructions[0]),
              ElementsAre(Argument{ArgumentKind::reg, 0}, Argument{ArgumentKind::immediate, 5},
                          Argument{ArgumentKind::constant, 0}, Argument{ArgumentKind::function, 3},
                          Argument{ArgumentKind::none}, Argument{ArgumentKind::vm}));
  EXPECT_THAT(program.arguments_of(program.instructions[2]),
              ElementsAre(Argument{ArgumentKind::reg, 0}));
  EXPECT_THAT(program.arguments_of(program.instructions[6]), IsEmpty());
}

TEST(Program, HasCalleesAndJumpsByIndex) {
  const Program program = decoded(branching_code().payload()).value();

  EXPECT_EQ(program.instructions[0].target, 0u);
  EXPECT_EQ(program.instructions[1].target, 4u);
  EXPECT_EQ(program.instructions[2].target, 2u);
  EXPECT_EQ(program.instructions[3].target, 5u);
  EXPECT_EQ(program.instructions[4].target, 3u);
}

TEST(Program, HasWhatACallRequiresOfEachFunction) {
  const Program program = decoded(branching_code().payload()).value();

  ASSERT_EQ(program.functions.size(), 4u);
  EXPECT_EQ(program.functions[0].kind, FunctionKind::packed);
  const FunctionCode& main = program.functions[1];
  EXPECT_EQ(main.kind, FunctionKind::bytecode);
  EXPECT_EQ(main.parameter_count, 1u);
  EXPECT_EQ(main.register_count, 2u);
  EXPECT_EQ(main.first_instruction, 0u);
  EXPECT_EQ(main.max_arguments, 6u);
  EXPECT_EQ(program.functions[2].first_instruction, 6u);
  EXPECT_EQ(program.functions[2].max_arguments, 0u);
  EXPECT_EQ(program.functions[3].kind, FunctionKind::vm_tir);
  EXPECT_EQ(program.functions[3].register_count, 2u);
}

// A file may state any number of registers.
TEST(Program, GivesNoPlaceToRegistersThatNoInstructionNames) {
  RelaxAssembler code;
  const auto f = code.packed("f");
  code.function("main", {"x"}, std::int64_t{max_registers});
  code.call(1000, f, {relax_register(0), relax_register(1048575)});
  code.branch(1048575, 1);
  code.ret(1000);
  const RelaxPayload payload = code.payload();
  const RelaxCode read = gantry::test::relax_code_in(payload.blob()).value();

  const Program program = decode(read).value();

  EXPECT_EQ(program.functions[1].register_count, 3u);
  EXPECT_EQ(program.instructions[0].reg, 1u);
  EXPECT_THAT(program.arguments_of(program.instructions[0]),
              ElementsAre(Argument{ArgumentKind::reg, 0}, Argument{ArgumentKind::reg, 2}));
  EXPECT_EQ(program.instructions[1].reg, 2u);
  EXPECT_EQ(program.instructions[2].reg, 1u);
  EXPECT_EQ(listing(program, 1),
            "@main:\n"
            "  call  f                in: %0, %1048575 dst: %1000\n"
            "  If    %1048575, 1\n"
            "  ret   %1000\n\n");
}

TEST(Program, HasImmediatesOf56Bits) {
  constexpr std::int64_t max = (std::int64_t{1} << 55) - 1;
  RelaxAssembler code;
  const auto f = code.packed("f");
  code.function("main", {}, 0);
  code.call(relax_void, f, {relax_immediate(max), relax_immediate(-max - 1), relax_immediate(-1)});
  code.ret(relax_void);

  const Program program = decoded(code.payload()).value();

  EXPECT_THAT(program.arguments, ElementsAre(Argument{ArgumentKind::immediate, max},
                                             Argument{ArgumentKind::immediate, -max - 1},
                                             Argument{ArgumentKind::immediate, -1}));
}

TEST(Program, MayBeEmpty) {
  RelaxAssembler code;
  code.packed("f");
  code.vm_tir("g", 1, 2);

  const auto empty = decoded(code.payload());

  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_THAT(empty->instructions, IsEmpty());
  EXPECT_EQ(empty->functions.size(), 2u);
}

TEST(Program, MayHaveFunctionsInAnotherOrderThanTheTable) {
  RelaxAssembler code = branching_code();
  std::swap(code.functions[1].begin, code.functions[2].begin);
  std::swap(code.functions[1].end, code.functions[2].end);
  std::swap(code.functions[1].registers, code.functions[2].registers);

  const auto swapped = decoded(code.payload());

  ASSERT_TRUE(swapped.ok()) << swapped.error().message;
  EXPECT_EQ(swapped->functions[1].first_instruction, 6u);
  EXPECT_EQ(swapped->functions[2].first_instruction, 0u);
}

TEST(Program, MayJumpToBothEndsOfItsFunction) {
  for (const std::int64_t distance : {-3, 2}) {
    RelaxAssembler code = branching_code();
    code.words[19] = distance;

    const auto jump = decoded(code.payload());

    ASSERT_TRUE(jump.ok()) << jump.error().message;
    EXPECT_EQ(jump->instructions[3].target, 3 + distance);
  }
}

TEST(Program, MayEndWithAJump) {
  RelaxAssembler code;
  code.function("loop", {}, 0);
  code.jump(0);

  const auto loop = decoded(code.payload());

  ASSERT_TRUE(loop.ok()) << loop.error().message;
  EXPECT_EQ(loop->instructions[0].target, 0u);
}

// ---- refusals

// A change of branching_code(), and the error.
struct BadProgram {
  std::string name;
  std::function<void(RelaxAssembler&)> change;
  std::function<std::uint64_t(const RelaxPayload&)> offset;
  std::string message;
  friend void PrintTo(const BadProgram& bad, std::ostream* out) { *out << bad.name; }
};

class ProgramRefuses : public ::testing::TestWithParam<BadProgram> {};

TEST_P(ProgramRefuses, TheChangedWord) {
  RelaxAssembler code = branching_code();
  GetParam().change(code);
  const RelaxPayload payload = code.payload();
  const RelaxCode read = gantry::test::relax_code_in(payload.blob()).value();

  const auto refused = decode(read);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, GetParam().message);
  EXPECT_EQ(refused.error().code, Code::malformed);
  EXPECT_EQ(refused.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(refused.error().offset, GetParam().offset(payload));
}

// Sets one word and expects the error at it, in function "main".
BadProgram word(std::string name, std::size_t at, std::int64_t value, const std::string& message) {
  return {std::move(name), [=](RelaxAssembler& code) { code.words[at] = value; },
          [=](const RelaxPayload& payload) { return payload.word_at(at); },
          message + "\n  in function 1 \"main\""};
}

INSTANTIATE_TEST_SUITE_P(
    Words, ProgramRefuses,
    ::testing::Values(
        word("OpcodeBelow", 10, 0, "instruction 1 has opcode 0, range is 1 to 4"),
        word("OpcodeAbove", 10, 5, "instruction 1 has opcode 5, range is 1 to 4"),
        word("OpcodeOf64Bits", 10, (std::int64_t{1} << 32) + 2,
             "instruction 1 has opcode 4294967298, range is 1 to 4"),
        word("DestinationBelow", 1, -1,
             "instruction 0 has register -1 as its destination, register count is 2"),
        word("DestinationAbove", 1, 2,
             "instruction 0 has register 2 as its destination, register count is 2"),
        word("DestinationVm", 1, relax_vm,
             "instruction 0 has register 18014398509481985 as its destination, register count is "
             "2"),
        word("CalleeBelow", 2, -1,
             "instruction 0 has function -1 as its callee, function count is 4"),
        word("CalleeAbove", 2, 4,
             "instruction 0 has function 4 as its callee, function count is 4"),
        word("ArgumentCountBelow", 3, -1, "instruction 0 has -1 arguments, words left are 29"),
        word("ArgumentCountAbove", 3, 30, "instruction 0 has 30 arguments, words left are 29"),
        word("ArgumentKind", 4, relax_argument(4, 0),
             "instruction 0 has an argument of kind 4, range is 0 to 3"),
        word("ArgumentKindOf8Bits", 4, relax_argument(255, 0),
             "instruction 0 has an argument of kind 255, range is 0 to 3"),
        word("ArgumentRegisterBelow", 4, relax_register(-1),
             "instruction 0 has register -1 as its argument, register count is 2"),
        word("ArgumentRegisterAbove", 4, relax_register(2),
             "instruction 0 has register 2 as its argument, register count is 2"),
        word("ArgumentRegisterAfterVm", 4, relax_register(relax_vm + 1),
             "instruction 0 has register 18014398509481986 as its argument, register count is 2"),
        word("ArgumentConstantBelow", 6, relax_constant(-1),
             "instruction 0 has constant -1 as its argument, constant count is 1"),
        word("ArgumentConstantAbove", 6, relax_constant(1),
             "instruction 0 has constant 1 as its argument, constant count is 1"),
        word("ArgumentFunctionBelow", 7, relax_function(-1),
             "instruction 0 has function -1 as its argument, function count is 4"),
        word("ArgumentFunctionAbove", 7, relax_function(4),
             "instruction 0 has function 4 as its argument, function count is 4"),
        word("ConditionBelow", 11, -1,
             "instruction 1 has register -1 as its condition, register count is 2"),
        word("ConditionAbove", 11, 2,
             "instruction 1 has register 2 as its condition, register count is 2"),
        word("ConditionVoid", 11, relax_void,
             "instruction 1 has register 18014398509481984 as its condition, register count is 2"),
        word("BranchBefore", 12, -2, "instruction 1 jumps by -2, range in its function is -1 to 4"),
        word("BranchBehind", 12, 5, "instruction 1 jumps by 5, range in its function is -1 to 4"),
        word("JumpBefore", 19, -4, "instruction 3 jumps by -4, range in its function is -3 to 2"),
        word("JumpBehind", 19, 3, "instruction 3 jumps by 3, range in its function is -3 to 2"),
        word("JumpFar", 19, INT64_MIN,
             "instruction 3 jumps by -9223372036854775808, range in its function is -3 to 2"),
        word("ResultBelow", 26, -1,
             "instruction 5 has register -1 as its result, register count is 2"),
        word("ResultAbove", 26, 2,
             "instruction 5 has register 2 as its result, register count is 2"),
        word("ResultVm", 26, relax_vm,
             "instruction 5 has register 18014398509481985 as its result, register count is 2")),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Structure, ProgramRefuses,
    ::testing::Values(
        BadProgram{"FewArgumentsOfBytecode",
                   [](auto& code) {
                     code.functions[2].parameters = 0;
                     code.functions[2].names.clear();
                   },
                   [](const auto& payload) { return payload.word_at(15); },
                   "instruction 2 calls function 2 \"twice\" with 1 arguments, expected 0\n  in "
                   "function 1 \"main\""},
        BadProgram{"FewArgumentsOfVmTir",
                   [](auto& code) {
                     code.functions[3].parameters = 2;
                     code.functions[3].registers = 3;
                   },
                   [](const auto& payload) { return payload.word_at(22); },
                   "instruction 4 calls function 3 \"step\" with 1 arguments, expected 2\n  in "
                   "function 1 \"main\""},
        BadProgram{"ArgumentsUpToTheEnd",
                   [](auto& code) {
                     code.words[30] = 2;
                     code.words[31] = relax_void;
                   },
                   [](const auto& payload) { return payload.offset_at(7); },
                   "instruction 7 begins at word 31, the previous one ends at 33\n  in function 2 "
                   "\"twice\""},
        BadProgram{"OffsetInsideAnInstruction", [](auto& code) { code.instruction_offsets[1] = 9; },
                   [](const auto& payload) { return payload.offset_at(1); },
                   "instruction 1 begins at word 9, the previous one ends at 10\n  in function 1 "
                   "\"main\""},
        BadProgram{"OffsetAfterAGap", [](auto& code) { code.instruction_offsets[0] = 1; },
                   [](const auto& payload) { return payload.offset_at(0); },
                   "instruction 0 begins at word 1, the previous one ends at 0\n  in function 1 "
                   "\"main\""},
        BadProgram{"OffsetBelow", [](auto& code) { code.instruction_offsets[2] = -13; },
                   [](const auto& payload) { return payload.offset_at(2); },
                   "instruction 2 begins at word -13, the previous one ends at 13\n  in function 1 "
                   "\"main\""},
        BadProgram{"OperandMissing", [](auto& code) { code.words.pop_back(); },
                   [](const auto& payload) { return payload.offset_at(7); },
                   "instruction 7: the code ends before its result\n  in function 2 \"twice\""},
        BadProgram{"WordsBehind", [](auto& code) { code.words.push_back(2); },
                   [](const auto& payload) { return payload.word_at(33); },
                   "code has 34 words, its instructions end at 33"},
        BadProgram{"InstructionsBehind",
                   [](auto& code) {
                     code.functions[2].end = 7;
                     code.words[27] = 2;
                     code.words[28] = 0;
                     code.words[29] = 2;
                     code.words[30] = 0;
                     code.instruction_offsets[7] = 29;
                   },
                   [](const auto& payload) { return payload.offset_at(7); },
                   "code has 8 instructions, its functions end at 7"},
        BadProgram{"InstructionsWithoutAFunction",
                   [](auto& code) { code.functions[1].kind = code.functions[2].kind = 0; },
                   [](const auto& payload) { return payload.offset_at(0); },
                   "code has 8 instructions, its functions end at 0"},
        BadProgram{"MoreInstructionsThanWords",
                   [](auto& code) { code.instruction_offsets.resize(17); },
                   [](const auto& payload) { return payload.offset_at(0); },
                   "code has 17 instructions in 33 words, each takes at least 2"},
        BadProgram{"Overlap", [](auto& code) { code.functions[2].begin = 5; },
                   [](const auto& payload) { return payload.field_at(2, 0); },
                   "its first instruction is 5, the previous function ends at 6\n  in function 2 "
                   "\"twice\""},
        BadProgram{"SameInstructions",
                   [](auto& code) {
                     code.functions[2].begin = 0;
                     code.functions[2].end = 6;
                   },
                   [](const auto& payload) { return payload.field_at(2, 0); },
                   "its first instruction is 0, the previous function ends at 6\n  in function 2 "
                   "\"twice\""},
        BadProgram{"Gap", [](auto& code) { code.functions[2].begin = 7; },
                   [](const auto& payload) { return payload.field_at(2, 0); },
                   "its first instruction is 7, the previous function ends at 6\n  in function 2 "
                   "\"twice\""},
        BadProgram{"EndsWithACall",
                   [](auto& code) {
                     code.words[19] = 1;
                     code.functions[1].end = 5;
                     code.functions[2].begin = 5;
                   },
                   [](const auto& payload) { return payload.word_at(20); },
                   "its last instruction, 4, is a call, expected ret or goto\n  in function 1 "
                   "\"main\""},
        BadProgram{"EndsWithABranch",
                   [](auto& code) {
                     code.functions[1].end = 2;
                     code.functions[2].begin = 2;
                     code.words[12] = 0;
                   },
                   [](const auto& payload) { return payload.word_at(10); },
                   "its last instruction, 1, is an if, expected ret or goto\n  in function 1 "
                   "\"main\""}),
    [](const auto& test) { return test.param.name; });

// The kinds of a call's callee, and a packed function takes any number of arguments.
TEST(Program, MayCallPackedFunctionsWithAnyNumberOfArguments) {
  RelaxAssembler code;
  const auto f = code.packed("f");
  code.function("main", {}, 0);
  for (std::size_t count = 0; count < 4; ++count) {
    code.call(relax_void, f, std::vector(count, relax_immediate(1)));
  }
  code.ret(relax_void);

  const auto calls = decoded(code.payload());

  ASSERT_TRUE(calls.ok()) << calls.error().message;
  EXPECT_EQ(calls->arguments.size(), 6u);
  EXPECT_EQ(calls->functions[1].max_arguments, 3u);
}

// ---- functions

TEST(Program, FindsFunctionsByName) {
  const RelaxPayload payload = small_relax_code().payload();

  const Program program = decoded(payload).value();

  EXPECT_EQ(program.find("vm.builtin.copy"), 0u);
  EXPECT_EQ(program.find("main"), 1u);
  EXPECT_EQ(program.find("step"), 2u);
  for (const char* const absent : {"", "mai", "main2", "zzz"}) {
    EXPECT_EQ(program.find(absent), std::nullopt) << absent;
  }
}

TEST(Program, MayHaveFunctionsWithoutParameterNames) {
  RelaxAssembler code = small_relax_code();
  code.functions[1].names.clear();
  const RelaxPayload payload = code.payload();

  const auto program = decoded(payload);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->functions[1].parameter_count, 2u);
  EXPECT_THAT(program->functions[1].parameter_names, IsEmpty());
}

TEST(Program, IgnoresTheNumbersOfPackedFunctions) {
  RelaxAssembler code = small_relax_code();
  code.functions[0] = {0, "vm.builtin.copy", -5, -1, -2, -3, {"x"}};
  const RelaxPayload payload = code.payload();

  const auto program = decoded(payload);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->functions[0].register_count, 0u);
  EXPECT_EQ(program->functions[0].parameter_count, 0u);
}

TEST(Program, MayHaveAsManyRegistersAsTheLimit) {
  RelaxAssembler code = small_relax_code();
  code.functions[1].registers = static_cast<std::int64_t>(max_registers);
  code.functions[2].registers = static_cast<std::int64_t>(max_registers);
  const RelaxPayload payload = code.payload();

  const auto program = decoded(payload);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->functions[2].register_count, max_registers);
}

// Records of vectors may omit the lanes: the tensor would extend beyond the data.
TEST(Program, IsRejectedWithAnArrayOfFewerBytesThanItsTypeHas) {
  RelaxAssembler code;
  const std::uint8_t data[8] = {};
  code.array({2, 32, 4}, {2}, data);

  const auto program = decoded(code.payload());

  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, Code::malformed);
  EXPECT_EQ(program.error().message,
            "array is float32x4[2] in 8 bytes, expected 32\n  in constant 0");
}

// Changes of small_relax_code().
class FunctionRefuses : public ::testing::TestWithParam<BadProgram> {};

TEST_P(FunctionRefuses, TheChangedField) {
  RelaxAssembler code = small_relax_code();
  GetParam().change(code);
  const RelaxPayload payload = code.payload();
  const RelaxCode read = gantry::test::relax_code_in(payload.blob()).value();

  const auto refused = decode(read);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, GetParam().message);
  EXPECT_EQ(refused.error().code, Code::malformed);
  EXPECT_EQ(refused.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(refused.error().offset, GetParam().offset(payload));
}

// Offset of a field of function 1, "main", or function 2, "step".
auto field(std::size_t function, std::size_t index) {
  return [=](const RelaxPayload& payload) { return payload.field_at(function, index); };
}

INSTANTIATE_TEST_SUITE_P(
    Relax, FunctionRefuses,
    ::testing::Values(
        BadProgram{"BeginBelow", [](auto& code) { code.functions[1].begin = -1; }, field(1, 0),
                   "instructions are -1 up to 2, expected a part of 0 up to 2\n  in function 1 "
                   "\"main\""},
        BadProgram{"Empty", [](auto& code) { code.functions[1].begin = 2; }, field(1, 0),
                   "instructions are 2 up to 2, expected a part of 0 up to 2\n  in function 1 "
                   "\"main\""},
        BadProgram{"EndAbove", [](auto& code) { code.functions[1].end = 3; }, field(1, 0),
                   "instructions are 0 up to 3, expected a part of 0 up to 2\n  in function 1 "
                   "\"main\""},
        BadProgram{"RegistersBelow", [](auto& code) { code.functions[1].registers = -1; },
                   field(1, 3),
                   "register count is -1, range is 0 to 1048576\n  in function 1 \"main\""},
        BadProgram{"RegistersAbove", [](auto& code) { code.functions[1].registers = 1048577; },
                   field(1, 3),
                   "register count is 1048577, range is 0 to 1048576\n  in function 1 \"main\""},
        BadProgram{"RegistersWithoutResult", [](auto& code) { code.functions[2].registers = 0; },
                   field(2, 3),
                   "register count is 0, range is 1 to 1048576\n  in function 2 \"step\""},
        BadProgram{"ParametersBelow", [](auto& code) { code.functions[2].parameters = -1; },
                   field(2, 2),
                   "parameter count is -1, range is 0 to 2, register count is 3\n  in function 2 "
                   "\"step\""},
        BadProgram{"ParametersAbove", [](auto& code) { code.functions[1].parameters = 4; },
                   field(1, 2),
                   "parameter count is 4, range is 0 to 3, register count is 3\n  in function 1 "
                   "\"main\""},
        BadProgram{"ParametersWithoutResult", [](auto& code) { code.functions[2].parameters = 3; },
                   field(2, 2),
                   "parameter count is 3, range is 0 to 2, register count is 3\n  in function 2 "
                   "\"step\""},
        BadProgram{"FewParameterNames", [](auto& code) { code.functions[1].names.pop_back(); },
                   field(1, 4),
                   "parameter names are 1, expected none or 2\n  in function 1 \"main\""},
        BadProgram{"ManyParameterNames",
                   [](auto& code) {
                     code.functions[2].names = {"a", "b", "c"};
                   },
                   field(2, 4),
                   "parameter names are 3, expected none or 2\n  in function 2 \"step\""},
        BadProgram{"SameName", [](auto& code) { code.functions[2].name = "main"; },
                   [](const auto& payload) { return payload.function_at[2]; },
                   "name is that of function 1\n  in function 2 \"main\""},
        BadProgram{"ScopeBelow", [](auto& code) { code.scopes[0].first = -1; },
                   [](const auto& payload) { return payload.scopes_at + 8; },
                   "memory scope \"global.texture\" is of constant -1, constant count is 6"},
        BadProgram{"ScopeAbove", [](auto& code) { code.scopes[0].first = 6; },
                   [](const auto& payload) { return payload.scopes_at + 8; },
                   "memory scope \"global.texture\" is of constant 6, constant count is 6"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace test
}  // namespace gantry::relax
