// SPDX-License-Identifier: Apache-2.0
//
// Artifacts that gantry packs: they run, and their parameters are used in place.
#include "core/writing/pack.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

#include <fstream>

namespace gantry {
namespace {

using test::make_runtime;

// Returns the file that an address of this process is mapped from; empty if it is not mapped from
// one.
std::string mapped_from(const void* address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at < begin || at >= end) continue;
    const std::size_t slash = line.find('/');
    return slash == std::string::npos ? std::string() : line.substr(slash);
  }
  return {};
}

class Packed : public testing::Test {
 protected:
  Packed() {
    auto recipe = read_recipe(GANTRY_SOURCE_DIR "/tools/demo/digits.yaml");
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    // only the graph plugin is available
    recipe->device_modules.clear();
    const Status packed = pack(*recipe, file());
    EXPECT_TRUE(packed.ok()) << packed.error().message;
  }
  std::filesystem::path file() const { return dir_ / "digits.so"; }

  static Tensor input(const Executor& executor, const char* name) {
    return executor.module().function("get_input").value()(name)->tensor().value();
  }

 private:
  test::TempDir dir_;
};

TEST_F(Packed, ParametersAreUsedInPlace) {
  Runtime runtime = make_runtime();
  const Executor executor =
      Executor::create(runtime, runtime.load(file().string()).value(), {"cpu"}).value();

  for (const char* name : {"w0", "b0", "w1", "b1", "w2", "b2"}) {
    const Tensor parameter = input(executor, name);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameter.data()) % 128, 0u) << name;
    EXPECT_EQ(mapped_from(parameter.data()), file().string()) << name;
  }
  EXPECT_EQ(mapped_from(input(executor, "x").data()), "");
}

TEST_F(Packed, ParameterThatIsSetHasSeparateMemory) {
  Runtime runtime = make_runtime();
  const Module model = runtime.load(file().string()).value();
  Executor one = Executor::create(runtime, model, {"cpu"}).value();
  const Executor other = Executor::create(runtime, model, {"cpu"}).value();
  const Tensor zeros = runtime.tensor({10}, {2, 32, 1}).value();
  for (float& x : zeros.elements<float>()) x = 0;

  ASSERT_TRUE(one.set_input("b2", zeros).ok());

  EXPECT_EQ(mapped_from(input(one, "b2").data()), "");
  EXPECT_THAT(input(one, "b2").elements<float>(), testing::Each(0.f));
  EXPECT_EQ(mapped_from(input(other, "b2").data()), file().string());
}

TEST_F(Packed, ExecutorSetsInputsAndReturnsOutputsInOneCall) {
  Runtime runtime = make_runtime();
  const test::Digits digits(runtime);
  Executor executor =
      Executor::create(runtime, runtime.load(file().string()).value(), {"cpu"}).value();
  const Tensor image = digits.inputs.row(0).value();

  const auto outputs = executor.run({{"x", image}});
  const auto refused = executor.run({{"no such", image}});

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(outputs->front().data(), executor.output(0)->data());
  EXPECT_THAT(
      outputs->front().elements<float>(),
      testing::Pointwise(testing::FloatNear(1e-5f), digits.expected.row(0)->elements<float>()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::not_found);
}

TEST_F(Packed, ClassifierHasTheExpectedAccuracy) {
  Runtime runtime = make_runtime();
  const test::Digits digits(runtime);
  const Tensor labels =
      test::Digits::read(runtime, GANTRY_SOURCE_DIR "/tools/demo/data/labels.npy");
  Executor executor =
      Executor::create(runtime, runtime.load(file().string()).value(), {"cpu"}).value();

  int right = 0;
  for (std::int64_t i = 0; i < 360; ++i) {
    ASSERT_TRUE(executor.set_input("x", digits.inputs.row(i).value()).ok());
    ASSERT_TRUE(executor.run().ok());
    const auto scores = executor.output(0)->elements<float>();
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const void* label = labels.row(i)->data();
    right += labels.dtype().bits == 64 ? *static_cast<const std::int64_t*>(label) == best
                                       : *static_cast<const std::uint8_t*>(label) == best;
  }

  EXPECT_EQ(right, 348);
}

}  // namespace
}  // namespace gantry
