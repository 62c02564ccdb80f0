// SPDX-License-Identifier: Apache-2.0
//
// A program that contains models. It links libgantry.so and libgantry_system_library.a as an
// embedder's program does; CMake compiles it once for each dialect.
#include <gantry/system_library.hpp>

#include "core/formats/archive/archive_members.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/built_plugins.hpp"
#include "tests/support/files.hpp"

#include <gantry/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace gantry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Runtime new_runtime() {
  RuntimeOptions options;
  options.plugin_paths = {test::built_plugins()};
  options.only_these_plugins = true;
  return Runtime::create(options).value();
}

#ifdef GANTRY_TEST_FFI

Tensor ramp(const Runtime& runtime, float factor) {
  Tensor made = runtime.tensor({7}, {2, 32, 1}).value();
  const std::span<float> values = made.elements<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * static_cast<float>(i);
  return made;
}

TEST(FfiSystemLibrary, RunsItsFunctions) {
  const Runtime runtime = new_runtime();

  const auto module = system_library(runtime, "gl_");

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(module->functions().value(), Contains("par_mat"));
  const Tensor a = ramp(runtime, 1), b = ramp(runtime, 10), c = ramp(runtime, 0);
  const auto called = module->function("axpy").value()(a, b, c, 2.5, 7);
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(c.elements<float>()[4], 2.5f * 4 + 40);
}

TEST(FfiSystemLibrary, RaisesErrors) {
  const Runtime runtime = new_runtime();
  const Module module = system_library(runtime).value();

  const auto called = module.function("axpy").value()();

  ASSERT_FALSE(called.ok());
  EXPECT_THAT(called.error().message, HasSubstr("Expected 5 arguments when calling"));
  EXPECT_THAT(called.error().message, HasSubstr("entry 0 \"_lib\" of system library"));
}

#else

TEST(PackedSystemLibrary, RunsItsFunctions) {
  const Runtime runtime = new_runtime();

  const Module module = system_library(runtime).value();

  const auto called = module.function("twice").value()(21);
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(called->integer().value(), 42);
  EXPECT_THAT(module.function("twice").value()().error().message,
              HasSubstr("twice has one argument"));
}

TEST(PackedSystemLibrary, FindsFunctionsWithItsPrefixAndInItsContext) {
  const Runtime runtime = new_runtime();
  ASSERT_TRUE(runtime
                  .add_function("answer",
                                [](std::span<const gantry_value>) -> Result<Any> {
                                  return Any(Value::adopt(int_value(42)));
                                })
                  .ok());

  const Module module = system_library(runtime, "my_").value();

  const auto called = module.function("ask").value()();
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(called->integer().value(), 42);
  EXPECT_TRUE(module.function("twice").ok());
  EXPECT_EQ(module.function("absent").error().code, Code::not_found);
}

#ifdef GANTRY_TEST_CONTAINER

// The constructor of the object that `gantry pack` has written registers the container, whose graph
// calls functions that other code registers.
TEST(PackedSystemLibrary, RunsTheModelOfAPackedContainer) {
  const Runtime runtime = new_runtime();

  const auto model = system_library(runtime, "linked_");

  ASSERT_TRUE(model.ok()) << model.error().message;
  const ModelFunction function = runtime.model(*model, {"cpu"}).value().function().value();
  const Tensor x = runtime.tensor({4}, {2, 32, 1}).value();
  std::ranges::copy(std::array<float, 4>{1, 2, 3, 4}, x.elements<float>().begin());
  const auto outputs = function.run({{"x", x}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const Tensor y = outputs->front().value.tensor().value();
  EXPECT_THAT(y.elements<float>(), ElementsAre(11, 42, 93, 164));
}

#endif

#endif

// Otherwise another library of the process could be given them.
TEST(SystemLibrary, HidesWhatItDefines) {
  const auto archive = test::read_file(GANTRY_SYSTEM_LIBRARY);
  const std::vector<ArchiveMember> members = read_ar_members(archive).value();
  ASSERT_EQ(members.size(), 1u);
  const ElfFile object = ElfFile::parse(members.front().content).value();
  ASSERT_NE(object.find("TVMBackendAllocWorkspace"), nullptr);
  for (const ElfSymbol& symbol : object.symbols()) EXPECT_FALSE(symbol.exported()) << symbol.name;
}

}  // namespace
}  // namespace gantry
