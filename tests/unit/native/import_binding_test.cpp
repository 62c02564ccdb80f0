// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/import_binding.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/unit/native/host_world.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TvmCppImports, AreRecognizedByEachFormOfACppName) {
  ExporterFacts packed;
  packed.dialect = Dialect::packed;
  for (const char* const name :
       {"_ZN3tvm7runtime6Object3GetEv", "_ZNK3tvm7runtime6Object4kindEv",
        "_ZTIN3tvm7runtime6ObjectE", "_ZTSN3tvm7runtime6ObjectE", "_ZTVN3tvm7runtime6ObjectE"}) {
    const auto bytes = test::ElfBuilder().undefined(name).build();
    const ElfFile elf = ElfFile::parse(bytes).value();

    const auto binding = ImportBinding::of(elf, packed, "model.so");

    ASSERT_FALSE(binding.ok()) << name;
    EXPECT_EQ(binding.error().code, Code::unsupported);
    EXPECT_EQ(binding.error().reason, "TVM_CPP");
    EXPECT_THAT(binding.error().message, HasSubstr(concat("model.so imports \"", name, "\"")));
  }
  const auto other = test::ElfBuilder().undefined("_ZN4tvmx3GetEv").build();
  EXPECT_TRUE(ImportBinding::of(ElfFile::parse(other).value(), packed, "model.so").ok());
}

ImportBinding binding_of(std::string_view name) {
  const auto file = MappedFile::open(fixture(name)).value();
  const ElfFile elf = ElfFile::parse(file).value();
  return ImportBinding::of(elf, facts_by_symbols(elf), name).value();
}

TEST(ImportBinding, IsLazyIfTheLinkerBindsAtTheFirstCall) {
  EXPECT_TRUE(binding_of("ffi.so").is_lazy());
  EXPECT_TRUE(binding_of("imports_tvm.so").is_lazy());
}

TEST(ImportBinding, IsEmptyWithoutImports) {
  const ImportBinding binding = binding_of("packed.so");

  EXPECT_TRUE(binding.empty());
  EXPECT_FALSE(binding.is_lazy());
  EXPECT_FALSE(binding.needs_copy());
}

// Linked with tvm-ffi's library, code may import a function of compiled code alone, or none.
TEST(ImportBinding, DropsTheLibraryWhoseFunctionsTheRuntimeHas) {
  for (const bool imports : {true, false}) {
    test::ElfBuilder builder;
    builder.needed("libtvm_ffi.so").needed("libm.so.6");
    if (imports) builder.undefined("TVMFFIErrorSetRaisedFromCStr");
    const auto bytes = builder.build();
    const ElfFile elf = ElfFile::parse(bytes).value();
    ExporterFacts facts;
    facts.dialect = Dialect::ffi;

    const ImportBinding binding = ImportBinding::of(elf, facts, "model.so").value();

    EXPECT_FALSE(binding.empty());
    EXPECT_TRUE(binding.needs_copy());
    EXPECT_TRUE(binding.drops("libtvm_ffi.so"));
    EXPECT_FALSE(binding.drops("libm.so.6"));
    const auto copy = binding.copied(bytes);
    const ElfFile copied = ElfFile::parse(copy).value();
    EXPECT_EQ(copied.needed(), std::vector<std::string_view>{"libm.so.6"});
  }
}

TEST(ImportBinding, NeedsACopyIfTheLinkerBindsWhenItOpensTheLibrary) {
  EXPECT_TRUE(binding_of("ffi_now.so").needs_copy());
}

TEST(ImportBinding, NeedsACopyIfCodeLoadsTheAddress) {
  EXPECT_TRUE(binding_of("ffi_no_plt.so").needs_copy());
}

TEST(ImportBinding, NeedsACopyIfAConstructorCallsAnImport) {
  EXPECT_TRUE(binding_of("ffi_system_library.so").needs_copy());
}

TEST(ImportBinding, NeedsACopyIfAnotherImportIsNotGlobal) {
  EXPECT_TRUE(binding_of("ffi_needs_absent.so").needs_copy());
}

TEST(ImportBinding, NeedsACopyIfTheEnvironmentBindsEverythingEarly) {
  HostWorld world(1);
  world.services.binds_early = true;

  EXPECT_TRUE(world.open(fixture("ffi.so")).value()->is_private_copy());
  EXPECT_FALSE(world.open(fixture("packed.so")).value()->is_private_copy());
}

// Every way of binding, and a library of the process that defines the same names.
class Bound : public ::testing::TestWithParam<const char*> {
 protected:
  // What the error of a kernel says that raises one.
  Error raised() {
    HostWorld world(1);
    const auto node = world.load_whole(fixture(GetParam()));
    auto result = call_named(node, "raise", {text_value("text")});
    EXPECT_FALSE(result.ok());
    return std::move(result).error();
  }
};

TEST_P(Bound, CallsGantry) {
  EXPECT_THAT(raised().message, StartsWith("text of 4 bytes\n  in host function \"raise\" of "));
}

TEST_P(Bound, CallsGantryBesideAnotherDefinition) {
  void* const foreign = dlopen(fixture("foreign_ffi.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(foreign, nullptr) << dlerror();
  auto* const calls = static_cast<int*>(dlsym(foreign, "foreign_calls"));
  auto* const call_itself = reinterpret_cast<void (*)()>(dlsym(foreign, "foreign_call_itself"));

  EXPECT_THAT(raised().message, StartsWith("text of 4 bytes\n"));
  EXPECT_EQ(*calls, 0);
  call_itself();
  EXPECT_EQ(*calls, 1);
  *calls = 0;
  dlclose(foreign);
}

TEST_P(Bound, LeavesTheNamesUndefinedForOthers) {
  HostWorld world(1);
  const auto node = world.load_whole(fixture(GetParam()));

  EXPECT_EQ(dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStrParts"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Libraries, Bound,
                         ::testing::Values("ffi.so", "ffi_now.so", "ffi_no_plt.so"));

TEST(HalfImports, AreBound) {
  HostWorld world(1);

  EXPECT_TRUE(world.open(fixture("imports_half.so")).ok());
}

TEST(SystemLibrary, IsOpenedAlthoughItsConstructorCallsTheRuntime) {
  HostWorld world(1);

  const auto node = world.load_whole(fixture("ffi_system_library.so"));

  EXPECT_EQ(call_named(node, "registered").value().get().i, 1);
}

}  // namespace
}  // namespace gantry::test
