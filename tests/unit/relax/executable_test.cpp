// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/executable.hpp"

#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/unit/relax/golden.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gmock/gmock.h>

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <functional>

namespace gantry::relax::test {
namespace {

using gantry::test::RelaxAssembler;
using gantry::test::RelaxPayload;
using gantry::test::RelaxRelease;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One function of each kind, one constant of each kind, and a memory scope.
RelaxAssembler small_code(RelaxRelease release = RelaxRelease::v0_23) {
  RelaxAssembler code(release);
  const auto add = code.packed("vm.builtin.copy");
  code.function("main", {"x", "y"}, 3);
  code.call(2, add, {gantry::test::relax_register(0)});
  code.ret(2);
  code.vm_tir("step", 2, 3);
  code.floats({2, 1}, {1.5f, -2});
  code.dtype(dtypes::int8);
  code.shape({-1, 3});
  code.text("global");
  code.integer(-7);
  code.number(0.25);
  code.scopes = {{0, "global.texture"}};
  return code;
}

Result<Executable> read(const gantry_blob& blob, std::uint64_t* consumed = nullptr) {
  return gantry::test::read_whole(blob, read_executable, consumed);
}

Result<Executable> read(const RelaxPayload& payload) { return read(payload.blob()); }

// ---- saving

// Returns what a sink receives that requests an alignment.
Result<std::vector<std::uint8_t>> saved(const Executable& executable, std::uint32_t alignment,
                                        std::uint64_t position = 0) {
  gantry::test::MemorySink sink(alignment, position);
  GANTRY_CHECK(write_executable(executable, Sink(*sink.raw())));
  return std::move(sink.bytes);
}

// Two arrays, the code that uses them, and a scope of the second one.
RelaxAssembler code_with_arrays(RelaxRelease release) {
  RelaxAssembler code(release);
  const auto add = code.packed("add");
  code.function("main", {"x"}, 2);
  code.text("odd");
  const auto first = code.floats({3}, {1, 2, 3});
  const auto second = code.floats({20000}, std::vector<float>(20000, 4));
  code.call(1, add, {first, second});
  code.ret(1);
  code.scopes = {{2, "global.texture"}};
  return code;
}

// Each part that has no meaning for the machine has a value that no compiler writes.
TEST(SavedExecutable, HasTheBytesThatWereRead) {
  for (const RelaxRelease release :
       {RelaxRelease::v0_16, RelaxRelease::v0_21, RelaxRelease::v0_22, RelaxRelease::v0_23}) {
    RelaxAssembler code = small_code(release);
    code.functions[0] = {0, "vm.builtin.copy", -3, 4, -2, 9, {"one", ""}};
    code.functions[2].begin = 11;
    code.functions[2].end = -12;
    // 6 is a type of its own up to v0.20.
    for (const std::uint8_t type : {6, 8, 10}) {
      const std::uint8_t byte = 7;
      code.dtype({type, 8, 1});
      code.array({type, 8, 1}, {1}, {&byte, 1});
    }
    code.number(std::bit_cast<double>(0x7ff4000000000abcu));
    constexpr std::ptrdiff_t reserved_at = 4 + 8;
    constexpr std::ptrdiff_t device_id_at = reserved_at + 8 + 4;
    RelaxPayload payload = code.payload();
    std::vector<std::uint8_t> bytes(payload.bytes.bytes().begin(), payload.bytes.bytes().end());
    bytes[payload.constant_at[0] + reserved_at] = 5;
    bytes[payload.constant_at[0] + device_id_at] = 3;
    payload.bytes = gantry::test::Words().bytes(bytes);
    for (const auto numbering_is_known : {true, false}) {
      gantry_blob blob = payload.blob();
      if (!numbering_is_known) blob.numbering = GANTRY_NUMBERING_UNKNOWN;

      const auto written = saved(read(blob).value(), 0, 3);

      ASSERT_TRUE(written.ok());
      EXPECT_EQ(*written, bytes);
    }
  }
}

TEST(SavedExecutable, HasAlignedArraysAndTheSameCode) {
  for (const RelaxRelease release :
       {RelaxRelease::v0_16, RelaxRelease::v0_21, RelaxRelease::v0_22, RelaxRelease::v0_23}) {
    for (const auto numbering_is_known : {true, false}) {
      const RelaxPayload payload = code_with_arrays(release).payload();
      gantry_blob blob = payload.blob();
      if (!numbering_is_known) blob.numbering = GANTRY_NUMBERING_UNKNOWN;
      const Executable before = read(blob).value();

      const auto bytes = saved(before, 128, 1000);

      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      gantry_blob again = gantry::test::payload_blob(*bytes, -1);
      again.numbering = static_cast<std::uint32_t>(payload.numbering);
      const Executable after = read(again).value();
      const Program program = decode(after).value();
      const auto arguments = program.arguments_of(program.instructions[0]);
      ASSERT_EQ(arguments.size(), 2u);
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto index = static_cast<std::size_t>(arguments[i].value);
        const auto& array = std::get<ArrayRecord>(after.constants[index]);
        const auto& old = std::get<ArrayRecord>(before.constants[1 + i]);
        EXPECT_EQ((1000 + array.data_at) % (i == 0 ? 128 : 4096), 0u);
        EXPECT_EQ(array.shape, old.shape);
        EXPECT_TRUE(std::ranges::equal(array.data, old.data));
      }
      EXPECT_THAT(program.is_constant_used, ElementsAre(false, false, true, false, true));
      if (release == RelaxRelease::v0_23) {
        ASSERT_EQ(after.memory_scopes.size(), 1u);
        EXPECT_EQ(after.memory_scopes[0].constant, 4u);
      }
    }
  }
}

TEST(SavedExecutable, IsRefusedWithAnAlignmentForCompiledFunctions) {
  const RelaxPayload payload = small_code().payload();
  const Executable executable = read(payload).value();

  const auto bytes = saved(executable, 128);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::unsupported);
  EXPECT_EQ(bytes.error().message,
            "function \"step\" is compiled into the library, whose code refers to constants by "
            "index; arrays can only be aligned for bytecode, whose indices are rewritten");
}

