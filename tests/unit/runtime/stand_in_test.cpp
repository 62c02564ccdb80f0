// SPDX-License-Identifier: Apache-2.0
//
// A process in which another runtime defines, globally, the functions that artifacts import: opened
// before artifacts are loaded, and after. core/decisions/0005-binding-imports.md
#include "tests/unit/runtime/stand_in.hpp"

#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <ostream>

namespace gantry {
namespace {

using test::linked_releases;
using test::LinkedRelease;
using test::StandIn;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An artifact, and calls that use the functions of its runtime.
struct Neighbour {
  std::string name;
  // golden file, or empty
  std::string file;
  std::optional<LinkedRelease> release;
  std::vector<std::string> link_flags;
  void (*use)(Runtime& runtime, const Module& model);
};
void PrintTo(const Neighbour& neighbour, std::ostream* out) { *out << neighbour.name; }

// sources/functions.c
void use_functions(Runtime& runtime, const Module& model) {
  ASSERT_TRUE(model.function("call_by_name").ok())
      << model.function("call_by_name").error().message;
  const std::string name = concat("test.add", reinterpret_cast<std::uintptr_t>(model.get()));
  (void)runtime.add_function(name, [](std::span<const gantry_value> args) -> Result<Any> {
    return Any(Value::adopt(int_value(args[0].i + args[1].i)));
  });

  EXPECT_EQ((*model.function("call_by_name"))(name, 30, 12)->integer().value(), 42);
  EXPECT_TRUE((*model.function("use_workspace"))(100000).ok());
  const auto raised = (*model.function("sum"))("text", 1);
  ASSERT_FALSE(raised.ok());
  EXPECT_THAT(raised.error().message, HasSubstr("Mismatched type on argument #0, expected int\n"));
}

// The first arguments and results that TVM recorded.
void use_executable(Runtime& runtime, const Module& model) {
  const auto file = test::golden("relax/cnn_llvm.npz").string();
  const auto arrays = runtime.read_tensors(file).value();
  const auto named = [&](std::string_view name) {
    return std::ranges::find(arrays, name, [](const auto& array) { return array.first; })->second;
  };
  const auto vm = (*model.function("vm_load_executable"))(gantry_device_id{1, 0});
  ASSERT_TRUE(vm.ok()) << vm.error().message;

  const auto output = (*vm->module()->function("main"))(named("c0_a0"));

  ASSERT_TRUE(output.ok()) << output.error().message;
  const Tensor y = output->tensor().value();
  const Tensor expected = named("c0_r");
  const auto wanted = expected.elements<float>();
  ASSERT_EQ(y.elements<float>().size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(y.elements<float>()[i], wanted[i], 1e-5);
}

// A kernel that is called without arguments.
void use_kernel(Runtime&, const Module& model) {
  const auto called = (*model.function("axpy2"))();

  ASSERT_FALSE(called.ok());
  ASSERT_TRUE(raised(called.error())) << called.error().message;
  EXPECT_EQ(raised(called.error())->kind, "TypeError");
  EXPECT_THAT(called.error().message, StartsWith("Expected "));
}

std::vector<Neighbour> neighbours() {
  std::vector<Neighbour> all = {
      {"GoldenC", "tvm-0.25/axpy2_c.so", {}, {}, use_kernel},
      {"GoldenLlvm", "tvm-0.25/axpy2_llvm.so", {}, {}, use_kernel},
      {"GoldenRelaxC", "relax/cnn_c.so", {}, {}, use_executable},
      {"GoldenRelaxCompiled", "relax/cnn_compiled_llvm.so", {}, {}, use_executable},
  };
  for (const LinkedRelease& release : linked_releases) {
    all.push_back({release.name, "", release, {}, use_functions});
    all.push_back({release.name + "_Now", "", release, {"-Wl,-z,now"}, use_functions});
  }
  return all;
}

class BesideAnotherRuntime : public ::testing::TestWithParam<Neighbour> {
 protected:
  Module load() {
    const Neighbour& artifact = GetParam();
    const std::string path = artifact.release ? test::link_release(*artifact.release, "functions.c",
                                                                   {}, artifact.link_flags)
                                              : test::golden(artifact.file).string();
    auto model = runtime.load(path);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return *model;
  }
  void use(const Module& model) { GetParam().use(runtime, model); }
  static void expect_apart(const StandIn& other) {
    EXPECT_EQ(other.calls(), 0) << "the last one of " << other.last();
    EXPECT_TRUE(other.reaches_itself());
    for (const std::string& name : StandIn::names()) {
      EXPECT_EQ(StandIn::global(name.c_str()), other.own(name.c_str())) << name;
    }
  }

  Runtime runtime = test::new_runtime(test::built_plugins_only("relax"));
};

TEST_P(BesideAnotherRuntime, OpenedBeforeIt) {
  {
    const StandIn other;
    const Module model = load();

    use(model);

    expect_apart(other);
  }
  EXPECT_EQ(StandIn::global("TVMFFIFunctionCall"), nullptr) << "nothing is bound to it";
}

TEST_P(BesideAnotherRuntime, OpenedAfterIt) {
  const Module model = load();
  {
    const StandIn other;

    use(model);

    expect_apart(other);
  }
  EXPECT_EQ(StandIn::global("TVMFFIFunctionCall"), nullptr) << "nothing is bound to it";
}

// Functions that were called before it is opened, and others.
TEST_P(BesideAnotherRuntime, OpenedBetweenCalls) {
  const Module model = load();
  use(model);
  const StandIn other;

  use(model);

  expect_apart(other);
}

INSTANTIATE_TEST_SUITE_P(Artifacts, BesideAnotherRuntime, ::testing::ValuesIn(neighbours()),
                         [](const auto& test) { return test.param.name; });

// A library of the process that is no artifact finds only the other runtime.
TEST(StandInAlone, DefinesTheFunctionsOfTheRuntime) {
  const StandIn other;

  EXPECT_GE(StandIn::names().size(), 15u);
  EXPECT_TRUE(other.reaches_itself());
}

}  // namespace
}  // namespace gantry
