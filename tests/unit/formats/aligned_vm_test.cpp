// SPDX-License-Identifier: Apache-2.0
//
// Aligned executables of virtual machines. What is expected is assembled with fillers, whose sizes
// follow from the offsets of the data after fillers of one byte.
#include "core/formats/details.hpp"
#include "core/formats/relay_code.hpp"
#include "tests/support/aligned_bytes.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gantry {
namespace {

using test::aligned;
using test::refused_alignment;
using test::relax_constant;
using test::relax_register;
using test::RelaxAssembler;
using test::RelaxRelease;
using test::relay_instruction;
using test::Words;

constexpr gantry_dtype uint8_dtype{1, 8, 1};

Numbering numbering_of_release(RelaxRelease release) {
  if (release == RelaxRelease::v0_16) return Numbering::packed;
  return release == RelaxRelease::v0_21 ? Numbering::ffi_0_21 : Numbering::ffi;
}

PayloadDetails describe_vm(std::string_view key, const Words& payload, Numbering numbering) {
  ExporterFacts facts;
  facts.numbering = numbering;
  return describe_payload({key, 0, payload.bytes(), Boundary::exact}, facts,
                          PayloadLayouts::built_in());
}

std::vector<std::string> filler_texts(const PayloadDetails& details) {
  std::vector<std::string> texts;
  const Detail* const fillers = details.root.find("fillers");
  if (fillers == nullptr) return texts;
  for (const Detail& each : fillers->children) texts.push_back(each.value);
  return texts;
}

constexpr RelaxRelease all_releases[] = {RelaxRelease::v0_16, RelaxRelease::v0_21,
                                         RelaxRelease::v0_22, RelaxRelease::v0_23};

// The constants of the tests: two arrays among others, and a large one.
std::vector<std::uint8_t> large_data() {
  std::vector<std::uint8_t> data(70000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i % 251);
  return data;
}

// Assembles the executable of the tests with fillers of the given sizes; 0: without fillers.
RelaxAssembler executable(RelaxRelease release, const std::vector<std::size_t>& fillers) {
  RelaxAssembler code(release);
  std::size_t next = 0;
  const auto fill = [&] {
    if (next < fillers.size() && fillers[next] != 0) {
      const std::vector<std::uint8_t> zeros(fillers[next]);
      code.array(uint8_dtype, {static_cast<std::int64_t>(zeros.size())}, zeros);
    }
    ++next;
  };
  const auto add = code.packed("add");
  code.function("main", {"x"}, 4);
  const auto text = code.text("a text");
  fill();
  const auto small = code.floats({2}, {1, 2});
  const auto shape = code.shape({3, 4});
  fill();
  const auto large = code.array(uint8_dtype, {70000}, large_data());
  fill();
  const auto scalar = code.floats({}, {5});
  code.call(1, add, {relax_register(0), small, text});
  code.call(2, add, {large, test::relax_immediate(2), shape});
  code.branch(1, 2);
  code.call(3, add, {small, scalar, test::relax_function(0)});
  code.ret(3);
  if (release == RelaxRelease::v0_23) {
    code.scopes = {{large & 0xffff, "global.texture"}, {small & 0xffff, ""}};
  }
  return code;
}

// Offset of the data of an array constant.
std::uint64_t data_at(const test::RelaxPayload& payload, std::size_t constant) {
  ByteReader in(payload.bytes.bytes());
  EXPECT_TRUE(in.skip(payload.constant_at.at(constant) + 4, "").ok());
  return read_array_record(in, "").value().data_at;
}

// Indices of the arrays in an executable with fillers.
constexpr std::size_t array_indices[] = {2, 5, 7};
constexpr std::uint64_t array_alignments[] = {128, 4096, 128};

// Number of bytes up to the next multiple.
std::uint64_t missing(std::uint64_t at, std::uint64_t alignment) {
  return (alignment - at % alignment) % alignment;
}

test::RelaxPayload expected(RelaxRelease release, std::uint64_t position) {
  std::vector<std::size_t> fillers = {1, 1, 1};
  for (std::size_t i = 0; i < fillers.size(); ++i) {
    const std::uint64_t at = data_at(executable(release, fillers).payload(), array_indices[i]);
    fillers[i] += missing(position + at, array_alignments[i]);
  }
  return executable(release, fillers).payload();
}

TEST(AlignedRelax, HasAFillerBeforeEachArrayAndNewIndices) {
  for (const RelaxRelease release : all_releases) {
    for (const std::uint64_t position : {0, 77}) {
      const auto payload = executable(release, {}).payload();

      const auto bytes = aligned("relax.VMExecutable", payload.bytes.bytes(),
                                 numbering_of_release(release), position);

      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      EXPECT_TRUE(std::ranges::equal(*bytes, expected(release, position).bytes.bytes()))
          << static_cast<int>(release) << " at " << position;
    }
  }
}

TEST(AlignedRelax, IsTheSameWhenItIsAlignedTwice) {
  for (const RelaxRelease release : all_releases) {
    const Numbering numbering = numbering_of_release(release);
    const auto payload = executable(release, {}).payload();
    const auto once = aligned("relax.Executable", payload.bytes.bytes(), numbering, 8);
    ASSERT_TRUE(once.ok());

    EXPECT_EQ(aligned("relax.Executable", *once, numbering, 8).value(), *once);
    EXPECT_EQ(aligned("relax.Executable", *once, numbering, 9).value(),
              aligned("relax.Executable", payload.bytes.bytes(), numbering, 9).value());
  }
}

TEST(AlignedRelax, OfAnUnknownNumberingIsThatOfTheTagsWithWhichItEnds) {
  for (const RelaxRelease release : all_releases) {
    const auto payload = executable(release, {}).payload();

    const auto bytes = aligned("relax.VMExecutable", payload.bytes.bytes(), Numbering::unknown, 0);

    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, expected(release, 0).bytes.bytes()));
  }
}