TEST_F(VmTest, MakesNoValueOfAConstantThatNoCodeUses) {
  const auto used = code.integer(5);
  code.floats({2}, {1, 2});
  code.function("main", {}, 1);
  code.call(0, code.packed("id"), {used});
  code.ret(0);
  read();

  const auto constants = loaded->constants(cpu, nullptr);

  ASSERT_TRUE(constants.ok());
  const std::vector<Value>& values = (*constants)->values();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].kind(), GANTRY_INT);
  EXPECT_EQ(values[1].kind(), GANTRY_NONE);
}

TEST_F(VmTest, MakesValuesOfAllConstantsForCompiledFunctions) {
  code.floats({2}, {1, 2});
  code.vm_tir("main", 0, 1);
  read();

  const auto constants = loaded->constants(cpu, nullptr);

  ASSERT_TRUE(constants.ok());
  EXPECT_EQ((*constants)->values()[0].kind(), GANTRY_TENSOR);
}

// ---- golden files

class GoldenFile : public ::testing::TestWithParam<GoldenExecutable> {};

TEST_P(GoldenFile, IsReadToTheLastByte) {
  const gantry_blob blob = GetParam().blob();
  std::uint64_t consumed = 0;

  const auto executable = read(blob, &consumed);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(consumed, blob.size);
  EXPECT_EQ(executable->kept.bytes.size(), blob.size);
  EXPECT_THAT(executable->memory_scopes, IsEmpty());
}

