// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda_libraries/world.hpp"

namespace gantry::cuda_libraries::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr const char* random_fill = "runtime.contrib.curand.RandomFill";

class CudaRandomFill : public World {
 protected:
  template <class T>
  std::vector<T> filled(gantry_dtype type) {
    const auto out = on_device<T>({4, 25}, std::vector<T>(100, T(7)), type);
    done(random_fill, {out->value()});
    EXPECT_EQ(out->template values<T>(1)[0], T(7)) << "the call does not wait";
    synchronize(env.stream);
    return out->template values<T>(100);
  }
};

TEST_F(CudaRandomFill, IsUniformInTheStreamOfTheCall) {
  env.stream = new_stream();

  EXPECT_THAT(filled<float>(dtypes::float32), Each(AllOf(Gt(0), Le(1))));
  EXPECT_THAT(filled<double>(dtypes::float64), Each(AllOf(Gt(0), Le(1))));

  EXPECT_THAT(libraries.generator_streams, Each(env.stream));
  device().stream_destroy(self, 0, env.stream);
}

// The library has no float16: a kernel converts float32.
TEST_F(CudaRandomFill, ConvertsHalves) {
  std::vector<float> values;
  for (const _Float16 half : filled<_Float16>(dtypes::float16))
    values.push_back(static_cast<float>(half));

  EXPECT_THAT(values, Each(AllOf(Gt(0), Le(1))));
  EXPECT_EQ(driver.launches.back().kernel, "gantry_halves_of_floats");
  EXPECT_THAT(driver.launches.back().grid, ElementsAre(1, 1, 1));
  EXPECT_EQ(driver.count_of("cuMemAllocFromPoolAsync"), 1u);
  EXPECT_EQ(driver.count_of("cuMemFreeAsync"), 1u);

  filled<_Float16>(dtypes::float16);
  EXPECT_EQ(driver.count_of("cuModuleLoadDataEx"), 1u) << "the kernel is kept";
}

TEST_F(CudaRandomFill, HasGeneratorsOfDifferentSeeds) {
  const auto first = on_device<float>({1}, {7}, dtypes::float32);
  const auto second = on_device<float>({1}, {7}, dtypes::float32, 1);

  done(random_fill, {first->value()});
  done(random_fill, {first->value()});
  done(random_fill, {second->value()});

  ASSERT_EQ(libraries.seeds.size(), 2u) << "one generator for each device";
  EXPECT_NE(libraries.seeds[0], libraries.seeds[1]);
  synchronize();
  synchronize(nullptr, 1);
}

TEST_F(CudaRandomFill, OfNothingNeedsNoLibrary) {
  host.options["curand"] = "/nowhere/libcurand.so";
  const auto out = floats({0, 3}, {});

  done(random_fill, {out->value()});

  EXPECT_THAT(libraries.calls, IsEmpty());
}

TEST_F(CudaRandomFill, OfHalvesIsNotCaptured) {
  env.stream = new_stream();
  const auto out = on_device<_Float16>({1}, {_Float16(7)}, dtypes::float16);
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);

  const Error error = error_of(random_fill, {out->value()});

  EXPECT_EQ(error.reason, "CAPTURE");
  EXPECT_THAT(std::string(error.message.text()),
              HasSubstr("a captured run cannot fill float16[1]"));
  void* graph = nullptr;
  ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
  device().capture_destroy(self, 0, graph);
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaRandomFill, HasTheNamesOfTheLibrarysErrors) {
  struct Case {
    const char* function;
    int status;
    Code code;
    const char* text;
  };
  const auto singles = floats({1}, {0});
  const auto doubles = on_device<double>({1}, {0}, dtypes::float64);
  for (const Case& one :
       {Case{"curandCreateGenerator", 203, Code::unavailable,
             "CURAND_STATUS_INITIALIZATION_FAILED (203)"},
        Case{"curandSetPseudoRandomGeneratorSeed", 101, Code::unavailable,
             "CURAND_STATUS_NOT_INITIALIZED (101)"},
        Case{"curandSetStream", 101, Code::unavailable, "CURAND_STATUS_NOT_INITIALIZED (101)"},
        Case{"curandGenerateUniform", 102, Code::exhausted,
             "CURAND_STATUS_ALLOCATION_FAILED (102)"},
        Case{"curandGenerateUniformDouble", 201, Code::unavailable,
             "CURAND_STATUS_LAUNCH_FAILURE (201)"}}) {
    libraries.failing = {{one.function, one.status}};
    const bool is_double = std::string_view(one.function).ends_with("Double");

    const Error error = error_of(random_fill, {(is_double ? doubles : singles)->value()});

    EXPECT_EQ(error.code, one.code) << one.function;
    EXPECT_EQ(error.native_domain, "cuRAND");
    EXPECT_EQ(error.message.text(), concat(one.function, ": ", one.text));
  }
}

TEST_F(CudaRandomFill, RefusesOtherTensors) {
  const auto integers = on_device<std::int32_t>({1}, {0}, dtypes::int32);
  float number = 0;
  Tensor cpu;
  cpu.shape = {1};
  cpu.tensor = compact_tensor(dtypes::float32, cpu.shape, gantry::test::cpu, &number);

  EXPECT_THAT(std::string(error_of(random_fill, {integers->value()}).message.text()),
              HasSubstr("expected a tensor of float16, float32 or float64"));
  EXPECT_THAT(std::string(error_of(random_fill, {cpu.value()}).message.text()),
              HasSubstr("expected a compact tensor on a device cuda"));
  EXPECT_THAT(std::string(error_of(random_fill, {}).message.text()),
              HasSubstr("argument count is 0, expected 1"));
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
