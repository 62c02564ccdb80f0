// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relax_code.hpp"

#include "tests/support/payload_blob.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/relax_code_in.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>

namespace gantry {
namespace {

using test::RelaxAssembler;
using test::RelaxPayload;
using test::RelaxRelease;
using test::small_relax_code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Reads a payload as a loader does.
Result<RelaxCode> read(const gantry_blob& blob, std::uint64_t* consumed = nullptr) {
  return test::relax_code_in(blob, consumed);
}

Result<RelaxCode> read(const RelaxPayload& payload) { return read(payload.blob()); }

class RelaxReleases : public ::testing::TestWithParam<RelaxRelease> {};

TEST_P(RelaxReleases, IsReadAsItWasWritten) {
  const RelaxPayload payload = small_relax_code(GetParam()).payload();

  const auto parsed = read(payload);

  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->functions.size(), 3u);
  const auto& [copy, main, step] =
      std::tie(parsed->functions[0], parsed->functions[1], parsed->functions[2]);
  EXPECT_EQ(copy.name, "vm.builtin.copy");
  EXPECT_EQ(copy.kind, RelaxFunctionKind::packed);
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.kind, RelaxFunctionKind::bytecode);
  EXPECT_EQ(main.begin, 0);
  EXPECT_EQ(main.end, 2);
  EXPECT_EQ(main.parameter_count, 2);
  EXPECT_EQ(main.register_count, 3);
  EXPECT_THAT(main.parameter_names, ElementsAre("x", "y"));
  EXPECT_EQ(step.kind, RelaxFunctionKind::vm_tir);
  EXPECT_EQ(step.register_count, 3);
  EXPECT_THAT(step.parameter_names, IsEmpty());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(parsed->functions[i].at, payload.function_at[i]);

  ASSERT_EQ(parsed->constants.size(), 6u);
  const auto& array = std::get<ArrayRecord>(parsed->constants.values[0]);
  EXPECT_EQ(type_text(array.dtype, array.shape), "float32[2, 1]");
  EXPECT_EQ(array.data.size(), 8u);
  EXPECT_EQ(array.data_at, payload.constant_at[1] - 8);
  EXPECT_TRUE(same_dtype(std::get<gantry_dtype>(parsed->constants.values[1]), dtypes::int8));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(parsed->constants.values[2]), ElementsAre(-1, 3));
  EXPECT_EQ(std::get<std::string_view>(parsed->constants.values[3]), "global");
  EXPECT_EQ(std::get<std::int64_t>(parsed->constants.values[4]), -7);
  EXPECT_EQ(std::get<double>(parsed->constants.values[5]), 0.25);

  EXPECT_EQ(parsed->instruction_offsets.size(), 2u);
  EXPECT_EQ(parsed->instruction_offsets[1], 5);
  EXPECT_EQ(parsed->instruction_offsets.offset_of(1), payload.offset_at(1));
  EXPECT_EQ(parsed->words.size(), 7u);
  EXPECT_EQ(parsed->words[5], 2);
  EXPECT_EQ(parsed->words.offset_of(5), payload.word_at(5));
}

TEST_P(RelaxReleases, IsRecognizedByItsContent) {
  RelaxPayload payload = small_relax_code(GetParam()).payload();
  payload.numbering = Numbering::unknown;

  const auto parsed = read(payload);

  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(std::get<std::int64_t>(parsed->constants.values[4]), -7);
}

TEST_P(RelaxReleases, IsRejectedAtEveryTruncation) {
  const RelaxPayload whole = small_relax_code(GetParam()).payload();
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    RelaxPayload cut = whole;
    cut.bytes = test::Words().bytes(whole.bytes.bytes().first(size));

    const auto parsed = read(cut);

    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.error().code, Code::malformed) << size;
    EXPECT_LE(parsed.error().offset, size);
  }
}

TEST_P(RelaxReleases, IsRejectedWithBytesAfterTheCode) {
  RelaxPayload payload = small_relax_code(GetParam()).payload();
  const std::uint64_t size = payload.bytes.size();
  payload.bytes.u8(0);

  const auto parsed = read(payload);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().offset, size);
  EXPECT_EQ(parsed.error().message, "payload has 1 bytes after its last field, expected none");
}

INSTANTIATE_TEST_SUITE_P(Relax, RelaxReleases,
                         ::testing::Values(RelaxRelease::v0_16, RelaxRelease::v0_21,
                                           RelaxRelease::v0_22, RelaxRelease::v0_23));