TEST_P(GoldenFile, HasTheFunctionsThatTheCoreFinds) {
  const Executable executable = read(GetParam().blob()).value();

  const Detail& functions = *GetParam().details.root.find("functions");
  ASSERT_EQ(executable.functions.size(), functions.children.size());
  for (std::size_t i = 0; i < functions.children.size(); ++i) {
    const Function& function = executable.functions[i];
    const Detail& detail = functions.children[i];
    EXPECT_EQ(function.name, detail.name);
    EXPECT_EQ(concat(static_cast<int>(function.kind)), detail.find("kind")->value);
    EXPECT_EQ(executable.find(function.name), i);
    if (function.kind == FunctionKind::packed) continue;
    EXPECT_EQ(concat(function.begin), detail.find("start")->value);
    EXPECT_EQ(concat(function.end), detail.find("end")->value);
    EXPECT_EQ(concat(function.parameter_count), detail.find("arguments")->value);
    EXPECT_EQ(concat(function.register_count), detail.find("registers")->value);
    EXPECT_EQ(function.parameter_names.size(), detail.find("params")->children.size());
  }
}

TEST_P(GoldenFile, HasTheConstantsThatTheCoreFinds) {
  const Executable executable = read(GetParam().blob()).value();

  const Detail& constants = *GetParam().details.root.find("constants");
  ASSERT_EQ(executable.constants.size(), constants.children.size());
  for (std::size_t i = 0; i < constants.children.size(); ++i) {
    const Detail& detail = constants.children[i];
    const Constant& constant = executable.constants[i];
    if (const auto* array = std::get_if<ArrayRecord>(&constant)) {
      EXPECT_EQ(dtype_text(array->dtype), detail.find("dtype")->value);
      EXPECT_EQ(concat(array->data.size()), detail.find("size")->value);
      EXPECT_EQ(array->data.data(), GetParam().payload.data() + array->data_at);
    } else if (const auto* text = std::get_if<std::string_view>(&constant)) {
      // The details of a long text are its size.
      const bool is_long = detail.kind == Detail::Kind::size;
      EXPECT_EQ(is_long ? concat(text->size()) : *text, detail.value);
    } else if (const auto* dtype = std::get_if<gantry_dtype>(&constant)) {
      EXPECT_EQ(dtype_text(*dtype), detail.value);
    } else {
      EXPECT_TRUE(std::holds_alternative<std::vector<std::int64_t>>(constant));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Relax, GoldenFile, ::testing::ValuesIn(golden_executables()),
                         [](const auto& test) { return test.param.name; });

TEST(GoldenFiles, AreAllRead) { EXPECT_EQ(golden_executables().size(), 52u); }

// ---- releases

class Release : public ::testing::TestWithParam<RelaxRelease> {};

TEST_P(Release, IsReadAsItWasWritten) {
  const RelaxPayload payload = small_code(GetParam()).payload();

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  ASSERT_EQ(executable->functions.size(), 3u);
  const auto& [copy, main, step] =
      std::tie(executable->functions[0], executable->functions[1], executable->functions[2]);
  EXPECT_EQ(copy.name, "vm.builtin.copy");
  EXPECT_EQ(copy.kind, FunctionKind::packed);
  EXPECT_EQ(copy.parameter_count, 0u);
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.kind, FunctionKind::bytecode);
  EXPECT_EQ(main.begin, 0u);
  EXPECT_EQ(main.end, 2u);
  EXPECT_EQ(main.parameter_count, 2u);
  EXPECT_EQ(main.register_count, 3u);
  EXPECT_THAT(main.parameter_names, ElementsAre("x", "y"));
  EXPECT_EQ(step.kind, FunctionKind::vm_tir);
  EXPECT_EQ(step.register_count, 3u);
  EXPECT_THAT(step.parameter_names, IsEmpty());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(executable->functions[i].at, payload.function_at[i]);

  ASSERT_EQ(executable->constants.size(), 6u);
  const auto& array = std::get<ArrayRecord>(executable->constants[0]);
  EXPECT_EQ(type_text(array.dtype, array.shape), "float32[2, 1]");
  EXPECT_EQ(array.data.size(), 8u);
  EXPECT_EQ(array.data_at, payload.constant_at[1] - 8);
  EXPECT_TRUE(same_dtype(std::get<gantry_dtype>(executable->constants[1]), dtypes::int8));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(executable->constants[2]), ElementsAre(-1, 3));
  EXPECT_EQ(std::get<std::string_view>(executable->constants[3]), "global");
  EXPECT_EQ(std::get<std::int64_t>(executable->constants[4]), -7);
  EXPECT_EQ(std::get<double>(executable->constants[5]), 0.25);

  EXPECT_EQ(executable->instruction_offsets.size(), 2u);
  EXPECT_EQ(executable->instruction_offsets[1], 5);
  EXPECT_EQ(executable->instruction_offsets.offset_of(1), payload.offset_at(1));
  EXPECT_EQ(executable->words.size(), 7u);
  EXPECT_EQ(executable->words[5], 2);
  EXPECT_EQ(executable->words.offset_of(5), payload.word_at(5));
}

