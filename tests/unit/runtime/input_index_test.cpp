// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/model_state.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

std::vector<ParameterInfo> named_inputs(const std::vector<std::string>& names) {
  std::vector<ParameterInfo> inputs;
  for (const std::string& name : names) inputs.push_back({.name = name});
  return inputs;
}

TEST(InputIndex, IsThatOfTheNameOrThePosition) {
  const auto inputs = named_inputs({"x", "y"});

  EXPECT_EQ(input_index("the model", inputs, "y").value(), 1u);
  EXPECT_EQ(input_index("the model", inputs, "0").value(), 0u);
  EXPECT_EQ(input_index("the model", inputs, "1").value(), 1u);
}

// Graphs may name their inputs by numbers.
TEST(InputIndex, IsThatOfTheNameIfTheNameIsAlsoAPosition) {
  const auto inputs = named_inputs({"1", "0", "x"});

  EXPECT_EQ(input_index("the model", inputs, "1").value(), 0u);
  EXPECT_EQ(input_index("the model", inputs, "0").value(), 1u);
  EXPECT_EQ(input_index("the model", inputs, "2").value(), 2u);
}

TEST(InputIndex, IsNotThereForAnotherNameOrAPositionPastTheEnd) {
  const auto inputs = named_inputs({"x", "y"});

  for (const char* const name : {"2", "-1", "0x", "", "z"}) {
    const auto index = input_index("the model", inputs, name);

    ASSERT_FALSE(index.ok()) << name;
    EXPECT_EQ(index.error().code, Code::invalid) << name;
    EXPECT_EQ(index.error().reason, "INPUT") << name;
  }
}

}  // namespace
}  // namespace gantry
