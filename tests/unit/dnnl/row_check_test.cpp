// SPDX-License-Identifier: Apache-2.0
//
// Operators that differ from their row in one attribute, value, type or number of inputs.
#include "plugins/dnnl/row_check.hpp"
#include "tests/support/subgraphs/subgraph_cases.hpp"

#include <gantry/json_subgraph.hpp>
#include <gantry/quoted.hpp>
#include <gantry/word_list.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dnnl_plugin::test {
namespace {

using gantry::test::subgraph_cases;
using gantry::test::SubgraphCase;
using ::testing::HasSubstr;

// An operator of a case, with the graph that it is in.
struct CheckedNode {
  OperatorMatch match;
  Subgraph graph;
  std::size_t node = 0;

  SubgraphNode& at() { return graph.nodes[node]; }
  Status check() const { return check_row(match, graph, graph.nodes[node]); }
  std::string title() const { return concat("operator ", quoted(graph.nodes[node].name)); }
};

Subgraph graph_of(const SubgraphCase& each) {
  SubgraphPayload payload{.symbol = "", .graph_json = each.json};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < each.constants.size(); ++i) names.push_back(concat("c", i));
  payload.constants.assign(names.begin(), names.end());
  return read_json_subgraph(payload).value();
}

// Returns the first operator of the cases that has the row.
CheckedNode node_of(const OperatorRow& row) {
  for (const SubgraphCase& each : subgraph_cases()) {
    if (each.key != row.key) continue;
    Subgraph graph = graph_of(each);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].kind != SubgraphNodeKind::kernel) continue;
      auto match = find_operator(each.key, graph.nodes[n].name);
      if (match && match->row == &row) return {std::move(*match), std::move(graph), n};
    }
  }
  ADD_FAILURE() << "no case for " << row.names;
  return {};
}

void set_attribute(SubgraphNode& node, std::string_view name, std::string_view value) {
  std::erase_if(node.attributes, [&](const SubgraphAttribute& each) { return each.name == name; });
  node.attributes.push_back({std::string(name), {std::string(value)}});
}

void expect_refusal(const CheckedNode& node, Code code, std::string_view message) {
  const Status refused = node.check();
  ASSERT_FALSE(refused.ok()) << node.title() << " of " << node.match.row->key << ", expected "
                             << message;
  EXPECT_EQ(refused.error().code, code);
  EXPECT_EQ(refused.error().reason, code == Code::malformed ? "SUBGRAPH" : "SUBGRAPH_OPERATOR");
  EXPECT_THAT(refused.error().message.text(), HasSubstr(concat(node.title(), message)));
}

class RowCheck : public ::testing::TestWithParam<const OperatorRow*> {};

TEST_P(RowCheck, RefusesAnAttributeThatTheRowDoesNotHave) {
  CheckedNode node = node_of(*GetParam());
  EXPECT_TRUE(node.check().ok());

  set_attribute(node.at(), "zzz", "17");

  expect_refusal(node, Code::unsupported,
                 ": attribute \"zzz\" with the value \"17\" is not supported, supported "
                 "attributes are ");
}

TEST_P(RowCheck, RefusesAValueThatTheRowDoesNotList) {
  for (std::string_view words = GetParam()->attributes; !words.empty();) {
    const std::string_view word = take_word(words, ' ');
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;
    CheckedNode node = node_of(*GetParam());
    const std::string_view name = word.substr(0, equals);

    set_attribute(node.at(), name, "XYZ9");

    expect_refusal(node, Code::unsupported,
                   concat(": attribute ", quoted(name), " is \"XYZ9\", supported are "));
  }
}

TEST_P(RowCheck, RefusesATypeThatTheRowDoesNotList) {
  for (const gantry_dtype type :
       {dtypes::float16, dtypes::bfloat16, dtypes::float64, dtypes::int64}) {
    if (has_word(GetParam()->types, dtype_text(type))) continue;
    CheckedNode input = node_of(*GetParam());
    input.graph.entries[input.at().inputs[0]].dtype = type;
    expect_refusal(input, Code::unsupported, concat(": input 0 is ", dtype_text(type), "["));

    CheckedNode output = node_of(*GetParam());
    output.graph.entries[output.at().first_entry].dtype = type;
    expect_refusal(output, Code::unsupported, concat(": output 0 is ", dtype_text(type), "["));
  }
}