TEST_P(Release, IsRecognizedByItsContent) {
  RelaxPayload payload = small_code(GetParam()).payload();
  payload.numbering = Numbering::unknown;

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(std::get<std::int64_t>(executable->constants[4]), -7);
}

TEST_P(Release, IsRejectedAtEveryTruncation) {
  const RelaxPayload whole = small_code(GetParam()).payload();
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    RelaxPayload cut = whole;
    cut.bytes = gantry::test::Words().bytes(whole.bytes.bytes().first(size));

    const auto executable = read(cut);

    ASSERT_FALSE(executable.ok()) << size;
    EXPECT_EQ(executable.error().code, Code::malformed) << size;
    EXPECT_LE(executable.error().offset, size);
  }
}

TEST_P(Release, IsRejectedWithBytesAfterTheCode) {
  RelaxPayload payload = small_code(GetParam()).payload();
  const std::uint64_t size = payload.bytes.size();
  payload.bytes.u8(0);

  const auto executable = read(payload);

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().offset, size);
  EXPECT_EQ(executable.error().message, "payload has 1 bytes after its last field, expected none");
}

INSTANTIATE_TEST_SUITE_P(Relax, Release,
                         ::testing::Values(RelaxRelease::v0_16, RelaxRelease::v0_21,
                                           RelaxRelease::v0_22, RelaxRelease::v0_23));

TEST(Executable, HasTheMemoryScopesOfTheSecondMagic) {
  const RelaxPayload payload = small_code().payload();

  const Executable executable = read(payload).value();

  ASSERT_EQ(executable.memory_scopes.size(), 1u);
  EXPECT_EQ(executable.memory_scopes[0].constant, 0u);
  EXPECT_EQ(executable.memory_scopes[0].scope, "global.texture");
}

TEST(Executable, IsReadWithoutContent) {
  const RelaxPayload payload = RelaxAssembler().payload();

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_THAT(executable->functions, IsEmpty());
  EXPECT_EQ(executable->find("main"), std::nullopt);
}

TEST(Executable, FindsFunctionsByName) {
  const RelaxPayload payload = small_code().payload();

  const Executable executable = read(payload).value();

  EXPECT_EQ(executable.find("vm.builtin.copy"), 0u);
  EXPECT_EQ(executable.find("main"), 1u);
  EXPECT_EQ(executable.find("step"), 2u);
  for (const char* const absent : {"", "mai", "main2", "zzz"}) {
    EXPECT_EQ(executable.find(absent), std::nullopt) << absent;
  }
}

TEST(Executable, MayHaveFunctionsWithoutParameterNames) {
  RelaxAssembler code = small_code();
  code.functions[1].names.clear();
  const RelaxPayload payload = code.payload();

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(executable->functions[1].parameter_count, 2u);
  EXPECT_THAT(executable->functions[1].parameter_names, IsEmpty());
}

TEST(Executable, IgnoresTheNumbersOfPackedFunctions) {
  RelaxAssembler code = small_code();
  code.functions[0] = {0, "vm.builtin.copy", -5, -1, -2, -3, {"x"}};
  const RelaxPayload payload = code.payload();

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(executable->functions[0].register_count, 0u);
  EXPECT_EQ(executable->functions[0].parameter_count, 0u);
}