TEST(RelaxCode, HasTheMemoryScopesOfTheSecondMagic) {
  const RelaxPayload payload = small_relax_code().payload();

  const RelaxCode code = read(payload).value();

  ASSERT_EQ(code.scopes.size(), 1u);
  EXPECT_EQ(code.scopes[0].at, payload.scopes_at + 8);
  EXPECT_EQ(code.scopes[0].constant, 0);
  EXPECT_EQ(code.scopes[0].scope, "global.texture");
}

TEST(RelaxCode, IsReadWithoutContent) {
  const RelaxPayload payload = RelaxAssembler().payload();

  const auto parsed = read(payload);

  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->functions, IsEmpty());
}

// A payload of 256 MiB: its data are not touched, so the pages of the mapping are not allocated.
TEST(RelaxCode, DoesNotReadArrayData) {
  constexpr std::int64_t floats = std::int64_t{1} << 26;
  RelaxAssembler code;
  code.floats({floats}, {});
  RelaxPayload payload = code.payload();
  const auto head = payload.bytes.bytes().first(payload.offsets_at - 8);
  const std::uint64_t size = payload.bytes.size() + floats * 4;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<std::uint8_t*>(memory);
  std::ranges::copy(head, bytes);
  constexpr std::uint64_t nbytes = floats * 4;
  std::memcpy(bytes + head.size(), &nbytes, sizeof nbytes);
  gantry_blob blob = test::payload_blob({bytes, size});
  blob.numbering = GANTRY_NUMBERING_FFI;

  const auto parsed = read(blob);

  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(std::get<ArrayRecord>(parsed->constants.values[0]).data.size(), nbytes);
  std::vector<unsigned char> resident(size / 4096 + 1);
  ASSERT_EQ(mincore(memory, size, resident.data()), 0);
  EXPECT_LE(std::ranges::count_if(resident, [](auto page) { return (page & 1) != 0; }), 2);
  munmap(memory, size);
}

// ---- refusals

// A change of small_relax_code(), which is otherwise read, and the error.
struct Refusal {
  std::string name;
  std::function<void(RelaxAssembler&)> change;
  std::function<std::uint64_t(const RelaxPayload&)> offset;
  std::string message;
  Code code = Code::malformed;
  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

class RelaxCodeRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(RelaxCodeRefuses, TheChangedField) {
  RelaxAssembler code = small_relax_code();
  GetParam().change(code);
  const RelaxPayload payload = code.payload();

  const auto parsed = read(payload);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, GetParam().message);
  EXPECT_EQ(parsed.error().code, GetParam().code);
  EXPECT_EQ(parsed.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(parsed.error().offset, GetParam().offset(payload));
}

auto constant(std::size_t index) {
  return [=](const RelaxPayload& payload) { return payload.constant_at[index]; };
}

INSTANTIATE_TEST_SUITE_P(
    Relax, RelaxCodeRefuses,
    ::testing::Values(
        Refusal{"Magic", [](auto& code) { code.magic -= 2; },
                [](const auto& payload) { return payload.magic_at; },
                "magic is 0xd225de2f4214151c, expected 0xd225de2f4214151d or 0xd225de2f4214151e"},
        Refusal{"Version", [](auto& code) { code.version = "0.15"; },
                [](const auto& payload) { return payload.version_at; },
                "version is \"0.15\", expected \"0.14\"", Code::unsupported},
        Refusal{"KindBelow", [](auto& code) { code.functions[1].kind = -1; },
                [](const auto& payload) { return payload.function_at[1]; },
                "kind is -1, range is 0 to 2 (packed, bytecode, VM-TIR)\n  in function 1 \"main\""},
        Refusal{"KindAbove", [](auto& code) { code.functions[1].kind = 3; },
                [](const auto& payload) { return payload.function_at[1]; },
                "kind is 3, range is 0 to 2 (packed, bytecode, VM-TIR)\n  in function 1 \"main\""},
        Refusal{"Tag", [](auto& code) { code.constants[3].tag = 64; }, constant(3),
                "tag is 64, expected that of an array, dtype, shape, text or number\n  in constant "
                "3"},
        Refusal{"TagOfAnotherRelease", [](auto& code) { code.constants[0].tag = 72; }, constant(0),
                "tag is 72, expected that of an array, dtype, shape, text or number\n  in constant "
                "0"}),
    [](const auto& test) { return test.param.name; });

TEST(RelaxCode, IsRejectedWithAMalformedArray) {
  RelaxAssembler code;
  code.text("a");
  code.floats({2}, {1});
  const RelaxPayload payload = code.payload();

  const auto parsed = read(payload);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().reason, "ARRAY_RECORD");
  EXPECT_EQ(parsed.error().message,
            "array: nbytes is 4, float32 of this shape takes 8\n  in constant 1");
}

