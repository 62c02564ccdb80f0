// SPDX-License-Identifier: Apache-2.0
//
// The facts about the exporter that symbols, layout and tree prove.
#include "core/formats/exporter_facts.hpp"

#include "core/formats/import_tree.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace gantry {
namespace {

using test::defined;
using test::undefined;
using test::Words;
using Tags = ArgumentTags;

// A library that imports one module, and a tree whose last module imports a previous one.
ImportTree ascending() { return ImportTree::star(1); }
ImportTree falling() {
  const Words words = Words().u64s({0, 1, 1, 2}).u64s({2, 1});
  ByteReader in(words.bytes());
  return ImportTree::parse(in).value();
}

struct Exporter {
  std::string name;
  std::vector<CpuSymbol> symbols;
  ContainerLayout layout;
  std::uint64_t libraries;
  std::optional<ImportTree> tree;
  // expected
  Generation generation;
  Dialect dialect;
  Tags tags;
  Numbering numbering;
  bool has_private_float_codes;
  bool is_v0_7_or_older;
};

void PrintTo(const Exporter& exporter, std::ostream* out) { *out << exporter.name; }

class EveryExporter : public ::testing::TestWithParam<Exporter> {};

TEST_P(EveryExporter, HasItsFacts) {
  const Exporter& exporter = GetParam();

  ExporterFacts facts = facts_of(choose_symbols(exporter.symbols), exporter.layout);
  facts.add_tree(exporter.libraries, exporter.tree ? &*exporter.tree : nullptr);

  EXPECT_EQ(facts.generation, exporter.generation);
  EXPECT_EQ(facts.dialect, exporter.dialect);
  EXPECT_EQ(facts.argument_tags, exporter.tags);
  EXPECT_EQ(facts.numbering, exporter.numbering);
  EXPECT_EQ(facts.has_private_float_codes, exporter.has_private_float_codes);
  const GenerationFacts& all = generation_facts(facts.generation);
  EXPECT_EQ(all.searches_from_root, exporter.is_v0_7_or_older);
  EXPECT_EQ(all.has_old_device_numbers, exporter.is_v0_7_or_older);
}

std::vector<Exporter> every_exporter() {
  const CpuSymbol legacy = defined("__tvm_dev_mblob");
  const CpuSymbol first_ffi = defined("__tvm_ffi_library_bin");
  const CpuSymbol ffi = defined("__tvm_ffi__library_bin");
  const auto none = ContainerLayout::none;
  const auto one = ContainerLayout::one;
  const auto two = ContainerLayout::two;
  const auto packed = Dialect::packed;
  return {
      {"NothingKnown",
       {defined("run")},
       none,
       1,
       {},
       Generation::none,
       Dialect::unknown,
       Tags::unknown,
       Numbering::unknown,
       false,
       false},
      {"PackedWithoutContainer",
       {defined("__TVMFuncCall")},
       none,
       1,
       {},
       Generation::none,
       packed,
       Tags::unknown,
       Numbering::unknown,
       false,
       false},
      {"FfiWithoutContainer",
       {defined("__tvm_ffi_main")},
       none,
       1,
       {},
       Generation::none,
       Dialect::ffi,
       Tags::unknown,
       Numbering::unknown,
       false,
       false},
      {"G0",
       {legacy, defined("__tvm_dev_mblob_nbytes")},
       one,
       0,
       {},
       Generation::g0,
       packed,
       Tags::no,
       Numbering::packed,
       true,
       true},
      {"G1", {legacy}, one, 0, {}, Generation::g1, packed, Tags::no, Numbering::packed, true, true},
      {"G2ByLibraries",
       {legacy},
       one,
       2,
       ascending(),
       Generation::g2,
       packed,
       Tags::no,
       Numbering::packed,
       true,
       true},
      {"G2ByOrder",
       {legacy},
       one,
       1,
       falling(),
       Generation::g2,
       packed,
       Tags::no,
       Numbering::packed,
       true,
       true},
      {"G3",
       {legacy},
       one,
       1,
       ascending(),
       Generation::g3,
       packed,
       Tags::no,
       Numbering::packed,
       true,
       false},
      {"G3x",
       {legacy, defined("__TVMFFIFunctionCall")},
       one,
       1,
       ascending(),
       Generation::g3x,
       Dialect::ffi_0_21,
       Tags::no,
       Numbering::unknown,
       true,
       false},
      {"G4",
       {first_ffi},
       one,
       1,
       ascending(),
       Generation::g4,
       Dialect::ffi_0_21,
       Tags::unknown,
       Numbering::ffi_0_21,
       false,
       false},
      {"G4x",
       {first_ffi},
       two,
       1,
       ascending(),
       Generation::g4x,
       Dialect::ffi_0_21,
       Tags::yes,
       Numbering::ffi,
       false,
       false},
      {"G5",
       {ffi},
       two,
       1,
       ascending(),
       Generation::g5,
       Dialect::ffi,
       Tags::yes,
       Numbering::ffi,
       false,
       false},
      {"G5OfTwoLibraries",
       {ffi},
       two,
       2,
       falling(),
       Generation::g5,
       Dialect::ffi,
       Tags::yes,
       Numbering::ffi,
       false,
       false},
      {"BareLayoutOne",
       {},
       one,
       1,
       ascending(),
       Generation::g3,
       Dialect::unknown,
       Tags::unknown,
       Numbering::unknown,
       false,
       false},
      {"BareLayoutTwo",
       {},
       two,
       1,
       ascending(),
       Generation::g5,
       Dialect::ffi,
       Tags::yes,
       Numbering::ffi,
       false,
       false},
  };
}

INSTANTIATE_TEST_SUITE_P(Each, EveryExporter, ::testing::ValuesIn(every_exporter()),
                         [](const auto& test) { return test.param.name; });

// CPU code of v0.21 is recognized by the names of its functions, with and without a container.
TEST(FirstFfi, HasNoFunctionsWithAPrefix) {
  const auto is_first = [](const std::vector<CpuSymbol>& symbols) {
    return facts_of(choose_symbols(symbols), ContainerLayout::none).dialect == Dialect::ffi_0_21;
  };

  EXPECT_TRUE(is_first({defined("__tvm_ffi_library_bin"), defined("run")}));
  EXPECT_TRUE(is_first({defined("__tvm_ffi_library_ctx"), defined("__TVMFFIFunctionCall")}));
  EXPECT_TRUE(is_first({undefined("TVMFFIFunctionCall"), defined("run")}));
  EXPECT_TRUE(is_first({undefined("TVMFFIFunctionCall"), undefined("__tvm_ffi_run")}));
  EXPECT_FALSE(is_first({defined("__tvm_ffi_library_bin"), defined("__tvm_ffi_run")}));
  EXPECT_FALSE(is_first({defined("__tvm_ffi__library_bin")}));
  EXPECT_FALSE(is_first({defined("__tvm_ffi__library_ctx"), undefined("TVMFFIFunctionCall")}));
  EXPECT_FALSE(is_first({defined("__TVMFuncCall"), defined("run")}));
  EXPECT_FALSE(is_first({defined("run")}));
}

// A plugin receives these as numbers.
TEST(ExporterFacts, HaveTheNumbersOfTheAbi) {
  EXPECT_EQ(static_cast<int>(Tags::unknown), 0);
  EXPECT_EQ(static_cast<int>(Tags::no), 1);
  EXPECT_EQ(static_cast<int>(Tags::yes), 2);
  EXPECT_EQ(static_cast<int>(Numbering::unknown), 0);
  EXPECT_EQ(static_cast<int>(Numbering::packed), 1);
  EXPECT_EQ(static_cast<int>(Numbering::ffi_0_21), 2);
  EXPECT_EQ(static_cast<int>(Numbering::ffi), 3);
}

// The symbol that proves the ffi dialect and the releases that write it. The strongest evidence is
// used wherever it is in the list of symbols.
struct FfiCase {
  std::string name;
  std::vector<CpuSymbol> symbols;
  std::string symbol;
  std::string writer;
};

void PrintTo(const FfiCase& each, std::ostream* out) { *out << each.name; }

class FfiDialect : public ::testing::TestWithParam<FfiCase> {};

TEST_P(FfiDialect, IsProvenByTheStrongestSymbol) {
  const ExporterFacts facts = facts_of(choose_symbols(GetParam().symbols), ContainerLayout::none);

  EXPECT_TRUE(is_ffi(facts.dialect));
  EXPECT_EQ(facts.dialect_symbol, GetParam().symbol);
  EXPECT_EQ(facts.writer, GetParam().writer);
}

INSTANTIATE_TEST_SUITE_P(
    Each, FfiDialect,
    ::testing::Values(
        FfiCase{"Container",
                {defined("__tvm_ffi_main"), defined("__tvm_ffi__library_bin")},
                "__tvm_ffi__library_bin",
                "TVM 0.22 or newer"},
        FfiCase{"PrefixedContainer",
                {defined("__tvm_ffi_main"), defined("my___tvm_ffi__library_bin")},
                "my___tvm_ffi__library_bin",
                "TVM 0.22 or newer"},
        FfiCase{"FirstContainer",
                {defined("__tvm_ffi_main"), defined("__tvm_ffi_library_bin")},
                "__tvm_ffi_library_bin",
                "TVM 0.21"},
        FfiCase{"Context",
                {defined("__tvm_ffi_main"), defined("__tvm_ffi__library_ctx")},
                "__tvm_ffi__library_ctx",
                "TVM 0.22 or newer"},
        FfiCase{"Main",
                {defined("__tvm_ffi_add"), defined("__tvm_ffi_main")},
                "__tvm_ffi_main",
                "TVM 0.22 or newer"},
        FfiCase{"FirstContext",
                {defined("__TVMFFIFunctionCall"), defined("__tvm_ffi_library_ctx")},
                "__tvm_ffi_library_ctx",
                "TVM 0.21"},
        FfiCase{
            "Function",
            {defined("__TVMFFIFunctionCall"), defined("__tvm_ffi_add"), defined("__tvm_ffi_sub")},
            "__tvm_ffi_add",
            "TVM 0.22 or newer"},
        FfiCase{"ContextFunction",
                {undefined("TVMFFIErrorSetRaisedFromCStr"), defined("__TVMFFIFunctionCall")},
                "__TVMFFIFunctionCall",
                "TVM 0.21 or newer, or a development build of 2025"},
        FfiCase{"Import",
                {undefined("TVMBackendGetFuncFromEnv"), undefined("TVMFFIErrorSetRaisedFromCStr")},
                "TVMFFIErrorSetRaisedFromCStr",
                "TVM 0.21 or newer, or a development build of 2025"},
        FfiCase{"Headers",
                {undefined("TVMFFITypeRegisterMethod"), undefined("TVMFFIBacktrace")},
                "TVMFFIBacktrace",
                "TVM 0.22 or newer"},
        FfiCase{"ItsOwnRuntime",
                {defined("TVMFFIFunctionCall")},
                "TVMFFIFunctionCall",
                "TVM 0.21 or newer, or a development build of 2025"}),
    [](const auto& test) { return test.param.name; });

TEST(Generation, HasAName) {
  EXPECT_EQ(name_of(Generation::none), "none");
  EXPECT_EQ(name_of(Generation::g0), "G0");
  EXPECT_EQ(name_of(Generation::g3x), "G3x");
  EXPECT_EQ(name_of(Generation::g4x), "G4x");
  EXPECT_EQ(name_of(Generation::g5), "G5");
  EXPECT_EQ(name_of(Generation::unknown), "unknown");
  EXPECT_EQ(name_of(Dialect::packed), "packed");
  EXPECT_EQ(name_of(Dialect::ffi), "ffi");
  EXPECT_EQ(name_of(Dialect::ffi_0_21), "ffi");
  EXPECT_EQ(name_of(Dialect::unknown), "unknown");
}

TEST(ExporterFacts, AreRefinedByTheTreeForFfiFilesOfLayoutOne) {
  ExporterFacts facts;
  facts.generation = Generation::g3x;

  facts.add_tree(0, nullptr);

  EXPECT_EQ(facts.generation, Generation::g1);
}

}  // namespace
}  // namespace gantry