// A payload of 256 MiB: its data are not touched, so the pages of the mapping are not allocated.
TEST(Executable, DoesNotReadArrayData) {
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
  gantry_blob blob = gantry::test::payload_blob({bytes, size});
  blob.numbering = GANTRY_NUMBERING_FFI;

  const auto executable = read(blob);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(std::get<ArrayRecord>(executable->constants[0]).data.size(), nbytes);
  std::vector<unsigned char> resident(size / 4096 + 1);
  ASSERT_EQ(mincore(memory, size, resident.data()), 0);
  EXPECT_LE(std::ranges::count_if(resident, [](auto page) { return (page & 1) != 0; }), 2);
  munmap(memory, size);
}

TEST_F(VmTest, MakesValuesOfPublicTypesInsteadOfThoseOfV0_16) {
  for (const RelaxRelease release : {RelaxRelease::v0_16, RelaxRelease::v0_21}) {
    code = RelaxAssembler(release);
    const std::uint8_t data[2] = {};
    std::vector<std::int64_t> used;
    for (const std::uint8_t type : {5, 6, 7, 8, 9}) used.push_back(code.dtype({type, 8, 1}));
    used.push_back(code.array({7, 8, 1}, {2}, data));
    code.function("main", {}, 1);
    code.call(0, code.packed("id"), used);
    code.ret(0);
    read();

    const std::vector<Value>& values = loaded->constants(cpu, nullptr).value()->values();

    std::vector<int> codes;
    for (std::size_t i = 0; i < 5; ++i) codes.push_back(values[i].get().dtype.code);
    codes.push_back(values[5].tensor()->dtype.code);
    EXPECT_EQ(codes, release == RelaxRelease::v0_16 ? std::vector({5, 10, 12, 17, 9, 12})
                                                    : std::vector({5, 6, 7, 8, 9, 7}));
  }
}

// ---- refusals

// A change of small_code(), which is otherwise read, and the error.
struct Refusal {
  std::string name;
  std::function<void(RelaxAssembler&)> change;
  std::function<std::uint64_t(const RelaxPayload&)> offset;
  std::string message;
  Code code = Code::malformed;
  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

class ExecutableRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(ExecutableRefuses, TheChangedField) {
  RelaxAssembler code = small_code();
  GetParam().change(code);
  const RelaxPayload payload = code.payload();