// A text that contains other code than it states.
TEST(RelaxCode, IsRejectedWithBytesInsideItsText) {
  RelaxPayload payload = small_relax_code(RelaxRelease::v0_21).payload();
  const std::uint64_t size = payload.bytes.size();
  test::Words longer;
  longer.u64(size - 8 + 3).bytes(payload.bytes.bytes().subspan(8)).u8(0).u16(0);
  payload.bytes = longer;

  const auto parsed = read(payload);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().offset, size);
  EXPECT_EQ(parsed.error().message, "code has 3 bytes after its last field, expected none");
}

// The error is the one of the release whose tags lead furthest.
TEST(RelaxCode, OfAnUnknownReleaseIsRejectedWhereReadingEnds) {
  for (const RelaxRelease release : {RelaxRelease::v0_16, RelaxRelease::v0_21}) {
    RelaxAssembler code = small_relax_code(release);
    code.constants[4].tag = 99;
    RelaxPayload payload = code.payload();
    payload.numbering = Numbering::unknown;

    const auto parsed = read(payload);

    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().offset, payload.constant_at[4]);
  }
}

// No known release writes it.
TEST(RelaxCode, OfAnUnknownReleaseMayHaveTheTagsOfV0_22InsideAText) {
  const RelaxPayload bare = small_relax_code(RelaxRelease::v0_22).payload();
  RelaxPayload payload = bare;
  payload.bytes = test::Words().u64(bare.bytes.size()).bytes(bare.bytes.bytes());
  payload.numbering = Numbering::unknown;

  const auto parsed = read(payload);

  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(std::get<std::int64_t>(parsed->constants.values[4]), -7);
}

// Counts above a limit are refused before anything is reserved for their items. The mapping is so
// long that the limit applies, not the number of bytes; its pages are not allocated.
struct Limit {
  std::string name;
  std::uint64_t max;
  std::uint64_t item_bytes;
  std::uint64_t RelaxPayload::*count_at;
  friend void PrintTo(const Limit& limit, std::ostream* out) { *out << limit.name; }
};

class RelaxCodeLimit : public ::testing::TestWithParam<Limit> {
 protected:
  Result<RelaxCode> read_with_count(std::uint64_t count) {
    const RelaxPayload empty = RelaxAssembler().payload();
    at_ = empty.*GetParam().count_at;
    const std::uint64_t size = at_ + 8 + count * GetParam().item_bytes;
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return exhausted("no address space");
    auto* const bytes = static_cast<std::uint8_t*>(memory);
    std::ranges::copy(empty.bytes.bytes().first(at_), bytes);
    std::memcpy(bytes + at_, &count, sizeof count);
    gantry_blob blob = test::payload_blob({bytes, size});
    blob.numbering = GANTRY_NUMBERING_FFI;
    auto parsed = read(blob);
    munmap(memory, size);
    return parsed;
  }
  std::uint64_t at_ = 0;
};

TEST_P(RelaxCodeLimit, IsRefusedAboveIt) {
  const auto parsed = read_with_count(GetParam().max + 1);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::malformed);
  EXPECT_EQ(parsed.error().offset, at_);
  EXPECT_EQ(parsed.error().message, concat(GetParam().name, ": count is ", GetParam().max + 1,
                                           ", maximum is ", GetParam().max));
}

// The items are zeros, which may lead to another error, further on.
TEST_P(RelaxCodeLimit, IsAccepted) {
  const auto parsed = read_with_count(GetParam().max);

  EXPECT_TRUE(parsed.ok() || parsed.error().offset > at_) << parsed.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Relax, RelaxCodeLimit,
    ::testing::Values(Limit{"functions", max_relax_functions, 52, &RelaxPayload::functions_at},
                      Limit{"constants", max_relax_constants, 8, &RelaxPayload::constants_at},
                      Limit{"instruction offsets", max_relax_words, 8, &RelaxPayload::offsets_at},
                      Limit{"words", max_relax_words, 8, &RelaxPayload::words_at}),
    [](const auto& test) { return test.param.name.substr(0, test.param.name.find(' ')); });