TEST_P(RowCheck, PassesExtentsThatAreKnownAtTheCallAndTensorsWithoutElements) {
  for (const std::int64_t extent : {-1, 0}) {
    CheckedNode node = node_of(*GetParam());
    std::vector<std::int64_t>& shape = node.graph.entries[node.at().inputs[0]].shape;
    if (shape.empty()) continue;

    shape[0] = extent;

    EXPECT_TRUE(node.check().ok());
  }
}

TEST_P(RowCheck, RefusesANodeWithoutInputs) {
  CheckedNode node = node_of(*GetParam());

  node.at().inputs.clear();

  expect_refusal(node, Code::malformed,
                 concat(" has 0 inputs, expected ", quoted(GetParam()->inputs)));
}

TEST_P(RowCheck, RefusesMoreInputsThanTheRowHas) {
  CheckedNode node = node_of(*GetParam());

  node.at().inputs.resize(9, node.at().inputs[0]);

  // Any number of them.
  if (GetParam()->inputs.ends_with("...")) {
    EXPECT_TRUE(node.check().ok());
    return;
  }
  expect_refusal(node, Code::malformed,
                 concat(" has 9 inputs, expected ", quoted(GetParam()->inputs)));
}

std::vector<const OperatorRow*> all_rows() {
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow& row : operator_rows()) rows.push_back(&row);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(OfEachRow, RowCheck, ::testing::ValuesIn(all_rows()),
                         [](const auto& test) {
                           std::string name =
                               concat(test.index, "_", test.param->key, "_", test.param->names);
                           std::ranges::replace(name, '.', '_');
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

// Of what a composite has by its name, exactly those inputs are there.
TEST(RowCheck, RequiresTheInputsThatTheNameHas) {
  const auto inputs_of = [](std::string_view key, std::string_view name, std::size_t count) {
    CheckedNode node = node_of(*find_operator(key, name)->row);
    node.match = *find_operator(key, name);
    node.at().inputs.resize(count, node.at().inputs[0]);
    return node.check().ok();
  };

  EXPECT_TRUE(inputs_of("dnnl_json", "dnnl.conv2d_bias_sum", 4));
  EXPECT_FALSE(inputs_of("dnnl_json", "dnnl.conv2d_bias_sum", 3));
  EXPECT_TRUE(inputs_of("dnnl_json", "dnnl.conv2d_relu", 2));
  EXPECT_FALSE(inputs_of("dnnl_json", "dnnl.conv2d_relu", 3));
  // An optional input that no name has.
  EXPECT_TRUE(inputs_of("arm_compute_lib", "nn.dense", 2));
  EXPECT_TRUE(inputs_of("arm_compute_lib", "nn.dense", 3));
}

TEST(RowCheck, PassesIgnoredAttributesOfTheirOperatorsOnly) {
  for (const OperatorRow& row : operator_rows()) {
    const CheckedNode node = node_of(row);
    for (const IgnoredAttributes& ignored : ignored_attributes()) {
      const bool applies =
          ignored.operators.empty() || has_word(ignored.operators, node.match.base);
      for (std::string_view names = ignored.names; !names.empty();) {
        const std::string_view name = take_word(names, ' ');
        const std::string words = concat(" ", row.attributes, " ");
        const bool is_read = words.find(concat(" ", name, " ")) != std::string::npos ||
                             words.find(concat(" ", name, "=")) != std::string::npos;
        // What a row reads is not ignored.
        EXPECT_FALSE(applies && is_read) << name << " of " << row.names;
        CheckedNode with = node;
        set_attribute(with.at(), name, "1");
        if (!is_read) {
          EXPECT_EQ(with.check().ok(), applies) << name << " of " << row.names;
        }
      }
    }
  }
}

TEST(RowCheck, ComparesLayouts) {
  EXPECT_TRUE(matches_layout("NCHW", "NCHW"));
  EXPECT_FALSE(matches_layout("NHWC", "NCHW"));
  EXPECT_TRUE(matches_layout("NHWC", "NCHW*"));
  EXPECT_FALSE(matches_layout("NHWCC", "NCHW*"));
  EXPECT_FALSE(matches_layout("NHC", "NCHW*"));
  EXPECT_FALSE(matches_layout("NCHW8c", "NCHW*"));
  EXPECT_TRUE(matches_layout("NCHW8c", "NCHW**"));
  EXPECT_TRUE(matches_layout("OIHW16i4o", "OIHW**"));
  for (const char* wrong :
       {"NCHWc", "NCHW8", "NCHW8C", "NCHW8x", "NCHW8c4", "NC8cHW", "8cNCHW", ""})
    EXPECT_FALSE(matches_layout(wrong, "NCHW**")) << wrong;
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
