// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/default_devices.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/graph_files.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/container.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::replaced;
using ::testing::ElementsAre;

class ModelDevices : public ::testing::Test {
 protected:
  // Of a graph whose values are on these device numbers.
  DefaultDevices of_graph(std::string_view numbers,
                          std::vector<std::pair<std::int32_t, std::int32_t>> converted = {}) {
    const std::string text = replaced(test::small_graph, "[1,1,1,1]", numbers);
    return of({.text = text, .has_library = true}, std::move(converted));
  }
  // Of an artifact with modules of these type keys.
  DefaultDevices of_modules(const std::vector<std::string>& keys, bool is_ahead_of_time = false) {
    // A format, no functions, no code.
    const test::Words payload = test::Words().str("x").u64(0).str("");
    ModelParts parts{.is_ahead_of_time = is_ahead_of_time, .has_library = true};
    for (const std::string& key : keys) parts.payloads.push_back({key, payload.bytes()});
    return of(parts, {});
  }

 private:
  DefaultDevices of(const ModelParts& parts,
                    std::vector<std::pair<std::int32_t, std::int32_t>> converted) {
    const auto file = model_container("model.so", parts).value();
    Artifact artifact;
    artifact.container = read_container_bytes(file->bytes(), PayloadLayouts::built_in()).value();
    artifact.device_numbers = std::move(converted);
    return default_devices(artifact, *state_of(runtime_.get())->plugins);
  }
  Runtime runtime_ = test::make_runtime();
};

TEST_F(ModelDevices, OfAGraphOfTheCpuAreTheCpu) {
  const DefaultDevices found = of_graph("[1,1,1,1]");

  EXPECT_THAT(found.kinds, ElementsAre("cpu"));
  EXPECT_TRUE(found.are_stated);
}

// Executors start on the first one.
TEST_F(ModelDevices, OfAGraphEndWithTheCpu) {
  EXPECT_THAT(of_graph("[1,1,4,4]").kinds, ElementsAre("opencl", "cpu"));
  EXPECT_THAT(of_graph("[4,4,1,1]").kinds, ElementsAre("opencl", "cpu"));
  EXPECT_THAT(of_graph("[1,2,4,7]").kinds, ElementsAre("cuda", "opencl", "vulkan", "cpu"));
  EXPECT_THAT(of_graph("[4,2,2,4]").kinds, ElementsAre("cuda", "opencl"));
  EXPECT_TRUE(of_graph("[4,2,2,4]").are_stated);
}

TEST_F(ModelDevices, OfAGraphHaveTheNumbersOfTheRuntime) {
  EXPECT_THAT(of_graph("[1,12,12,1]", {{12, 4}}).kinds, ElementsAre("opencl", "cpu"));
  EXPECT_THAT(of_graph("[12,4,4,1]", {{12, 4}}).kinds, ElementsAre("opencl", "cpu"));
}

TEST_F(ModelDevices, WithoutAGraphAreThoseOfTheModules) {
  const DefaultDevices two = of_modules({"cuda", "opencl"}), none = of_modules({});

  EXPECT_THAT(two.kinds, ElementsAre("cuda", "opencl"));
  EXPECT_FALSE(two.are_stated);
  EXPECT_THAT(none.kinds, ElementsAre("cpu"));
  EXPECT_FALSE(none.are_stated);
}

TEST_F(ModelDevices, OfCodeCompiledAheadOfTimeAreTheCpuWhateverItImports) {
  const DefaultDevices found = of_modules({"cuda"}, true);

  EXPECT_THAT(found.kinds, ElementsAre("cpu"));
  EXPECT_TRUE(found.are_stated);
}

}  // namespace
}  // namespace gantry
