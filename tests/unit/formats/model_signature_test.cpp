// SPDX-License-Identifier: Apache-2.0
#include "core/formats/model_signature.hpp"

#include "tests/support/small_graph.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::replaced;
using test::small_graph;
using test::Words;
using ::testing::ElementsAre;

Result<std::optional<ModelSignature>> signature_of(std::string_view key, const Words& payload) {
  Entry entry;
  entry.type_key = key;
  entry.payload = payload.bytes();
  return read_signature(entry);
}

// A payload up to its parameters' arrays, which the signature does not contain.
Words payload_of(const std::string& graph) { return Words().str(graph).u64(1).u64(1).str("p0"); }

TEST(ModelSignature, ContainsInputsThatAreNoParametersAndOutputs) {
  const auto found = signature_of("GraphExecutorFactory", payload_of(small_graph));

  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(found->has_value());
  const ModelSignature& signature = **found;
  ASSERT_EQ(signature.inputs.size(), 1u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].dtype.bits, 32);
  EXPECT_THAT(signature.inputs[0].shape, ElementsAre(2, 2));
  EXPECT_EQ(signature.inputs[0].device_number, 1);
  ASSERT_EQ(signature.outputs.size(), 1u);
  EXPECT_EQ(signature.outputs[0].name, "output");
  EXPECT_THAT(signature.outputs[0].shape, ElementsAre(4));
}

TEST(ModelSignature, HasNoDevicesIfTheGraphNamesNone) {
  const auto found = signature_of(
      "GraphExecutorFactory",
      payload_of(replaced(small_graph, "\"device_index\":[\"list_int\",[1,1,1,1]],\n", "")));

  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->inputs[0].device_number, -1);
}

TEST(ModelSignature, NumbersSeveralOutputs) {
  const auto found = signature_of(
      "GraphExecutorFactory",
      payload_of(replaced(small_graph, "\"heads\":[[3,0,0]]", "\"heads\":[[3,0,0],[2,0,0]]")));

  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->outputs[0].name, "output0");
  EXPECT_EQ((*found)->outputs[1].name, "output1");
  EXPECT_THAT((*found)->outputs[1].shape, ElementsAre(2, 2));
}

TEST(ModelSignature, HasTheNamesOfOutputsThatTheGraphHas) {
  const auto found = signature_of(
      "GraphExecutorFactory",
      payload_of(replaced(small_graph, "\"heads\":[[3,0,0]]",
                          "\"heads\":[[3,0,0],[2,0,0]],"
                          "\"metadata\":{\"gantry_output_names\":[\"flat\",\"sum\"]}")));

  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->outputs[0].name, "flat");
  EXPECT_EQ((*found)->outputs[1].name, "sum");
}

TEST(ModelSignature, IsAbsentForOtherModules) {
  const auto found = signature_of("opencl", Words().u64(7));

  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST(ModelSignature, ReportsTheOffsetInADamagedPayload) {
  const auto graph = signature_of("GraphExecutorFactory", payload_of("{]"));
  const auto names = signature_of("GraphExecutorFactory", Words().str(small_graph).u64(1).u64(9));

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::malformed);
  EXPECT_GE(graph.error().offset, 8u);
  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().code, Code::malformed);
}

TEST(ModelSignature, RefusesNamesThatAreNotAsManyAsTheArrays) {
  const Words payload = Words().str(small_graph).u64(1).u64(2).str("p0").str("p1");

  const auto found = signature_of("GraphExecutorFactory", payload);

  ASSERT_FALSE(found.ok());
  EXPECT_THAT(std::string(found.error().message.text()),
              ::testing::MatchesRegex("names are 2, the array count at 0x[0-9a-f]+ is 1"));
}

}  // namespace
}  // namespace gantry