// ---- display

// Reads code without its length.
Status read_for_display(const RelaxPayload& payload, RelaxCode& code) {
  return read_relax_code({payload.bytes.bytes(), 0}, Numbering::ffi, code);
}

TEST(DisplayedRelaxCode, MayHaveAnotherVersion) {
  RelaxAssembler code = small_relax_code();
  code.version = "0.15";
  const RelaxPayload payload = code.payload();
  RelaxCode read;

  const Status status = read_for_display(payload, read);

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(read.version, "0.15");
  EXPECT_EQ(read.functions.size(), 3u);
  EXPECT_EQ(read.constants.size(), 6u);
}

TEST(DisplayedRelaxCode, MayHaveAnotherKindOfFunction) {
  RelaxAssembler code = small_relax_code();
  code.functions[1].kind = 3;
  const RelaxPayload payload = code.payload();
  RelaxCode read;

  const Status status = read_for_display(payload, read);

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(static_cast<int>(read.functions[1].kind), 3);
}

TEST(DisplayedRelaxCode, HasWhatPrecedesTheWrongField) {
  RelaxAssembler code = small_relax_code();
  code.constants[2].tag = 64;
  const RelaxPayload payload = code.payload();
  RelaxCode read;

  const Status status = read_for_display(payload, read);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().offset, payload.constant_at[2]);
  EXPECT_EQ(read.functions.size(), 3u);
  EXPECT_EQ(read.scopes.size(), 1u);
  EXPECT_EQ(read.constants.size(), 2u);
}

// ---- instructions

TEST(RelaxInstructions, HaveTheirWordsInTheOrderOfTheFile) {
  const RelaxPayload payload = small_relax_code().payload();
  const RelaxCode code = read(payload).value();

  RelaxInstructions instructions = RelaxInstructions::of(code).value();
  const RelaxInstruction call = instructions.next().value();
  const RelaxInstruction ret = instructions.next().value();

  EXPECT_EQ(call.opcode, RelaxOpcode::call);
  EXPECT_EQ(std::tuple(call.index, call.begin, call.end), std::tuple(0u, 0u, 5u));
  EXPECT_EQ(ret.opcode, RelaxOpcode::ret);
  EXPECT_EQ(std::tuple(ret.index, ret.begin, ret.end), std::tuple(1u, 5u, 7u));
  EXPECT_TRUE(instructions.at_end());
  EXPECT_TRUE(instructions.check_end().ok());
}

TEST(RelaxInstructions, AreRefusedIfTheyAreMoreThanTheWordsHaveRoomFor) {
  RelaxAssembler assembler = small_relax_code();
  assembler.instruction_offsets = {0, 5, 7, 7};
  const RelaxPayload payload = assembler.payload();
  const RelaxCode code = read(payload).value();

  const auto instructions = RelaxInstructions::of(code);

  ASSERT_FALSE(instructions.ok());
  EXPECT_EQ(instructions.error().offset, payload.offset_at(0));
  EXPECT_EQ(instructions.error().message,
            "code has 4 instructions in 7 words, each takes at least 2");
}

TEST(RelaxConstantUses, AreArgumentsAndMemoryScopes) {
  RelaxAssembler assembler;
  const auto unused = assembler.text("unused");
  const auto used = assembler.text("used");
  assembler.text("scoped");
  assembler.function("main", {}, 1);
  assembler.call(0, assembler.packed("f"), {test::relax_immediate(unused & 0xff), used});
  assembler.ret(0);
  assembler.scopes = {{2, "global.texture"}};
  const RelaxPayload payload = assembler.payload();

  const RelaxConstantUses uses = find_constant_uses(read(payload).value()).value();

  EXPECT_THAT(uses.is_used, ElementsAre(false, true, true));
  EXPECT_THAT(uses.words, ElementsAre(5u));
}

TEST(RelaxConstantUses, AreAllConstantsForCompiledFunctions) {
  const RelaxPayload payload = small_relax_code().payload();

  const RelaxConstantUses uses = find_constant_uses(read(payload).value()).value();

  EXPECT_THAT(uses.is_used, ::testing::Each(true));
  EXPECT_THAT(uses.words, IsEmpty());
}

}  // namespace
}  // namespace gantry