TEST(AlignedRelax, KeepsZerosThatTheCodeUses) {
  RelaxAssembler code;
  const auto add = code.packed("add");
  code.function("main", {"x"}, 2);
  const std::uint8_t zeros[4] = {};
  const auto used = code.array(uint8_dtype, {4}, zeros);
  code.array(uint8_dtype, {4}, zeros);
  const auto last = code.floats({1}, {1});
  code.call(1, add, {used, last});
  code.ret(1);

  const auto bytes = aligned("relax.VMExecutable", code.payload().bytes.bytes(), Numbering::ffi, 0);

  ASSERT_TRUE(bytes.ok());
  // Two fillers and two arrays: the zeros without a reference are a filler.
  ByteReader in(*bytes);
  ASSERT_TRUE(in.skip(code.payload().constants_at, "").ok());
  EXPECT_EQ(in.read_u64("constants").value(), 4u);
}

TEST(AlignedRelax, KeepsZerosWithAMemoryScope) {
  RelaxAssembler code;
  const std::uint8_t zeros[4] = {};
  code.array(uint8_dtype, {4}, zeros);
  code.floats({1}, {1});
  code.scopes = {{0, "global.texture"}};

  const auto bytes = aligned("relax.VMExecutable", code.payload().bytes.bytes(), Numbering::ffi, 0);

  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  ByteReader in(*bytes);
  ASSERT_TRUE(in.skip(code.payload().scopes_at, "").ok());
  EXPECT_EQ(in.read_u64("scopes").value(), 1u);
  EXPECT_EQ(in.read_u64("constant").value(), 1u);
  EXPECT_EQ(in.read_string("scope").value(), "global.texture");
  EXPECT_EQ(in.read_u64("constants").value(), 4u);
}

TEST(AlignedRelax, WithoutArraysIsUnchanged) {
  RelaxAssembler code;
  code.vm_tir("main", 1, 2);
  code.text("a");
  const auto payload = code.payload();

  const auto bytes = aligned("relax.VMExecutable", payload.bytes.bytes(), Numbering::ffi, 3);

  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(std::ranges::equal(*bytes, payload.bytes.bytes()));
}

TEST(AlignedRelax, IsRefusedForFunctionsThatAreCompiledIntoTheLibrary) {
  RelaxAssembler code;
  code.packed("add");
  code.vm_tir("main", 1, 2);
  code.floats({1}, {1});

  const Error error =
      refused_alignment("relax.VMExecutable", code.payload().bytes.bytes(), Numbering::ffi);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.message,
            "function \"main\" is compiled into the library, whose code refers to constants by "
            "index; arrays can only be aligned for bytecode, whose indices are rewritten");
}

