// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relay_program.hpp"

#include "core/base/mapped_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "plugins/relay_vm/listing.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relay_assembler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gantry::relay::test {
namespace {

using gantry::test::RelayAssembler;
using gantry::test::RelayPayload;
using ::testing::ElementsAre;

// The decoded program has views of the payload.
struct Decoded {
  RelayPayload payload;
  RelayCode code;
  Result<Program> program;
};
Decoded decoded(const RelayAssembler& code) {
  Decoded made{code.payload(), {}, Program()};
  auto read = read_relay_payload(made.payload.bytes.bytes());
  if (!read.ok()) {
    made.program = read.error();
    return made;
  }
  made.code = std::move(*read);
  made.program = decode(made.code);
  return made;
}

// Every opcode once at least; 0 "main", 1 "twice".
RelayAssembler every_opcode(const std::string& version) {
  RelayAssembler code(version);
  const auto add = code.packed("add");
  const std::int64_t device = code.has_devices ? 0 : 1;
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {"x", "y"}, 12);
  code.move(0, 2);
  code.load_const(constant, 3);
  code.load_integer(8, 4);
  code.alloc_storage(4, dtypes::float32, device, 5);
  code.alloc_tensor(5, 4, dtypes::float32, {2}, 6);
  code.shape_of(6, 7);
  code.alloc_tensor_reg(5, 4, 7, dtypes::float32, 8);
  code.invoke_packed(add, {0, 1, 6});
  code.reshape_tensor(6, 7, 8);
  code.device_copy(6, device, device, 8);
  code.alloc_data(3, {6, 8}, 9);
  code.get_tag(9, 10);
  code.get_field(9, 1, 8);
  code.alloc_closure(1, {6}, 11);
  code.invoke_closure(11, {8}, 8);
  code.invoke(1, {6, 8}, 8);
  code.kill_register(6);
  code.branch(10, 4, 1, 2);
  code.jump(2);
  code.fatal();
  code.ret(8);
  code.function("twice", {"a", "b"}, 2);
  code.ret(1);
  return code;
}

class EveryRelease : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryRelease, IsDecodedAndListedInTheSameWay) {
  const Decoded found = decoded(every_opcode(GetParam()));

  ASSERT_TRUE(found.program.ok()) << found.program.error().message;
  EXPECT_EQ(found.code.version, GetParam());
  const std::string expected =
      "@main(x, y):  12 registers\n"
      "     0  move              $2 = $0\n"
      "     1  load_const        $3 = c[0]\n"
      "     2  load_consti       $4 = 8\n"
      "     3  alloc_storage     $5 = $4 bytes, alignment 64, float32, device 0\n"
      "     4  alloc_tensor      $6 = float32[2] in $5 at $4\n"
      "     5  shape_of          $7 = shape of $6\n"
      "     6  alloc_tensor_reg  $8 = float32[$7] in $5 at $4\n"
      "     7  invoke_packed     add(in: $0, $1; out: $6)\n"
      "     8  reshape_tensor    $8 = $6 as [$7]\n"
      "     9  device_copy       $8 = $6 from device 0 to device 0\n"
      "    10  alloc_data        $9 = tag 3 ($6, $8)\n"
      "    11  get_tag           $10 = tag of $9\n"
      "    12  get_field         $8 = $9[1]\n"
      "    13  alloc_closure     $11 = twice with ($6)\n"
      "    14  invoke_closure    $8 = $11($8)\n"
      "    15  invoke            $8 = twice($6, $8)\n"
      "    16  kill_register     $6\n"
      "    17  if                $10 == $4: 18, else 19\n"
      "    18  goto              20\n"
      "    19  fatal\n"
      "    20  ret               $8\n"
      "\n"
      "@twice(a, b):  2 registers\n"
      "     0  ret               $1\n"
      "\n";
  EXPECT_EQ(listing(*found.program), expected);
}

TEST_P(EveryRelease, IsRefusedIfItIsTruncated) {
  const RelayPayload payload = every_opcode(GetParam()).payload();
  for (std::size_t size = 8; size < payload.bytes.size(); ++size) {
    const auto code = payload.bytes.bytes().first(size).subspan(8);

    const auto read = read_relay_code({code, 8});

    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().code, Code::malformed);
    EXPECT_LE(read.error().offset, size);
  }
}

