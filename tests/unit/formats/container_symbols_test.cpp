// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container_symbols.hpp"

#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::defined;
using test::undefined;
using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Family = ContainerSymbols::Family;

struct LayoutCase {
  std::string name;
  Words content;
  ContainerLayout layout;
};

class LayoutOf : public ::testing::TestWithParam<LayoutCase> {};

TEST_P(LayoutOf, FollowsTheFirstTwoWords) {
  EXPECT_EQ(layout_of(GetParam().content.bytes()), GetParam().layout);
}

INSTANTIATE_TEST_SUITE_P(
    Each, LayoutOf,
    ::testing::Values(
        LayoutCase{"Nothing", Words(), ContainerLayout::none},
        LayoutCase{"Empty", Words().u64(0), ContainerLayout::one},
        LayoutCase{"EmptyAndMore", Words().u64(0).str("cuda"), ContainerLayout::one},
        LayoutCase{"CountAlone", Words().u64(2), ContainerLayout::none},
        LayoutCase{"Key", Words().u64(2).str("_lib"), ContainerLayout::one},
        LayoutCase{"KeyCut", Words().u64(2).u64(5).text("_lib"), ContainerLayout::none},
        LayoutCase{"KeyNotPrintable",
                   Words().u64(2).str("_l\x01"
                                      "b"),
                   ContainerLayout::none},
        LayoutCase{"LongestKey", Words().u64(2).str(std::string(256, 'k')), ContainerLayout::one},
        LayoutCase{"FirstAndLastPrintable", Words().u64(2).str(" ~"), ContainerLayout::one},
        LayoutCase{"BeforeTheFirstPrintable", Words().u64(2).str("\x1f"), ContainerLayout::none},
        LayoutCase{"BehindTheLastPrintable", Words().u64(2).str("\x7f"), ContainerLayout::none},
        LayoutCase{"KeyTooLong", Words().u64(2).str(std::string(257, 'k')), ContainerLayout::none},
        LayoutCase{"Tree", Words().u64(2).u64(0).u64(0).u64(0).str("_lib"), ContainerLayout::two}),
    [](const auto& test) { return test.param.name; });

// The table of generations in FORMAT.md, as far as it depends on symbols.
struct SymbolCase {
  std::string name;
  std::vector<CpuSymbol> symbols;
  Family family;
  Dialect dialect;
};

class ChooseSymbols : public ::testing::TestWithParam<SymbolCase> {};

TEST_P(ChooseSymbols, DetectsFamilyAndDialect) {
  const ContainerSymbols chosen = choose_symbols(GetParam().symbols);

  EXPECT_EQ(chosen.family, GetParam().family);
  EXPECT_EQ(chosen.dialect, GetParam().dialect);
  EXPECT_EQ(chosen.blob.has_value(), GetParam().family != Family::none);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ChooseSymbols,
    ::testing::Values(
        SymbolCase{"Legacy", {defined("__tvm_dev_mblob")}, Family::legacy, Dialect::packed},
        SymbolCase{"LegacyWithFfi",
                   {defined("__tvm_dev_mblob"), defined("__TVMFFIFunctionCall")},
                   Family::legacy,
                   Dialect::ffi_0_21},
        SymbolCase{
            "FfiFirst", {defined("__tvm_ffi_library_bin")}, Family::ffi_first, Dialect::ffi_0_21},
        SymbolCase{"Ffi", {defined("__tvm_ffi__library_bin")}, Family::ffi, Dialect::ffi},
        SymbolCase{
            "UndefinedIsNone", {undefined("__tvm_dev_mblob")}, Family::none, Dialect::unknown},
        SymbolCase{"Nothing", {defined("main")}, Family::none, Dialect::unknown},
        SymbolCase{"PackedByCall", {defined("__TVMFuncCall")}, Family::none, Dialect::packed},
        SymbolCase{"PackedByContext", {defined("__tvm_module_ctx")}, Family::none, Dialect::packed},
        SymbolCase{"PackedByMain", {defined("__tvm_main__")}, Family::none, Dialect::packed},
        SymbolCase{"PackedByApi", {defined("__TVMAPISetLastError")}, Family::none, Dialect::packed},
        SymbolCase{"PackedByBackend",
                   {defined("__TVMBackendAllocWorkspace")},
                   Family::none,
                   Dialect::packed},
        SymbolCase{"PackedByImport",
                   {undefined("TVMBackendAllocWorkspace")},
                   Family::none,
                   Dialect::packed},
        SymbolCase{"FfiByCall", {defined("__TVMFFIFunctionCall")}, Family::none, Dialect::ffi_0_21},
        SymbolCase{"FfiByFunction", {defined("__tvm_ffi_add")}, Family::none, Dialect::ffi},
        SymbolCase{
            "FfiByImport",
            {undefined("TVMFFIErrorSetRaisedFromCStr"), undefined("TVMBackendGetFuncFromEnv")},
            Family::none,
            Dialect::ffi_0_21},
        SymbolCase{"FfiByHeaders",
                   {undefined("TVMFFITypeRegisterMethod"), undefined("TVMFFIBacktrace")},
                   Family::none,
                   Dialect::ffi},
        SymbolCase{"DefinedTvmIsNobody", {defined("TVMFuncCall")}, Family::none, Dialect::unknown}),
    [](const auto& test) { return test.param.name; });