TEST(AlignedRelax, IsRefusedIfItIsTruncated) {
  for (const RelaxRelease release : all_releases) {
    RelaxAssembler code = executable(release, {});
    code.constants[3] = code.constants[1];
    const auto payload = code.payload();
    for (std::size_t size = 0; size < payload.bytes.size(); ++size) {
      for (const Numbering numbering : {numbering_of_release(release), Numbering::unknown}) {
        const Error error =
            refused_alignment("relax.VMExecutable", payload.bytes.bytes().first(size), numbering);

        ASSERT_TRUE(error.code == Code::malformed) << size << ": " << error.message;
        EXPECT_LE(error.offset, size);
      }
    }
  }
}

// Changes of an executable without errors, and the error.
struct WrongRelax {
  std::string name;
  std::function<void(RelaxAssembler&)> change;
  std::function<std::uint64_t(const test::RelaxPayload&)> at;
  std::string message;
  Code code = Code::malformed;
};
class AlignedRelaxRefuses : public ::testing::TestWithParam<WrongRelax> {};

TEST_P(AlignedRelaxRefuses, Code) {
  RelaxAssembler code = executable(RelaxRelease::v0_23, {});
  GetParam().change(code);
  const auto payload = code.payload();

  const Error error =
      refused_alignment("relax.VMExecutable", payload.bytes.bytes(), Numbering::ffi);

  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_EQ(error.offset, GetParam().at(payload));
  EXPECT_EQ(error.message, GetParam().message);
}

// The words: call 0 to 6, call 7 to 13, if 14 to 16, call 17 to 23, ret 24 and 25.
INSTANTIATE_TEST_SUITE_P(
    Cases, AlignedRelaxRefuses,
    ::testing::Values(
        WrongRelax{"OfAnotherVersion", [](auto& code) { code.version = "0.15"; },
                   [](auto& payload) { return payload.version_at; },
                   "version is \"0.15\", expected \"0.14\"", Code::unsupported},
        WrongRelax{
            "WithAnUnknownKindOfFunction", [](auto& code) { code.functions[1].kind = 3; },
            [](auto& payload) { return payload.function_at[1]; },
            "kind is 3, range is 0 to 2 (packed, bytecode, VM-TIR)\n  in function 1 \"main\""},
        WrongRelax{"WithAScopeOfNoConstant", [](auto& code) { code.scopes[1].first = 9; },
                   [](auto& payload) { return payload.scopes_at + 8 + 8 + 8 + 14; },
                   "memory scope \"\" is of constant 9, constant count is 5"},
        WrongRelax{
            "WithAnUnknownTag", [](auto& code) { code.constants[2].tag = 0; },
            [](auto& payload) { return payload.constant_at[2]; },
            "tag is 0, expected that of an array, dtype, shape, text or number\n  in constant 2"},
        WrongRelax{"WithAnotherInstructionOffset",
                   [](auto& code) { code.instruction_offsets[1] = 8; },
                   [](auto& payload) { return payload.offset_at(1); },
                   "instruction 1 begins at word 8, the previous one ends at 7"},
        WrongRelax{"WithAnUnknownOpcode", [](auto& code) { code.words[14] = 5; },
                   [](auto& payload) { return payload.word_at(14); },
                   "instruction 2 has opcode 5, range is 1 to 4"},
        WrongRelax{"WithACutInstruction", [](auto& code) { code.words.pop_back(); },
                   [](auto& payload) { return payload.offset_at(4); },
                   "instruction 4: the code ends before its result"},
        WrongRelax{"WithAnInstructionWithoutWords",
                   [](auto& code) { code.instruction_offsets.push_back(26); },
                   [](auto& payload) { return payload.offset_at(5); },
                   "instruction 5: the code ends before its opcode"},
        WrongRelax{"WithTooManyArguments", [](auto& code) { code.words[20] = 6; },
                   [](auto& payload) { return payload.word_at(20); },
                   "instruction 3 has 6 arguments, words left are 5"},
        WrongRelax{"WithANegativeNumberOfArguments", [](auto& code) { code.words[3] = -1; },
                   [](auto& payload) { return payload.word_at(3); },
                   "instruction 0 has -1 arguments, words left are 22"},
        WrongRelax{"WithAnUnknownConstant", [](auto& code) { code.words[5] = relax_constant(5); },
                   [](auto& payload) { return payload.word_at(5); },
                   "instruction 0 has constant 5 as its argument, constant count is 5"},
        WrongRelax{"WithWordsAfterItsInstructions", [](auto& code) { code.words.push_back(2); },
                   [](auto& payload) { return payload.word_at(26); },
                   "code has 27 words, its instructions end at 26"}),
    [](const auto& test) { return test.param.name; });

