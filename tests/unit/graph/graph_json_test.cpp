// SPDX-License-Identifier: Apache-2.0
#include "plugins/graph/graph_json.hpp"

#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;

TEST(GraphJson, ReadsEveryList) {
  const Result<JsonGraph> read = read_graph_json(small_graph, 0);

  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->nodes.items.size(), 4u);
  EXPECT_EQ(read->nodes.items[3].name, "y");
  EXPECT_EQ(read->nodes.items[3].func_name, "__nop");
  EXPECT_EQ(read->nodes.items[2].inputs.items[1].node, 1u);
  EXPECT_THAT(read->arg_nodes.items, ElementsAre(0, 1));
  EXPECT_THAT(read->node_row_ptr.items, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(read->storage_id.items, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(read->device_index.items, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(read->dltype.items, ElementsAre("float32", "float32", "float32", "float32"));
  EXPECT_THAT(read->shape.items[3], ElementsAre(4));
  EXPECT_FALSE(read->storage_scope.there());
}

// What other writers add and no reader needs.
struct Tolerated {
  std::string name, from, to;
};
class GraphJsonStepsOver : public ::testing::TestWithParam<Tolerated> {};
TEST_P(GraphJsonStepsOver, WhatItDoesNotKnow) {
  const auto& [name, from, to] = GetParam();

  const Result<JsonGraph> read = read_graph_json(replaced(small_graph, from, to), 0);

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->nodes.items.size(), 4u);
  EXPECT_THAT(read->storage_id.items, ElementsAre(0, 1, 2, 2));
}
INSTANTIATE_TEST_SUITE_P(
    SmallGraph, GraphJsonStepsOver,
    ::testing::Values(
        Tolerated{"Metadata",
                  "\"heads\":", "\"metadata\":{\"a\":[1,{\"b\":null}],\"c\":1.5},\"heads\":"},
        Tolerated{"MetadataText", "\"heads\":", "\"metadata\":\"any\",\"heads\":"},
        Tolerated{"ControlDeps", "\"name\":\"x\",", "\"name\":\"x\",\"control_deps\":[1,2],"},
        Tolerated{"ListAttribute", "\"dltype\":[", "\"other\":[\"list_int\",[1,[2]]],\"dltype\":["},
        Tolerated{"ScalarAttribute", "\"dltype\":[", "\"other\":[\"size_t\",5],\"dltype\":["},
        Tolerated{"BareAttribute", "\"dltype\":[", "\"other\":true,\"dltype\":["},
        Tolerated{"OperatorAttribute", "\"hash\":\"5\"",
                  "\"hash\":[5],\"layout\":{\"a\":1},\"n\":3"},
        Tolerated{"OldNameOfAttrs", "\"attrs\":{\"func_name\":\"add\"",
                  "\"attr\":{\"func_name\":\"add\""},
        Tolerated{"NoVersion", "[[3,0,0]]", "[[3,0]]"},
        Tolerated{"ByteOrderMark", "{\"nodes\"", "\xef\xbb\xbf{\"nodes\""}),
    [](const auto& test) { return test.param.name; });

// One change per row; `at` is the text whose last character the offset names.
struct Bad {
  std::string name, from, to, at, message;
  friend void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
};
class GraphJsonRefuses : public ::testing::TestWithParam<Bad> {};
TEST_P(GraphJsonRefuses, AtTheInnermostBracket) {
  const Bad& bad = GetParam();
  const std::string text = replaced(small_graph, bad.from, bad.to);

  const Result<JsonGraph> read = read_graph_json(text, 100);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().reason, "GRAPH");
  EXPECT_EQ(read.error().offset, 100 + text.find(bad.at) + bad.at.size() - 1);
  EXPECT_EQ(read.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    SmallGraph, GraphJsonRefuses,
    ::testing::Values(
        Bad{"UnknownKey", "\"heads\":", "\"tails\":", "{",
            "graph has key \"tails\", known are nodes, arg_nodes, node_row_ptr, heads, attrs, "
            "metadata"},
        Bad{"UnknownNodeKey", "\"name\":\"p0\"", "\"nome\":\"p0\"",
            "{\"op\":\"null\",\"name\":\"x\",\"inputs\":[]},\n{",
            "node 1 has key \"nome\", known are op, name, inputs, attrs, attr, control_deps"},
        Bad{"KeyTwice", "\"heads\":[[3,0,0]]", "\"arg_nodes\":[0,1]", "{",
            "arg_nodes is given twice"},
        Bad{"NodeKeyTwice", "\"op\":\"null\"", "\"name\":\"null\"", "[\n{",
            "nodes[0].name is given twice"},
        Bad{"BothNamesOfAttrs", "\"hash\":\"5\"}", "\"hash\":\"5\"},\"attr\":{}",
            "\"inputs\":[[0,0,0],[1,0,0]]},\n{", "nodes[3].attr is given twice"},
        Bad{"OperatorKeyTwice", "\"hash\":\"5\"", "\"func_name\":\"a\"", "\"y\",\"attrs\":{",
            "nodes[3].attrs.func_name is given twice"},
        Bad{"AttributeTwice", "\"device_index\":[", "\"storage_id\":[", "[[3,0,0]],\n\"attrs\":{",
            "attrs.storage_id is given twice"},
        Bad{"NoHeads", "\"heads\":[[3,0,0]],", "", "{", "graph has no \"heads\""},
        Bad{"NoAttrs", "\"node_row_ptr\":[0,1,2,3,4]", "\"metadata\":0", "{",
            "graph has no \"node_row_ptr\""},
        Bad{"NoDtype", "\"dltype\"", "\"other\"", "{", "graph has no attribute \"dltype\""},
        // Upstream's reader counts this one as a dltype.
        Bad{"ScopesForDtype", "\"dltype\"", "\"storage_scope\"", "{",
            "graph has no attribute \"dltype\""},
        Bad{"NoName", "\"name\":\"x\",", "", "[\n{", "node 0 has no \"name\""},
        Bad{"NoFlatten", "\"num_outputs\":\"1\",\"flatten_data\":\"0\"}", "\"num_outputs\":\"1\"}",
            "\"p0\",\"inputs\":[]},\n{", "node 2 \"add\" has no attribute \"flatten_data\""},
        Bad{"NumberForName", "\"name\":\"x\"", "\"name\":7", "[\n{",
            "nodes[0].name is a number, expected a string"},
        Bad{"NumberForAttribute", "\"num_inputs\":\"2\"", "\"num_inputs\":2", "\"add\",\"attrs\":{",
            "nodes[2].attrs.num_inputs is a number, expected a string"},
        Bad{"NumberForInputs", "\"inputs\":[]", "\"inputs\":0", "[\n{",
            "nodes[0].inputs is a number, expected a list"},
        Bad{"NumberForNode", "\"nodes\":[\n", "\"nodes\":[1,\n", "\"nodes\":[",
            "nodes[0] is a number, expected a node"},
        Bad{"ListForNodeAttrs",
            "\"attrs\":{\"func_name\":\"add\",\"num_inputs\":\"2\",\"num_outputs\":\"1\",\"flatten_"
            "data\":\"0\"}",
            "\"attrs\":[]", "[]},\n{\"op\":\"null\",\"name\":\"p0\",\"inputs\":[]},\n{",
            "nodes[2].attrs is a list, expected an object"},
        Bad{"ObjectForNodes", "\"arg_nodes\":[0,1]", "\"arg_nodes\":{}", "{",
            "arg_nodes is an object, expected a list"},
        Bad{"TextInShape", "[4]]", "[\"4\"]]", "[2,2],[2,2],[2,2],[",
            "attrs.shape[1][3][0] is a string, expected a whole number"},
        Bad{"NumberForShape", "[4]]", "4]", "\"list_shape\",[",
            "attrs.shape[1][3] is a number, expected a list of extents"},
        Bad{"TextInStorage", "[0,1,2,2]]", "[0,1,2,\"2\"]]", "\"storage_id\":[\"list_int\",[",
            "attrs.storage_id[1][3] is a string, expected a whole number"},
        Bad{"NumberForDtype", "[\"float32\",", "[32,", "\"list_str\",[",
            "attrs.dltype[1][0] is a number, expected a string"},
        Bad{"FractionInRows", "[0,1,2,3,4]", "[0,1,2.5,3,4]", "\"node_row_ptr\":[",
            "node_row_ptr[2] is a fraction, expected a number, 0 or more"},
        Bad{"NegativeRow", "[0,1,2,3,4]", "[0,-1,2,3,4]", "\"node_row_ptr\":[",
            "node_row_ptr[1] is -1, expected a number, 0 or more"},
        Bad{"RowPast64Bits", "[0,1,2,3,4]", "[0,1,2,3,18446744073709551615]", "\"node_row_ptr\":[",
            "node_row_ptr[4] is a number past 2^63, expected a number, 0 or more"},
        Bad{"NullInEntry", "[[3,0,0]]", "[[3,null,0]]", "\"heads\":[[",
            "heads[0][1] is null, expected a number, 0 or more"},
        Bad{"ShortEntry", "[[3,0,0]]", "[[3]]", "\"heads\":[[",
            "heads[0] ends after 1 numbers, minimum is 2"},
        Bad{"LongEntry", "[[3,0,0]]", "[[3,0,0,0]]", "\"heads\":[[",
            "heads[0][3] is a fourth number, expected node, output and version at most"},
        Bad{"NumberForEntry", "[[3,0,0]]", "[3]", "\"heads\":[",
            "heads[0] is a number, expected a list of node and output"},
        Bad{"WrongTag", "\"list_str\"", "\"list_int\"", "\"dltype\":[",
            "attrs.dltype has tag \"list_int\", expected \"list_str\""},
        Bad{"NumberForTag", "\"list_str\"", "7", "\"dltype\":[",
            "attrs.dltype[0] is a number, expected a tag"},
        Bad{"TextForPayload", "[\"list_int\",[0,1,2,2]]", "[\"list_int\",\"0\"]",
            "\"storage_id\":[", "attrs.storage_id[1] is a string, expected a list"},
        Bad{"NoPayload", "[\"list_int\",[0,1,2,2]]", "[\"list_int\"]", "\"storage_id\":[",
            "attrs.storage_id has 1 items, expected a tag and a list"},
        Bad{"BareKnownAttribute", "[\"list_int\",[0,1,2,2]]", "5", "[[3,0,0]],\n\"attrs\":{",
            "attrs.storage_id is a number, expected a list of tag and values"}),
    [](const auto& test) { return test.param.name; });

struct NoGraph {
  std::string name, text;
  std::uint64_t offset;
  std::string message;
  friend void PrintTo(const NoGraph& bad, std::ostream* out) { *out << bad.name; }
};
class GraphJsonRefusesText : public ::testing::TestWithParam<NoGraph> {};
TEST_P(GraphJsonRefusesText, ThatIsNoGraph) {
  const NoGraph& bad = GetParam();

  const Result<JsonGraph> read = read_graph_json(bad.text, 8);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().offset, bad.offset);
  EXPECT_EQ(read.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, GraphJsonRefusesText,
    ::testing::Values(NoGraph{"Nothing", "", 8, "graph is no JSON behind \"\""},
                      NoGraph{"List", "[]", 8, "graph is a list, expected an object"},
                      NoGraph{"Number", "1", 8, "graph is a number, expected an object"},
                      NoGraph{"Text", "\"a\"", 8, "graph is a string, expected an object"},
                      NoGraph{"Null", "null", 8, "graph is null, expected an object"},
                      NoGraph{"Empty", "{}", 8, "graph has no \"nodes\""},
                      NoGraph{"Cut", "{\"nodes\":[", 18,
                              "graph is no JSON behind \"{\\\"nodes\\\":[\""},
                      NoGraph{"TwoDocuments", "{\"metadata\":1}{}", 8, "graph has no \"nodes\""},
                      NoGraph{"ControlCharacter", "{\"a\x01\":1}", 12,
                              "graph is no JSON behind \"{\\\"a\\x01\""}),
    [](const auto& test) { return test.param.name; });

TEST(GraphJson, RefusesWhatFollowsTheObject) {
  const Result<JsonGraph> read = read_graph_json(small_graph + "{}", 0);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "graph is no JSON behind \"r\\\":[0,1,2,3,4]}{\"");
}

TEST(GraphJson, RefusesDeepNestingWithoutRecursion) {
  const std::string deep = "{\"metadata\":" + std::string(1000000, '[');

  const Result<JsonGraph> read = read_graph_json(deep, 0);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "graph is nested deeper than 32");
  EXPECT_EQ(read.error().offset, 42u);
}

TEST(GraphJson, RefusesEveryTruncation) {
  for (std::size_t size = 0; size < small_graph.size(); ++size) {
    EXPECT_FALSE(read_graph_json(std::string_view(small_graph).substr(0, size), 0).ok()) << size;
  }
}

}  // namespace
}  // namespace gantry::graph::test