INSTANTIATE_TEST_SUITE_P(Relay, EveryRelease,
                         ::testing::Values("0.8.0", "0.9.0", "0.10.0", "0.11.1", "0.12.0", "0.13.0",
                                           "0.14.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0",
                                           "0.19.0"),
                         [](const auto& test) {
                           std::string name = "V" + test.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// A file may state any number of registers.
TEST(RelayProgram, GivesNoPlaceToRegistersThatNoInstructionNames) {
  RelayAssembler code;
  code.function("main", {"x"}, std::int64_t{max_registers});
  code.load_integer(7, 1000);
  code.invoke(0, {1048575}, 1000);
  code.move(0, 1048575);
  code.ret(1000);

  const RelayPayload payload = code.payload();
  const RelayCode read = read_relay_code({payload.bytes.bytes().subspan(8), 8}).value();
  const auto program = decode(read);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->functions[0].register_count, 3u);
  EXPECT_EQ(program->instructions[0].dst, 1u);
  EXPECT_THAT(program->registers_of(program->instructions[1]), ::testing::ElementsAre(2));
  EXPECT_EQ(listing(*program),
            "@main(x):  1048576 registers\n"
            "     0  load_consti       $1000 = 7\n"
            "     1  invoke            $1000 = main($1048575)\n"
            "     2  move              $1048575 = $0\n"
            "     3  ret               $1000\n\n");
}

TEST(RelayProgram, OfTheGoldenFileIsValid) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto file =
      MappedFile::open(gantry::test::golden("tvm-0.12/digits_mlp_vm_llvm.so")).value();
  const ElfFile elf = ElfFile::parse(file).value();
  const Container container = read_container(elf, layouts).value();
  const RelayCode code = read_relay_payload(container.entries.at(0).payload).value();

  const auto program = decode(code);

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->instructions.size(), 35u);
  EXPECT_EQ(program->packed_functions.size(), 4u);
  EXPECT_EQ(listing(*program, 0, 7),
            "invoke_packed     vm_mod_fused_nn_contrib_dense_pack_add_nn_relu(in: $0, $5, $6; out: "
            "$4)");
}

TEST(RelayProgram, HasFunctionsByTheIndicesOfTheGlobals) {
  RelayAssembler code;
  code.function("first", {"x"}, 1);
  code.ret(0);
  code.function("second", {}, 1);
  code.invoke(1, {0}, 0);
  code.ret(0);
  code.globals = {"second", "first"};

  const Decoded found = decoded(code);

  ASSERT_TRUE(found.program.ok()) << found.program.error().message;
  EXPECT_EQ(found.program->functions[0].name, "second");
  EXPECT_EQ(found.program->functions[1].name, "first");
  EXPECT_EQ(found.program->find("first"), 1u);
  EXPECT_EQ(found.program->find("third"), std::nullopt);
}

// Types of v0.8 become devices: first the CPU, which is the host.
TEST(RelayProgram, OfDeviceTypesHasTheDevicesThatItMentions) {
  RelayAssembler code("0.8.0");
  const auto constant = code.floats({1}, {1});
  code.constants[0].device = 4;
  code.function("main", {"x"}, 4);
  code.load_const(constant, 1);
  code.device_copy(1, 4, 2, 2);
  code.ret(2);

  const Decoded found = decoded(code);

  ASSERT_TRUE(found.program.ok()) << found.program.error().message;
  std::vector<std::int32_t> types;
  for (const RelayDevice& device : found.program->devices) types.push_back(device.type);
  EXPECT_THAT(types, ElementsAre(1, 4, 2));
  EXPECT_THAT(found.program->constant_devices, ElementsAre(1));
  EXPECT_EQ(found.program->instructions[1].b, 1u);
  EXPECT_EQ(found.program->instructions[1].c, 2u);
}

// ---- development builds: the version of one release, the form of another one