TEST(AlignedRelax, IsRefusedWithAnotherMagic) {
  RelaxAssembler code = executable(RelaxRelease::v0_16, {});
  code.magic = 16;

  const Error error =
      refused_alignment("relax.Executable", code.payload().bytes.bytes(), Numbering::packed);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, 8u);
  EXPECT_EQ(error.message, "magic is 0x10, expected 0xd225de2f4214151d or 0xd225de2f4214151e");
}

TEST(AlignedRelax, IsRefusedWithBytesAfterItsCode) {
  Words bare = executable(RelaxRelease::v0_22, {}).payload().bytes;
  Words sized = executable(RelaxRelease::v0_16, {}).payload().bytes;
  const std::uint64_t bare_size = bare.size();
  const std::uint64_t sized_size = sized.size();

  const Error of_bare = refused_alignment("relax.VMExecutable", bare.u8(0).bytes(), Numbering::ffi);
  const Error of_sized =
      refused_alignment("relax.Executable", sized.u8(0).bytes(), Numbering::packed);

  EXPECT_EQ(of_bare.code, Code::malformed);
  EXPECT_EQ(of_bare.offset, bare_size);
  EXPECT_EQ(of_bare.message, "code has 1 bytes after its last field, expected none");
  EXPECT_EQ(of_sized.code, Code::malformed);
  EXPECT_EQ(of_sized.offset, sized_size);
  EXPECT_EQ(of_sized.message, "payload has 1 bytes after its last field");
}

TEST(AlignedRelax, HasItsFillersAmongTheDetails) {
  for (const RelaxRelease release : all_releases) {
    const auto payload = expected(release, 0);
    for (const Numbering numbering : {numbering_of_release(release), Numbering::unknown}) {
      const PayloadDetails details = describe_vm("relax.VMExecutable", payload.bytes, numbering);

      EXPECT_THAT(details.warnings, ::testing::IsEmpty());
      EXPECT_THAT(filler_texts(details), ::testing::ElementsAre("1", "4", "6"));
    }
    EXPECT_EQ(describe_vm("relax.VMExecutable", executable(release, {}).payload().bytes,
                          numbering_of_release(release))
                  .root.find("fillers"),
              nullptr);
  }
}

// ---- Relay -------------------------------------------------------------------------------------

// An executable of a release with two arrays among its constants.
struct Relay {
  std::string version = "0.12.0";
  // Sizes of the fillers; empty: none.
  std::vector<std::size_t> fillers;
  // Of each constant without fillers.
  std::vector<std::int64_t> devices = {4, 5, 6};
  std::string instruction_count = "4";
  std::vector<std::string_view> header_end;
  std::int64_t loaded = 2;
  std::int64_t hash_change = 0;
  std::uint64_t magic = vm_magic_first;

  bool has_tags() const { return !version.starts_with("0.8"); }
  bool has_fillers() const { return !fillers.empty(); }
  // A late-bound constant in place of the second array in releases that have them.
  std::int64_t moved(std::int64_t constant) const {
    if (!has_fillers()) return constant;
    if (constant == 0) return 1;
    if (constant == 1) return has_tags() ? 2 : 3;
    return has_tags() ? 4 : 5;
  }
};