  const auto executable = read(payload);

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().message, GetParam().message);
  EXPECT_EQ(executable.error().code, GetParam().code);
  EXPECT_EQ(executable.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(executable.error().offset, GetParam().offset(payload));
}

// Offset of a field of function 1, "main", or function 2, "step".
auto field(std::size_t function, std::size_t index) {
  return [=](const RelaxPayload& payload) { return payload.field_at(function, index); };
}
auto constant(std::size_t index) {
  return [=](const RelaxPayload& payload) { return payload.constant_at[index]; };
}

INSTANTIATE_TEST_SUITE_P(
    Relax, ExecutableRefuses,
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
        Refusal{"BeginBelow", [](auto& code) { code.functions[1].begin = -1; }, field(1, 0),
                "instructions are -1 up to 2, expected a part of 0 up to 2\n  in function 1 "
                "\"main\""},
        Refusal{"Empty", [](auto& code) { code.functions[1].begin = 2; }, field(1, 0),
                "instructions are 2 up to 2, expected a part of 0 up to 2\n  in function 1 "
                "\"main\""},
        Refusal{"EndAbove", [](auto& code) { code.functions[1].end = 3; }, field(1, 0),
                "instructions are 0 up to 3, expected a part of 0 up to 2\n  in function 1 "
                "\"main\""},
        Refusal{"RegistersBelow", [](auto& code) { code.functions[1].registers = -1; }, field(1, 3),
                "register count is -1, range is 0 to 1048576\n  in function 1 \"main\""},
        Refusal{"RegistersAbove", [](auto& code) { code.functions[1].registers = 1048577; },
                field(1, 3),
                "register count is 1048577, range is 0 to 1048576\n  in function 1 \"main\""},
        Refusal{"RegistersWithoutResult", [](auto& code) { code.functions[2].registers = 0; },
                field(2, 3),
                "register count is 0, range is 1 to 1048576\n  in function 2 \"step\""},
        Refusal{"ParametersBelow", [](auto& code) { code.functions[2].parameters = -1; },
                field(2, 2),
                "parameter count is -1, range is 0 to 2, register count is 3\n  in function 2 "
                "\"step\""},
        Refusal{"ParametersAbove", [](auto& code) { code.functions[1].parameters = 4; },
                field(1, 2),
                "parameter count is 4, range is 0 to 3, register count is 3\n  in function 1 "
                "\"main\""},
        Refusal{"ParametersWithoutResult", [](auto& code) { code.functions[2].parameters = 3; },
                field(2, 2),
                "parameter count is 3, range is 0 to 2, register count is 3\n  in function 2 "
                "\"step\""},
        Refusal{"FewParameterNames", [](auto& code) { code.functions[1].names.pop_back(); },
                field(1, 4), "parameter names are 1, expected none or 2\n  in function 1 \"main\""},
        Refusal{"ManyParameterNames",
                [](auto& code) {
                  code.functions[2].names = {"a", "b", "c"};
                },
                field(2, 4), "parameter names are 3, expected none or 2\n  in function 2 \"step\""},
        Refusal{"SameName", [](auto& code) { code.functions[2].name = "main"; },
                [](const auto& payload) { return payload.function_at[2]; },
                "name is that of function 1\n  in function 2 \"main\""},
        Refusal{"ScopeBelow", [](auto& code) { code.scopes[0].first = -1; },
                [](const auto& payload) { return payload.scopes_at + 8; },
                "memory scope \"global.texture\" is of constant -1, constant count is 6"},
        Refusal{"ScopeAbove", [](auto& code) { code.scopes[0].first = 6; },
                [](const auto& payload) { return payload.scopes_at + 8; },
                "memory scope \"global.texture\" is of constant 6, constant count is 6"},
        Refusal{"Tag", [](auto& code) { code.constants[3].tag = 64; }, constant(3),
                "tag is 64, expected that of an array, dtype, shape, text or number\n  in constant "
                "3"},
        Refusal{"TagOfAnotherRelease", [](auto& code) { code.constants[0].tag = 72; }, constant(0),
                "tag is 72, expected that of an array, dtype, shape, text or number\n  in constant "
                "0"}),
    [](const auto& test) { return test.param.name; });

TEST(Executable, MayHaveAsManyRegistersAsTheLimit) {
  RelaxAssembler code = small_code();
  code.functions[1].registers = static_cast<std::int64_t>(max_registers);
  code.functions[2].registers = static_cast<std::int64_t>(max_registers);
  const RelaxPayload payload = code.payload();

  const Executable executable = read(payload).value();

  EXPECT_EQ(executable.functions[1].register_count, max_registers);
}

// Records of vectors may omit the lanes: the tensor would extend beyond the data.
TEST(Executable, IsRejectedWithAnArrayOfFewerBytesThanItsTypeHas) {
  RelaxAssembler code;
  const std::uint8_t data[8] = {};
  code.array({2, 32, 4}, {2}, data);

  const auto executable = read(code.payload());

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().code, Code::malformed);
  EXPECT_EQ(executable.error().message,
            "array is float32x4[2] in 8 bytes, expected 32\n  in constant 0");
}

TEST(Executable, IsRejectedWithAMalformedArray) {
  RelaxAssembler code;
  code.text("a");
  code.floats({2}, {1});
  const RelaxPayload payload = code.payload();

  const auto executable = read(payload);

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().reason, "ARRAY_RECORD");
  EXPECT_EQ(executable.error().message,
            "array: nbytes is 4, float32 of this shape takes 8\n  in constant 1");
}