struct Development {
  std::string name, version;
  std::function<void(RelayAssembler&)> change;
};
class DevelopmentBuild : public ::testing::TestWithParam<Development> {};

TEST_P(DevelopmentBuild, IsReadInTheFormInWhichItEnds) {
  RelayAssembler code(GetParam().version);
  GetParam().change(code);
  code.function("main", {"x"}, 2);
  code.load_const(code.floats({1}, {1}), 1);
  code.ret(1);

  const Decoded found = decoded(code);

  ASSERT_TRUE(found.program.ok()) << found.program.error().message;
  EXPECT_EQ(found.code.form->devices != RelayForm::Devices::none, code.has_devices);
  EXPECT_EQ(found.code.form->devices == RelayForm::Devices::scoped, code.has_scopes);
  EXPECT_EQ(found.code.form->has_tags, code.has_tags);
  EXPECT_EQ(found.code.form->has_attributes, code.has_attributes);
}

INSTANTIATE_TEST_SUITE_P(
    Relay, DevelopmentBuild,
    ::testing::Values(
        Development{"Of08WithoutAttributes", "0.8.dev0",
                    [](auto& code) { code.has_attributes = false; }},
        Development{"Of09AsIn08", "0.9.dev0",
                    [](auto& code) { code.has_devices = code.has_tags = false; }},
        Development{"Of09WithoutTags", "0.9.dev0+gabc", [](auto& code) { code.has_tags = false; }},
        Development{"Of09", "0.9.dev0", [](auto&) {}},
        Development{"Of14AsIn13", "0.14.dev0", [](auto& code) { code.has_scopes = false; }},
        Development{"Of13AsIn14", "0.13.dev0", [](auto& code) { code.has_scopes = true; }},
        Development{"AReleaseInTheFormOfAnother", "0.13.0",
                    [](auto& code) { code.has_scopes = true; }}),
    [](const auto& test) { return test.param.name; });

RelayCode reading_at(std::uint64_t constants_at) {
  RelayCode code;
  code.version = "0.9.dev0";
  code.form = &relay_forms()[1];
  code.constants_at = constants_at;
  return code;
}

TEST(RelayReadings, ThatDifferAreRefusedForDevelopmentBuilds) {
  const auto chosen = select_relay_reading(reading_at(40), {reading_at(48)}, false);

  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().code, Code::malformed);
  EXPECT_EQ(chosen.error().offset, 40u);
  EXPECT_EQ(chosen.error().message,
            "code of version \"0.9.dev0\" is complete in several forms, expected one");
}

TEST(RelayReadings, OfAReleaseAreThatOfItsVersion) {
  EXPECT_EQ(select_relay_reading(reading_at(40), {reading_at(48)}, true)->constants_at, 40u);
}

TEST(RelayReadings, ThatAreEqualAreOne) {
  EXPECT_TRUE(select_relay_reading(reading_at(40), {reading_at(40)}, false).ok());
}

TEST(RelayReadings, HaveTheErrorOfTheVersionIfThereIsNone) {
  const auto chosen = select_relay_reading(malformed(3, "own"), {}, false);

  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().message, "own");
}

// ---- refusals

// One change of a valid executable, and the error.
struct Wrong {
  std::string name;
  std::function<void(RelayAssembler&)> change;
  std::function<std::uint64_t(const RelayPayload&)> at;
  std::string message;
};
class RelayProgramRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(RelayProgramRefuses, NamingFunctionInstructionAndText) {
  RelayAssembler code = every_opcode("0.14.0");
  GetParam().change(code);

  const Decoded found = decoded(code);

  ASSERT_FALSE(found.program.ok());
  const Error& error = found.program.error();
  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message, GetParam().message);
  EXPECT_EQ(error.offset, GetParam().at(found.payload));
  EXPECT_EQ(error.reason, "BLOB_FORMAT");
}