// at       [out]  offsets of the data of the arrays, in the payload
Words assembled(const Relay& relay, std::vector<std::uint64_t>& at) {
  Words code = Words().u64(relay.magic).str(relay.version);
  if (relay.version.starts_with("0.14")) code.u64(1).i32(1).i32(0).str("global").i32(0);
  if (relay.version.starts_with("0.12")) code.u64(1).i32(1).i32(0).i32(0);
  code.strs({"main"});
  std::size_t next = 0;
  const auto tag = [&](std::uint32_t value) {
    if (relay.has_tags()) code.u32(value);
  };
  const auto array = [&](std::int64_t extent) {
    if (relay.has_fillers()) {
      const std::size_t size = relay.fillers[next++];
      tag(0);
      code.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(1).u8(8).u16(1);
      code.i64(static_cast<std::int64_t>(size)).u64(size);
      for (std::size_t i = 0; i < size; ++i) code.u8(0);
    }
    tag(0);
    code.bytes(test::array({extent}).bytes());
    at.push_back(8 + code.size() - 4 * static_cast<std::uint64_t>(extent));
  };
  code.u64(relay.has_fillers() ? (relay.has_tags() ? 5 : 6) : 3);
  array(3);
  if (relay.has_tags()) {
    code.u32(1).str("late");
  } else {
    array(1);
  }
  array(20000);
  std::vector<std::int64_t> devices;
  for (std::size_t i = 0; i < relay.devices.size(); ++i) {
    const bool is_array = i != 1 || !relay.has_tags();
    if (relay.has_fillers() && is_array) devices.push_back(relay.devices[i]);
    devices.push_back(relay.devices[i]);
  }
  code.u64(devices.size());
  for (const std::int64_t device : devices) code.i64(device);
  code.strs({"fused_add"}).u64(1).u64(0).u64(1).str("hash").str("12");
  code.u64(1);
  std::vector<std::string_view> header = {"main", "9", relay.instruction_count};
  header.insert(header.end(), relay.header_end.begin(), relay.header_end.end());
  code.strs(header).strs({"x"}).u64(1).i64(0);
  code.bytes(relay_instruction({11, relay.moved(0), 1}).bytes());
  code.bytes(relay_instruction({14, 0, 2}).bytes());
  code.bytes(relay_instruction({11, relay.moved(relay.loaded), 3}, relay.hash_change).bytes());
  code.bytes(relay_instruction({1, 3}).bytes());
  return Words().str({reinterpret_cast<const char*>(code.bytes().data()), code.size()});
}
Words assembled(const Relay& relay) {
  std::vector<std::uint64_t> at;
  return assembled(relay, at);
}

TEST(AlignedRelay, HasAFillerBeforeEachArrayAndNewIndicesHashesAndDevices) {
  for (const std::string version : {"0.8.0", "0.12.0", "0.14.0"}) {
    for (const std::uint64_t position : {0, 100}) {
      Relay wanted{.version = version};
      wanted.fillers.assign(wanted.has_tags() ? 2 : 3, 1);
      for (std::size_t i = 0; i < wanted.fillers.size(); ++i) {
        const std::uint64_t alignment = i + 1 == wanted.fillers.size() ? 4096 : 128;
        std::vector<std::uint64_t> at;
        (void)assembled(wanted, at);
        wanted.fillers[i] += missing(position + at[i], alignment);
      }

      const auto bytes = aligned("VMExecutable", assembled({.version = version}).bytes(),
                                 Numbering::packed, position);

      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      EXPECT_TRUE(std::ranges::equal(*bytes, assembled(wanted).bytes())) << version;
      EXPECT_EQ(aligned("VMExecutable", *bytes, Numbering::packed, position).value(), *bytes);
    }
  }
}

TEST(AlignedRelay, HasItsFillersAmongTheDetails) {
  const PayloadDetails details =
      describe_vm("VMExecutable", assembled({.fillers = {3, 4}}), Numbering::packed);

  EXPECT_THAT(details.warnings, ::testing::IsEmpty());
  EXPECT_THAT(filler_texts(details), ::testing::ElementsAre("0", "3"));
  EXPECT_EQ(describe_vm("VMExecutable", assembled({}), Numbering::packed).root.find("fillers"),
            nullptr);
}

TEST(AlignedRelay, IsRefusedIfItIsTruncated) {
  const Words payload = assembled({});
  for (std::size_t size = 0; size < payload.size(); ++size) {
    // Most of the data of the large array.
    if (size == 400) size = payload.size() - 500;
    const Error error =
        refused_alignment("VMExecutable", payload.bytes().first(size), Numbering::packed);
    const Words code = Words().str(
        {reinterpret_cast<const char*>(payload.bytes().data()) + 8, size < 8 ? 0 : size - 8});
    const Error of_code = refused_alignment("VMExecutable", code.bytes(), Numbering::packed);

    ASSERT_EQ(error.code, Code::malformed) << size << ": " << error.message;
    ASSERT_EQ(of_code.code, Code::malformed) << size << ": " << of_code.message;
    EXPECT_LE(of_code.offset, code.size());
  }
}

struct WrongRelay {
  std::string name;
  Relay relay;
  std::string message;
  Code code = Code::malformed;
};
class AlignedRelayRefuses : public ::testing::TestWithParam<WrongRelay> {};

