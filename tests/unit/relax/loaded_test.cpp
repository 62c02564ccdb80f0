// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/loaded.hpp"

#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/relax_code_in.hpp"
#include "tests/unit/relax/golden.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <variant>

namespace gantry::relax::test {
namespace {

using gantry::test::relax_code_in;
using gantry::test::RelaxAssembler;
using gantry::test::RelaxPayload;
using gantry::test::RelaxRelease;
using gantry::test::small_relax_code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- saving

class SavedExecutable : public ::testing::Test {
 protected:
  // Returns what a sink receives that requests an alignment.
  Result<std::vector<std::uint8_t>> saved(const gantry_blob& raw, std::uint32_t alignment,
                                          std::uint64_t position = 0) {
    Blob blob(raw, fake.node());
    GANTRY_TRY(const auto loaded, Loaded::read(Host(fake.table()), blob,
                                               std::make_shared<StorageMemory>("gantry.relax")));
    gantry::test::MemorySink sink(alignment, position);
    GANTRY_CHECK(loaded->save(Sink(*sink.raw())));
    return std::move(sink.bytes);
  }

  FakeHost fake;
};

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
TEST_F(SavedExecutable, HasTheBytesThatWereRead) {
  for (const RelaxRelease release :
       {RelaxRelease::v0_16, RelaxRelease::v0_21, RelaxRelease::v0_22, RelaxRelease::v0_23}) {
    RelaxAssembler code = small_relax_code(release);
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

      const auto written = saved(blob, 0, 3);

      ASSERT_TRUE(written.ok());
      EXPECT_EQ(*written, bytes);
    }
  }
}

TEST_F(SavedExecutable, HasAlignedArraysAndTheSameCode) {
  for (const RelaxRelease release :
       {RelaxRelease::v0_16, RelaxRelease::v0_21, RelaxRelease::v0_22, RelaxRelease::v0_23}) {
    for (const auto numbering_is_known : {true, false}) {
      const RelaxPayload payload = code_with_arrays(release).payload();
      gantry_blob blob = payload.blob();
      if (!numbering_is_known) blob.numbering = GANTRY_NUMBERING_UNKNOWN;
      const RelaxCode before = relax_code_in(blob).value();

      const auto bytes = saved(blob, 128, 1000);

      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      gantry_blob again = gantry::test::payload_blob(*bytes, -1);
      again.numbering = static_cast<std::uint32_t>(payload.numbering);
      const RelaxCode after = relax_code_in(again).value();
      const Program program = decode(after).value();
      const auto arguments = program.arguments_of(program.instructions[0]);
      ASSERT_EQ(arguments.size(), 2u);
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto index = static_cast<std::size_t>(arguments[i].value);
        const auto& array = *after.constants.array(index);
        const auto& old = *before.constants.array(1 + i);
        EXPECT_EQ((1000 + array.data_at) % (i == 0 ? 128 : 4096), 0u);
        EXPECT_EQ(array.shape, old.shape);
        EXPECT_TRUE(std::ranges::equal(array.data, old.data));
      }
      EXPECT_THAT(program.is_constant_used, ElementsAre(false, false, true, false, true));
      if (release == RelaxRelease::v0_23) {
        ASSERT_EQ(after.scopes.size(), 1u);
        EXPECT_EQ(after.scopes[0].constant, 4);
      }
    }
  }
}

TEST_F(SavedExecutable, IsRefusedWithAnAlignmentForCompiledFunctions) {
  const RelaxPayload payload = small_relax_code().payload();

  const auto bytes = saved(payload.blob(), 128);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::unsupported);
  EXPECT_EQ(bytes.error().message,
            "function \"step\" is compiled into the library, whose code refers to constants by "
            "index; arrays can only be aligned for bytecode, whose indices are rewritten");
}

// ---- constants

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

// ---- golden files

class GoldenFile : public ::testing::TestWithParam<GoldenExecutable> {};

TEST_P(GoldenFile, IsReadToTheLastByte) {
  const gantry_blob blob = GetParam().blob();
  std::uint64_t consumed = 0;

  const auto code = relax_code_in(blob, &consumed);

  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(consumed, blob.size);
  EXPECT_EQ(code->whole.at + code->whole.bytes.size(), blob.size);
  EXPECT_THAT(code->scopes, IsEmpty());
}

TEST_P(GoldenFile, HasTheFunctionsOfItsDetails) {
  const RelaxCode code = relax_code_in(GetParam().blob()).value();

  const Program program = decode(code).value();

  const Detail& functions = *GetParam().details.root.find("functions");
  ASSERT_EQ(program.functions.size(), functions.children.size());
  for (std::size_t i = 0; i < functions.children.size(); ++i) {
    const FunctionCode& function = program.functions[i];
    const Detail& detail = functions.children[i];
    EXPECT_EQ(function.name, detail.name);
    EXPECT_EQ(concat(static_cast<int>(function.kind)), detail.find("kind")->value);
    EXPECT_EQ(program.find(function.name), i);
    if (function.kind == FunctionKind::packed) continue;
    EXPECT_EQ(concat(function.first_instruction), detail.find("start")->value);
    EXPECT_EQ(concat(function.first_instruction + function.instruction_count),
              detail.find("end")->value);
    EXPECT_EQ(concat(function.parameter_count), detail.find("arguments")->value);
    EXPECT_EQ(concat(code.functions[i].register_count), detail.find("registers")->value);
    EXPECT_EQ(function.parameter_names.size(), detail.find("params")->children.size());
  }
}

TEST_P(GoldenFile, HasTheConstantsOfItsDetails) {
  const RelaxCode code = relax_code_in(GetParam().blob()).value();

  const Detail& constants = *GetParam().details.root.find("constants");
  ASSERT_EQ(code.constants.size(), constants.children.size());
  for (std::size_t i = 0; i < constants.children.size(); ++i) {
    const Detail& detail = constants.children[i];
    const VmConstant& constant = code.constants.values[i];
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

TEST(GoldenFiles, AreAllRead) { EXPECT_EQ(golden_executables().size(), 56u); }

}  // namespace
}  // namespace gantry::relax::test