// Replaces the words of an instruction of "main".
std::function<void(RelayAssembler&)> words(std::size_t instruction,
                                           std::vector<std::int64_t> replacement) {
  return
      [=](RelayAssembler& code) { code.functions[0].instructions.at(instruction) = replacement; };
}
std::function<std::uint64_t(const RelayPayload&)> word(std::size_t instruction, std::size_t word) {
  return [=](const RelayPayload& payload) { return payload.word_at(0, instruction, word); };
}
std::function<std::uint64_t(const RelayPayload&)> start(std::size_t instruction) {
  return [=](const RelayPayload& payload) { return payload.instruction_at[0].at(instruction); };
}
std::uint64_t second_function(const RelayPayload& payload) { return payload.function_at[1]; }
std::uint64_t first_function(const RelayPayload& payload) { return payload.function_at[0]; }

INSTANTIATE_TEST_SUITE_P(
    Operands, RelayProgramRefuses,
    ::testing::Values(
        Wrong{"AnUnknownOpcode", words(0, {21, 0, 2}), word(0, 0),
              "opcode is 21, range is 0 to 20\n  in instruction 0: opcode 21 0 2\n  in function 0 "
              "\"main\""},
        Wrong{"ANegativeOpcode", words(0, {-1}), word(0, 0),
              "opcode is -1, range is 0 to 20\n  in instruction 0: opcode -1\n  in function 0 "
              "\"main\""},
        Wrong{"ADestinationOutside", words(0, {0, 0, 12}), word(0, 2),
              "register is 12, register count is 12\n  in instruction 0: move 0 12\n  in function "
              "0 \"main\""},
        Wrong{"ASourceOutside", words(0, {0, -1, 2}), word(0, 1),
              "register is -1, register count is 12\n  in instruction 0: move -1 2\n  in function "
              "0 \"main\""},
        Wrong{"ASecondSourceOutside", words(17, {10, 10, 99, 1, 2}), word(17, 2),
              "register is 99, register count is 12\n  in instruction 17: if 10 99 1 2\n  in "
              "function 0 \"main\""},
        Wrong{"AThirdSourceOutside", words(6, {6, 5, 4, 12, 2, 32, 1, 8}), word(6, 3),
              "register is 12, register count is 12\n  in instruction 6: alloc_tensor_reg 5 4 12 2 "
              "32 1 8\n  in function 0 \"main\""},
        Wrong{"AnArgumentOutside", words(7, {4, 0, 3, 1, 0, 1, 12}), word(7, 6),
              "register is 12, register count is 12\n  in instruction 7: invoke_packed 0 3 1 0 1 "
              "12\n  in function 0 \"main\""},
        Wrong{"AnUnknownFunction", words(15, {2, 2, 2, 8, 6, 8}), word(15, 1),
              "function is 2, function count is 2\n  in instruction 15: invoke 2 2 8 6 8\n  in "
              "function 0 \"main\""},
        Wrong{"AnUnknownPackedFunction", words(7, {4, 1, 3, 1, 0, 1, 6}), word(7, 1),
              "packed function is 1, packed function count is 1\n  in instruction 7: invoke_packed "
              "1 3 1 0 1 6\n  in function 0 \"main\""},
        Wrong{"AnUnknownDevice", words(9, {19, 6, 0, 1, 8}), word(9, 3),
              "device is 1, virtual device count is 1\n  in instruction 9: device_copy 6 0 1 8\n  "
              "in function 0 \"main\""},
        Wrong{"AnUnknownDeviceOfALoad", words(1, {11, 0, 1, 3}), word(1, 2),
              "device is 1, virtual device count is 1\n  in instruction 1: load_const 0 1 3\n  in "
              "function 0 \"main\""},
        Wrong{"ANegativeIndex", words(12, {9, 9, -1, 8}), word(12, 2),
              "index is -1, minimum is 0\n  in instruction 12: get_field 9 -1 8\n  in function 0 "
              "\"main\""},
        Wrong{"AJumpBehindTheFunction", words(18, {12, 3}), word(18, 1),
              "distance is 3, range in the function is -18 to 2\n  in instruction 18: goto 3\n  in "
              "function 0 \"main\""},
        Wrong{"AJumpBeforeTheFunction", words(18, {12, -19}), word(18, 1),
              "distance is -19, range in the function is -18 to 2\n  in instruction 18: goto -19\n "
              " in function 0 \"main\""},
        Wrong{"ABranchOutside", words(17, {10, 10, 4, 4, 2}), word(17, 3),
              "distance is 4, range in the function is -17 to 3\n  in instruction 17: if 10 4 4 2\n"
              "  in function 0 \"main\""},
        Wrong{"AnElseOutside", words(17, {10, 10, 4, 2, -18}), word(17, 4),
              "distance is -18, range in the function is -17 to 3\n  in instruction 17: if 10 4 2 "
              "-18\n  in function 0 \"main\""},
        Wrong{"AJumpToItself", words(18, {12, 0}), word(18, 1),
              "distance is 0: the instruction jumps to itself\n  in instruction 18: goto 0\n  in "
              "function 0 \"main\""},
        Wrong{"MoreOutputsThanArguments", words(7, {4, 0, 3, 4, 0, 1, 6}), word(7, 3),
              "output count is 4, argument count is 3\n  in instruction 7: invoke_packed 0 3 4 0 1 "
              "6\n  in function 0 \"main\""},
        Wrong{"ACountBeyondTheWords", words(7, {4, 0, 5, 1, 0, 1, 6}), word(7, 2),
              "count is 5, words left are 4\n  in instruction 7: invoke_packed 0 5 1 0 1 6\n  in "
              "function 0 \"main\""},
        Wrong{"ANegativeCount", words(10, {7, 3, -2, 9, 6, 8}), word(10, 2),
              "count is -2, words left are 3\n  in instruction 10: alloc_data 3 -2 9 6 8\n  in "
              "function 0 \"main\""},
        Wrong{"AnExtentBelowZero", words(4, {5, 5, 4, 2, 32, 1, 1, 6, -2}), word(4, 8),
              "extent is -2, minimum is 0\n  in instruction 4: alloc_tensor 5 4 2 32 1 1 6 -2\n  "
              "in function 0 \"main\""},
        Wrong{"ANumberOfBitsThatIsNone", words(4, {5, 5, 4, 2, 0, 1, 1, 6, 2}), word(4, 5),
              "element type has code 2, 0 bits and 1 lanes, ranges are 0 to 255, 1 to 255 and 1 to "
              "65535\n  in instruction 4: alloc_tensor 5 4 2 0 1 1 6 2\n  in function 0 \"main\""},
        Wrong{
            "WordsAfterTheOperands", words(0, {0, 0, 2, 9}), word(0, 2),
            "instruction has 4 words, its operands end at 3\n  in instruction 0: move 0 2 9\n  in "
            "function 0 \"main\""},
        Wrong{"MissingOperands", words(0, {0, 0}), start(0),
              "instruction has 2 words and ends before its register\n  in instruction 0: move 0\n  "
              "in function 0 \"main\""},
        Wrong{"FewerArgumentsThanParameters", words(15, {2, 1, 1, 8, 6}), word(15, 4),
              "function \"twice\" receives 1 arguments, parameter count is 2\n  in instruction 15: "
              "invoke 1 1 8 6\n  in function 0 \"main\""},
        Wrong{"MoreCapturesThanParameters", words(13, {8, 1, 3, 11, 6, 6, 6}), word(13, 6),
              "closure of \"twice\" captures 3 values, parameter count is 2\n  in instruction 13: "
              "alloc_closure 1 3 11 6 6 6\n  in function 0 \"main\""},
        Wrong{"ACyclicClosure", words(13, {8, 1, 1, 11, 11}), word(13, 4),
              "closure captures its own register 11: a closure cannot contain itself\n  in "
              "instruction 13: alloc_closure 1 1 11 11\n  in function 0 \"main\""},
        Wrong{"AFunctionWithoutEnd", words(20, {0, 0, 2}), start(20),
              "the last instruction is move, expected ret, goto, if or fatal\n  in function 0 "
              "\"main\""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Fields, RelayProgramRefuses,
    ::testing::Values(
        Wrong{"AHostThatIsNoDevice", [](auto& code) { code.host_device = 1; },
              [](auto& payload) { return payload.host_at; },
              "host device is 1, virtual device count is 1"},
        Wrong{"ANegativeHost", [](auto& code) { code.host_device = -1; },
              [](auto& payload) { return payload.host_at; },
              "host device is -1, virtual device count is 1"},
        Wrong{"AConstantOfAnUnknownDevice", [](auto& code) { code.constants[0].device = 1; },
              [](auto& payload) { return payload.constant_devices_at; },
              "device of a constant is 1, virtual device count is 1\n  in constant 0"},
        Wrong{"AParameterOfAnUnknownDevice",
              [](auto& code) { code.functions[1].param_devices[1] = 7; }, second_function,
              "device of a parameter is 7, virtual device count is 1\n  in function 1 \"twice\""},
        Wrong{"FewerDevicesThanParameters",
              [](auto& code) { code.functions[1].param_devices.pop_back(); }, second_function,
              "parameter devices are 1, expected 2\n  in function 1 \"twice\""},
        Wrong{"GlobalsOfOneName",
              [](auto& code) {
                code.globals = {"main", "main"};
              },
              [](auto& payload) { return payload.globals_at; },
              "global 1 has the name \"main\" of another one"},
        Wrong{"MoreGlobalsThanFunctions", [](auto& code) { code.globals.push_back("more"); },
              [](auto& payload) { return payload.functions_at; },
              "code has 2 functions, global count is 3"},
        Wrong{"AFunctionThatIsNoGlobal", [](auto& code) { code.globals[1] = "other"; },
              second_function, "name is not one of the globals\n  in function 1 \"twice\""},
        Wrong{"FunctionsOfOneName", [](auto& code) { code.functions[1].name = "main"; },
              second_function, "name is that of another function\n  in function 1 \"main\""},
        Wrong{"TooManyRegisters", [](auto& code) { code.functions[0].register_count = "1048577"; },
              first_function,
              "register count is 1048577, maximum is 1048576\n  in function 0 \"main\""},
        Wrong{"MoreParametersThanRegisters",
              [](auto& code) { code.functions[1].register_count = "1"; }, second_function,
              "parameter count is 2, register count is 1\n  in function 1 \"twice\""},
        Wrong{"AFunctionWithoutInstructions",
              [](auto& code) { code.functions[1].instructions.clear(); }, second_function,
              "function has no instructions\n  in function 1 \"twice\""}),
    [](const auto& test) { return test.param.name; });

TEST(RelayProgram, RefusesADeviceTypeThatIsNone) {
  RelayAssembler code("0.8.0");
  code.function("main", {"x"}, 2);
  code.device_copy(0, 1, 0, 1);
  code.ret(1);

  const Decoded found = decoded(code);

  ASSERT_FALSE(found.program.ok());
  EXPECT_EQ(found.program.error().message,
            "device has type 0, range is 1 to 65536\n  in instruction 0: device_copy 0 1 0 1\n  in "
            "function 0 \"main\"");
  EXPECT_EQ(found.program.error().offset, found.payload.word_at(0, 0, 3));
}

TEST(RelayProgram, RefusesTooManyDimensions) {
  RelayAssembler code;
  code.function("main", {"x"}, 4);
  code.alloc_tensor(1, 2, dtypes::float32, std::vector<std::int64_t>(33, 1), 3);
  code.ret(3);

  const Decoded found = decoded(code);

  ASSERT_FALSE(found.program.ok());
  EXPECT_EQ(found.program.error().message.text().substr(0, 32), "dimensions are 33, maximum is 32");
}

TEST(RelayListing, EscapesAndTruncatesNames) {
  RelayAssembler code;
  const auto packed = code.packed(std::string(200, 'p'));
  code.function("a\nb", {"x\t"}, 2);
  code.invoke_packed(packed, {0});
  code.ret(0);

  const std::string text = listing(*decoded(code).program);

  EXPECT_THAT(text, ::testing::StartsWith("@a\\x0ab(x\\x09):  2 registers\n"));
  EXPECT_THAT(text, ::testing::HasSubstr(" " + std::string(128, 'p') + "...(in: ; out: $0)\n"));
}

}  // namespace
}  // namespace gantry::relay::test
