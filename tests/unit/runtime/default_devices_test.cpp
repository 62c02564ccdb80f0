// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/default_devices.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/container.hpp"
#include "core/formats/mlf/model_container.hpp"
#include "tests/support/fake_model.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;

class ModelDevices : public ::testing::Test {
 protected:
  // Of a model that states these numbers.
  DefaultDevices of_model(std::vector<std::int32_t> types, std::uint32_t flags = 0) {
    auto fake = std::make_shared<test::FakeModelState>();
    fake->device_types = std::move(types);
    fake->flags = flags;
    RuntimeState& state = *state_of(runtime_.get());
    return default_devices(state, *test::fake_model(state, std::move(fake))).value();
  }
  // Of an artifact with modules of these type keys.
  DefaultDevices of_modules(const std::vector<std::string>& keys) {
    // A format, no functions, no code.
    const test::Words payload = test::Words().str("x").u64(0).str("");
    ModelParts parts{.has_library = true};
    for (const std::string& key : keys) parts.payloads.push_back({key, payload.bytes()});
    const auto file = model_container("model.so", parts).value();
    Artifact artifact;
    artifact.container = read_container_bytes(file->bytes(), PayloadLayouts::built_in()).value();
    return implied_devices(artifact, *state_of(runtime_.get())->plugins);
  }

 private:
  Runtime runtime_ = test::make_runtime();
};

TEST_F(ModelDevices, ThatAreStatedAreTheModels) {
  const DefaultDevices found = of_model({1});

  EXPECT_THAT(found.names, ElementsAre("cpu"));
  EXPECT_TRUE(found.are_stated);
}

// Executors start on the first one.
TEST_F(ModelDevices, ThatAreStatedEndWithTheCpu) {
  EXPECT_THAT(of_model({1, 4}).names, ElementsAre("opencl", "cpu"));
  EXPECT_THAT(of_model({4, 1}).names, ElementsAre("opencl", "cpu"));
  EXPECT_THAT(of_model({1, 2, 4, 7}).names, ElementsAre("cuda", "opencl", "vulkan", "cpu"));
  EXPECT_THAT(of_model({2, 4}).names, ElementsAre("cuda", "opencl"));
}

TEST_F(ModelDevices, ThatAreStatedTwiceAreTwo) {
  EXPECT_THAT(of_model({2, 2, 1}).names, ElementsAre("cuda", "cuda:1", "cpu"));
}

TEST_F(ModelDevices, ThatAreAlternativesAreTheFirst) {
  const DefaultDevices found = of_model({4, 1}, GANTRY_MODEL_ALTERNATIVES);

  EXPECT_THAT(found.names, ElementsAre("opencl"));
  EXPECT_THAT(found.alternatives, ElementsAre("opencl", "cpu"));
}

TEST_F(ModelDevices, ThatAreNotStatedAreThoseOfTheModules) {
  const DefaultDevices two = of_modules({"cuda", "opencl"}), none = of_modules({});

  EXPECT_THAT(two.names, ElementsAre("cuda", "opencl"));
  EXPECT_FALSE(two.are_stated);
  EXPECT_THAT(none.names, ElementsAre("cpu"));
  EXPECT_FALSE(none.are_stated);
}

}  // namespace
}  // namespace gantry