TEST_P(AlignedRelayRefuses, Code) {
  const Error error =
      refused_alignment("VMExecutable", assembled(GetParam().relay).bytes(), Numbering::packed);

  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_EQ(error.message, GetParam().message);
  EXPECT_NE(error.offset, no_offset);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AlignedRelayRefuses,
    ::testing::Values(
        WrongRelay{"WithTheMagicOfRelax",
                   {.magic = vm_magic_second},
                   "magic is 0xd225de2f4214151e, expected 0xd225de2f4214151d"},
        WrongRelay{"OfAnEarlierRelease",
                   {.version = "0.7.0"},
                   "version is TVM \"0.7.0\", expected TVM 0.8 to 0.19",
                   Code::unsupported},
        WrongRelay{"OfALaterRelease",
                   {.version = "0.20.0"},
                   "version is TVM \"0.20.0\", expected TVM 0.8 to 0.19",
                   Code::unsupported},
        WrongRelay{"WithFewerDevicesThanConstants",
                   {.devices = {1, 2}},
                   "devices of constants are 2, expected 3"},
        WrongRelay{"WithALongerHeader",
                   {.header_end = {"x"}},
                   "header has 4 texts, expected 3\n  in function 0"},
        WrongRelay{"WithoutANumberOfInstructions",
                   {.instruction_count = "4x"},
                   "instruction count is \"4x\", expected a number\n  in function 0"},
        WrongRelay{"WithMoreInstructionsThanWords",
                   {.instruction_count = "99"},
                   "instruction count is 99, room for 19\n  in function 0"},
        WrongRelay{"WithFewerInstructionsThanWords",
                   {.instruction_count = "3"},
                   "code has 32 bytes after its last field, expected none"},
        WrongRelay{"WithAnotherHash",
                   {.hash_change = 1},
                   "hash is 175247657520, that of its words is 175247657519\n  in instruction 2\n"
                   "  in function 0"},
        WrongRelay{"ThatLoadsNoConstant",
                   {.loaded = 3},
                   "instruction loads constant 3, constant count is 3\n  in instruction 2\n  in "
                   "function 0"},
        WrongRelay{"ThatLoadsANegativeConstant",
                   {.loaded = -1},
                   "instruction loads constant -1, constant count is 3\n  in instruction 2\n  in "
                   "function 0"}),
    [](const auto& test) { return test.param.name; });

TEST(AlignedRelay, IsRefusedForAnInstructionWithoutOperands) {
  // In place of the last one, ret, as a vector of one word.
  Words payload = assembled({});
  std::vector<std::uint8_t> bytes(payload.bytes().begin(), payload.bytes().end());
  const std::size_t at = bytes.size() - 4 * 8;
  bytes[at] = 1;

  const Error error = refused_alignment("VMExecutable", bytes, Numbering::packed);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, at);
  EXPECT_EQ(error.message,
            "instruction has 1 words, minimum is 2\n  in instruction 3\n  in function 0");
}

TEST(AlignedRelay, IsRefusedForALoadWithoutDestination) {
  Words payload = assembled({.instruction_count = "5"});
  const Words load = relay_instruction({11, 0});
  Words code = Words().bytes(payload.bytes().subspan(8)).bytes(load.bytes());
  const Words whole =
      Words().str({reinterpret_cast<const char*>(code.bytes().data()), code.size()});

  const Error error = refused_alignment("VMExecutable", whole.bytes(), Numbering::packed);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, payload.size());
  EXPECT_EQ(error.message,
            "instruction that loads a constant has 3 words, minimum is 4\n  in instruction 4\n  "
            "in function 0");
}

TEST(AlignedRelay, IsRefusedWithBytesAfterItsCode) {
  Words payload = assembled({});
  const std::uint64_t size = payload.size();

  const Error error = refused_alignment("VMExecutable", payload.u8(0).bytes(), Numbering::packed);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, size);
  EXPECT_EQ(error.message, "payload has 1 bytes after its last field");
}

// Words of digits_mlp_vm_llvm.so of v0.12.
TEST(RelayInstructionHash, IsThatOfTvm) {
  const auto hash = [](std::vector<std::int64_t> words) { return relay_instruction_hash(words); };

  EXPECT_EQ(hash({11, 0, 1}), 175247657126);
  EXPECT_EQ(hash({16, 1, 64, 2, 32, 1, 0, 2}), 6806938780792238616);
  EXPECT_EQ(hash({1, 22}), 2654435854);
}

}  // namespace
}  // namespace gantry