// A text that contains other code than it states.
TEST(Executable, IsRejectedWithBytesInsideItsText) {
  RelaxPayload payload = small_code(RelaxRelease::v0_21).payload();
  const std::uint64_t size = payload.bytes.size();
  gantry::test::Words longer;
  longer.u64(size - 8 + 3).bytes(payload.bytes.bytes().subspan(8)).u8(0).u16(0);
  payload.bytes = longer;

  const auto executable = read(payload);

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().offset, size);
  EXPECT_EQ(executable.error().message, "code has 3 bytes after its last field, expected none");
}

// The error is the one of the release whose tags lead furthest.
TEST(Executable, OfAnUnknownReleaseIsRejectedWhereReadingEnds) {
  for (const RelaxRelease release : {RelaxRelease::v0_16, RelaxRelease::v0_21}) {
    RelaxAssembler code = small_code(release);
    code.constants[4].tag = 99;
    RelaxPayload payload = code.payload();
    payload.numbering = Numbering::unknown;

    const auto executable = read(payload);

    ASSERT_FALSE(executable.ok());
    EXPECT_EQ(executable.error().offset, payload.constant_at[4]);
  }
}

// No known release writes it.
TEST(Executable, OfAnUnknownReleaseMayHaveTheTagsOfV0_22InsideAText) {
  const RelaxPayload bare = small_code(RelaxRelease::v0_22).payload();
  RelaxPayload payload = bare;
  payload.bytes = gantry::test::Words().u64(bare.bytes.size()).bytes(bare.bytes.bytes());
  payload.numbering = Numbering::unknown;

  const auto executable = read(payload);

  ASSERT_TRUE(executable.ok()) << executable.error().message;
  EXPECT_EQ(std::get<std::int64_t>(executable->constants[4]), -7);
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

class ExecutableLimit : public ::testing::TestWithParam<Limit> {
 protected:
  Result<Executable> read_with_count(std::uint64_t count) {
    const RelaxPayload empty = RelaxAssembler().payload();
    at_ = empty.*GetParam().count_at;
    const std::uint64_t size = at_ + 8 + count * GetParam().item_bytes;
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return exhausted("no address space");
    auto* const bytes = static_cast<std::uint8_t*>(memory);
    std::ranges::copy(empty.bytes.bytes().first(at_), bytes);
    std::memcpy(bytes + at_, &count, sizeof count);
    gantry_blob blob = gantry::test::payload_blob({bytes, size});
    blob.numbering = GANTRY_NUMBERING_FFI;
    auto executable = read(blob);
    munmap(memory, size);
    return executable;
  }
  std::uint64_t at_ = 0;
};

TEST_P(ExecutableLimit, IsRefusedAboveIt) {
  const auto executable = read_with_count(GetParam().max + 1);

  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().code, Code::malformed);
  EXPECT_EQ(executable.error().offset, at_);
  EXPECT_EQ(executable.error().message, concat(GetParam().name, ": count is ", GetParam().max + 1,
                                               ", maximum is ", GetParam().max));
}

// The items are zeros, which may lead to another error, further on.
TEST_P(ExecutableLimit, IsAccepted) {
  const auto executable = read_with_count(GetParam().max);

  EXPECT_TRUE(executable.ok() || executable.error().offset > at_) << executable.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Relax, ExecutableLimit,
    ::testing::Values(Limit{"functions", max_functions, 52, &RelaxPayload::functions_at},
                      Limit{"constants", max_constants, 8, &RelaxPayload::constants_at},
                      Limit{"instruction offsets", max_code_words, 8, &RelaxPayload::offsets_at},
                      Limit{"words", max_code_words, 8, &RelaxPayload::words_at}),
    [](const auto& test) { return test.param.name.substr(0, test.param.name.find(' ')); });

}  // namespace
}  // namespace gantry::relax::test
