// SPDX-License-Identifier: Apache-2.0
//
// Artifacts in memory, and code that is linked into the program.
#include "core/formats/elf/elf_file.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gantry/linked_symbols.h>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <deque>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::Digits;
using test::digits_file;
using test::golden;
using test::make_runtime;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(LoadBytes, RunsAModelAfterTheBytesAreGone) {
  Runtime runtime = make_runtime();
  auto bytes = test::read_file(digits_file());

  const auto module = runtime.load_bytes(bytes, "digits.so");
  std::fill(bytes.begin(), bytes.end(), 0);

  ASSERT_TRUE(module.ok()) << module.error().message;
  Executor executor = Executor::create(runtime, *module, {"cpu"}).value();
  const Digits digits(runtime);
  for (const std::int64_t i : {0, 7, 359}) EXPECT_TRUE(digits.run(executor, i));
}

TEST(LoadBytes, ReturnsAnotherModuleEachTime) {
  Runtime runtime = make_runtime();
  const auto bytes = test::read_file(digits_file());
  const Module first = runtime.load_bytes(bytes, "digits.so").value();

  const Module second = runtime.load_bytes(bytes, "digits.so").value();

  EXPECT_NE(first.get(), second.get());
  const Digits digits(runtime);
  for (const Module& module : {first, second}) {
    Executor executor = Executor::create(runtime, module, {"cpu"}).value();
    EXPECT_TRUE(digits.run(executor, 3));
  }
}

TEST(LoadBytes, NamesTheArtifactInErrors) {
  Runtime runtime = make_runtime();
  const std::string text = "hello, this is text";

  const auto module = runtime.load_bytes(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "from the network");

  ASSERT_FALSE(module.ok());
  EXPECT_THAT(
      module.error().message,
      AllOf(StartsWith("\"from the network\" is text that begins with \"hello, this is text\"; "),
            HasSubstr("while loading from the network")));
}

TEST(LoadBytes, RefusesNothing) {
  Runtime runtime = make_runtime();

  const auto module = runtime.load_bytes({});

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "FILE_EMPTY");
  EXPECT_EQ(module.error().message,
            "artifact in memory is empty\n  while loading artifact in memory");
}

TEST(LoadBytes, ReportsThatNoDescriptorIsLeft) {
  Runtime runtime = make_runtime();
  const auto bytes = test::read_file(digits_file());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);

  const auto module = runtime.load_bytes(bytes, "digits.so");
  setrlimit(RLIMIT_NOFILE, &before);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::exhausted);
  EXPECT_EQ(module.error().message,
            "a private copy cannot be made: Too many open files; raise the limit of open files "
            "(ulimit -n)\n  while loading digits.so");
}

TEST(LoadBytes, OpensNoFileOfTheNameForALibraryThatSearchesItsDirectory) {
  Runtime runtime = make_runtime();
  const auto bytes = test::read_file(test::build_tree() / "tests/host_fixtures/searches_origin.so");

  const auto module = runtime.load_bytes(bytes, "searches_origin.so");

  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("in a private copy of it, where $ORIGIN"));
}

// A table as the archive of gantry/system_library.hpp fills it, of the symbols of a golden file.
class LinkedModel : public ::testing::Test {
 protected:
  void register_symbols(const std::string& prefix) {
    ASSERT_NE(handle_, nullptr) << dlerror();
    const auto file = MappedFile::open(file_).value();
    const ElfFile elf = ElfFile::parse(file).value();
    for (const ElfSymbol& symbol : elf.symbols()) {
      if (!symbol.exported()) continue;
      const std::string name(symbol.name);
      const bool is_variable_of_runtime = name.starts_with("__TVM");
      names_.push_back(is_variable_of_runtime ? name : prefix + name);
      table_.push_back(
          {names_.back().c_str(), dlsym(handle_, name.c_str()), GANTRY_DIALECT_PACKED});
    }
  }
  gantry_linked_symbols symbols() const { return {table_.data(), table_.size(), &table_}; }
  void expect_digits(Runtime& runtime, const Module& module) {
    Executor executor = Executor::create(runtime, module, {"cpu"}).value();
    const Digits digits(runtime);
    for (const std::int64_t i : {0, 7, 359}) EXPECT_TRUE(digits.run(executor, i));
  }
  ~LinkedModel() override { dlclose(handle_); }

  const std::string file_ = digits_file();
  // A file of its own, so that no other test has used its variables.
  const test::TempDir temp_;
  void* handle_ = [this] {
    std::filesystem::copy_file(file_, temp_ / "linked.so");
    return dlopen((temp_ / "linked.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  }();
  std::deque<std::string> names_;
  std::vector<gantry_linked_symbol> table_;
};

TEST_F(LinkedModel, RunsWithTheContainerInMemory) {
  register_symbols("");
  Runtime runtime = make_runtime();

  const auto module = runtime.load_linked(symbols());

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "GraphExecutorFactory");
  expect_digits(runtime, *module);
  EXPECT_EQ(runtime.load_linked(symbols())->get(), module->get());
}

TEST_F(LinkedModel, RunsWithAPrefix) {
  register_symbols("my_");
  Runtime runtime = make_runtime();

  const auto module = runtime.load_linked(symbols(), "my_");

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "GraphExecutorFactory");
  expect_digits(runtime, *module);
}

TEST_F(LinkedModel, SeesNoContainerOfAnotherPrefix) {
  register_symbols("my_");
  Runtime runtime = make_runtime();

  const Module module = runtime.load_linked(symbols(), "other_").value();

  EXPECT_EQ(module.type_key().value(), "_lib");
  EXPECT_THAT(module.functions().value(), Contains("my_tvmgen_default_fused_nn_softmax"));
}

TEST_F(LinkedModel, BelongsToOneRuntime) {
  static void* context = nullptr;
  table_.push_back({"__tvm_module_ctx", &context, GANTRY_DIALECT_PACKED});
  Runtime first = make_runtime();
  { const Module module = first.load_linked(symbols()).value(); }
  Runtime second = make_runtime();

  const auto module = second.load_linked(symbols());

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::invalid);
  EXPECT_EQ(module.error().reason, "LINKED_TWICE");
  EXPECT_THAT(
      module.error().message,
      HasSubstr("already belongs to another module, until this process ends: keep the module "));
}

TEST_F(LinkedModel, IsNotThereWithoutSymbols) {
  Runtime runtime = make_runtime();

  const auto module = runtime.load_linked(symbols());

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::not_found);
  EXPECT_EQ(module.error().message,
            "no symbol is registered: the program contains no system library, or the linker has "
            "left it out of an archive; link its objects as objects");
}

TEST(HostFunctions, HaveTheDialectOfTheirCaller) {
  EXPECT_NE(gantry_host_function("TVMBackendAllocWorkspace", GANTRY_DIALECT_PACKED), nullptr);
  EXPECT_NE(gantry_host_function("TVMBackendAnyListSetPackedArg", GANTRY_DIALECT_FFI),
            gantry_host_function("TVMBackendAnyListSetPackedArg", GANTRY_DIALECT_PACKED));
  EXPECT_EQ(gantry_host_function("TVMFuncCall", GANTRY_DIALECT_FFI), nullptr);
  EXPECT_EQ(gantry_host_function("TVMAbsent", GANTRY_DIALECT_FFI), nullptr);
}

}  // namespace
}  // namespace gantry