TEST(ChooseSymbols, FindsTheContextSlotOfTheFamily) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_module_ctx"),
                                       defined("__tvm_ffi__library_ctx"),
                                       defined("__tvm_ffi__library_bin")};

  EXPECT_EQ(choose_symbols(symbols).context, 1u);
}

TEST(ChooseSymbols, FindsTheContextSlotWithoutAContainer) {
  const std::vector<CpuSymbol> symbols{defined("run"), defined("__tvm_module_ctx")};

  EXPECT_EQ(choose_symbols(symbols).context, 1u);
}

TEST(ChooseSymbols, FindsAPrefixedContainer) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_module_ctx"), defined("my___tvm_dev_mblob"),
                                       defined("my___tvm_module_ctx")};

  const ContainerSymbols chosen = choose_symbols(symbols);

  EXPECT_EQ(chosen.blob, 1u);
  EXPECT_EQ(chosen.prefix, "my_");
  EXPECT_EQ(chosen.context, 2u);
  EXPECT_THAT(chosen.warnings, IsEmpty());
}

TEST(ChooseSymbols, PrefersTheContainerWithoutAPrefixAndNamesTheOthers) {
  const std::vector<CpuSymbol> symbols{defined("a_"
                                               "__tvm_dev_mblob"),
                                       defined("__tvm_dev_mblob"),
                                       defined("b_"
                                               "__tvm_dev_mblob")};

  const ContainerSymbols chosen = choose_symbols(symbols);

  EXPECT_EQ(chosen.blob, 1u);
  EXPECT_EQ(chosen.prefix, "");
  EXPECT_THAT(chosen.warnings,
              ElementsAre("file contains another container at symbol a___tvm_dev_mblob",
                          "file contains another container at symbol b___tvm_dev_mblob"));
}

// The order of a symbol table depends on the linker.
TEST(ChooseSymbols, PrefersTheLeastPrefixInAnyOrder) {
  const std::vector<CpuSymbol> symbols{defined("b___tvm_dev_mblob"), defined("a___tvm_dev_mblob")};

  const ContainerSymbols chosen = choose_symbols(symbols);

  EXPECT_EQ(chosen.prefix, "a_");
  EXPECT_THAT(chosen.warnings,
              ElementsAre("file contains another container at symbol b___tvm_dev_mblob"));
}

TEST(ChooseSymbols, PrefersTheNewerFamily) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_dev_mblob"),
                                       defined("__tvm_ffi__library_bin")};

  const ContainerSymbols chosen = choose_symbols(symbols);

  EXPECT_EQ(chosen.family, Family::ffi);
  EXPECT_THAT(chosen.warnings,
              ElementsAre("file contains another container at symbol __tvm_dev_mblob"));
}

TEST(ChooseSymbols, FindsTheSizeOfAContainerWithoutAHeader) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_dev_mblob"),
                                       defined("__tvm_dev_mblob_nbytes")};

  EXPECT_EQ(choose_symbols(symbols).size, 1u);
}

TEST(ChooseSymbols, FindsNoContextSlotUnderAnotherPrefixOrWithoutADefinition) {
  const std::vector<CpuSymbol> symbols{defined("my___tvm_dev_mblob"),
                                       defined("no___tvm_module_ctx"),
                                       undefined("my___tvm_module_ctx"), defined("")};

  EXPECT_EQ(choose_symbols(symbols).context, std::nullopt);
  EXPECT_EQ(choose_symbols(std::vector{undefined("__tvm_module_ctx"), defined("")}).context,
            std::nullopt);
}

TEST(ChooseSymbols, PrefersTheContextSlotOfTheNewerFamilyWithoutAContainer) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_ffi__library_ctx"),
                                       defined("__tvm_module_ctx")};

  EXPECT_EQ(choose_symbols(symbols).context, 0u);
}

TEST(ChooseSymbols, FindsTheContextSlotWithTheLeastPrefixWithoutAContainer) {
  const std::vector<CpuSymbol> symbols{defined("b___tvm_ffi__library_ctx"),
                                       defined("a___tvm_ffi__library_ctx"),
                                       defined("c___tvm_ffi__library_ctx")};

  const ContainerSymbols chosen = choose_symbols(symbols);

  EXPECT_EQ(chosen.context, 1u);
  EXPECT_EQ(chosen.prefix, "a_");
}

TEST(ChooseSymbols, PrefersTheNewerFamilyWithAPrefixToTheOlderOneWithout) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_dev_mblob"),
                                       defined("z___tvm_ffi__library_bin")};

  EXPECT_EQ(choose_symbols(symbols).blob, 1u);
}

TEST(ChooseSymbols, PrefersTheFirstOfTwoEqualNames) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_dev_mblob"), defined("__tvm_dev_mblob")};

  EXPECT_EQ(choose_symbols(symbols).blob, 0u);
}

TEST(ChooseSymbols, FindsTheSizeOfTheOldestFamilyOnly) {
  const std::vector<CpuSymbol> symbols{defined("__tvm_ffi__library_bin"),
                                       defined("__tvm_dev_mblob_nbytes")};

  EXPECT_EQ(choose_symbols(symbols).size, std::nullopt);
}

}  // namespace
}  // namespace gantry
