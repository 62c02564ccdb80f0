// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph_lists.hpp"

#include "tests/support/small_graph.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;

// A text, its tree, and the lists of the tree.
struct ReadText {
  explicit ReadText(std::string json, std::uint64_t offset = 0)
      : text(std::move(json)),
        tree(JsonTree::parse(text, {.offset = offset}).value()),
        lists(read_graph_lists(tree)) {}

  std::string text;
  JsonTree tree;
  Result<GraphLists> lists;
};

TEST(GraphLists, ContainEveryListOfTheText) {
  const ReadText read(small_graph);

  ASSERT_TRUE(read.lists.ok()) << read.lists.error().message;
  const GraphLists& lists = *read.lists;
  ASSERT_EQ(lists.nodes.items.size(), 4u);
  EXPECT_EQ(lists.nodes.items[0].op, "null");
  EXPECT_EQ(lists.nodes.items[3].name, "y");
  EXPECT_EQ(lists.nodes.items[3].func_name, "__nop");
  EXPECT_EQ(lists.nodes.items[2].num_inputs, "2");
  EXPECT_EQ(lists.nodes.items[2].num_outputs, "1");
  EXPECT_EQ(lists.nodes.items[2].flatten_data, "0");
  EXPECT_EQ(lists.nodes.items[2].inputs.items[1].node, 1u);
  EXPECT_THAT(lists.arg_nodes.items, ElementsAre(0, 1));
  EXPECT_THAT(lists.node_row_ptr.items, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(lists.heads.items[0].node, 3u);
  EXPECT_THAT(lists.storage_id.items, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(lists.device_index.items, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(lists.dltype.items, ElementsAre("float32", "float32", "float32", "float32"));
  EXPECT_THAT(lists.shape.items[3], ElementsAre(4));
  EXPECT_FALSE(lists.storage_scope.exists());
}

TEST(GraphLists, AcceptMinusZeroAsACount) {
  const ReadText read(replaced(small_graph, "[[3,0,0]]", "[[3,-0]]"));

  ASSERT_TRUE(read.lists.ok()) << read.lists.error().message;
  EXPECT_EQ(read.lists->heads.items[0].index, 0u);
}

TEST(GraphLists, AcceptTheLargestNumbers) {
  const std::string text =
      replaced(replaced(small_graph, "[0,1,2,2]", "[0,1,2,9223372036854775807]"), "[[3,0,0]]",
               "[[3,9223372036854775807]]");
  const ReadText read(text);

  ASSERT_TRUE(read.lists.ok()) << read.lists.error().message;
  EXPECT_EQ(read.lists->storage_id.items[3], INT64_MAX);
  EXPECT_EQ(read.lists->heads.items[0].index, std::uint64_t{INT64_MAX});
}

// Content that some writers add and that is ignored.
struct Accepted {
  std::string name, from, to;
};
class IgnoredGraphContent : public ::testing::TestWithParam<Accepted> {};
TEST_P(IgnoredGraphContent, IsAccepted) {
  const auto& [name, from, to] = GetParam();

  const ReadText read(replaced(small_graph, from, to));

  ASSERT_TRUE(read.lists.ok()) << read.lists.error().message;
  EXPECT_EQ(read.lists->nodes.items.size(), 4u);
  EXPECT_EQ(read.lists->nodes.items[2].func_name, "add");
  EXPECT_THAT(read.lists->storage_id.items, ElementsAre(0, 1, 2, 2));
}
INSTANTIATE_TEST_SUITE_P(
    SmallGraph, IgnoredGraphContent,
    ::testing::Values(
        Accepted{"Metadata",
                 "\"heads\":", "\"metadata\":{\"a\":[1,{\"b\":null}],\"c\":1.5},\"heads\":"},
        Accepted{"MetadataOfOthers", "\"heads\":", "\"metadata\":{\"output_names\":5},\"heads\":"},
        Accepted{"MetadataText", "\"heads\":", "\"metadata\":\"any\",\"heads\":"},
        Accepted{"ControlDeps", "\"name\":\"x\",", "\"name\":\"x\",\"control_deps\":[1,2],"},
        Accepted{"ListAttribute", "\"dltype\":[", "\"other\":[\"list_int\",[1,[2]]],\"dltype\":["},
        Accepted{"ScalarAttribute", "\"dltype\":[", "\"other\":[\"size_t\",5],\"dltype\":["},
        Accepted{"BareAttribute", "\"dltype\":[", "\"other\":true,\"dltype\":["},
        Accepted{"OperatorAttribute", "\"hash\":\"5\"",
                 "\"hash\":[5],\"layout\":{\"a\":1},\"n\":3"},
        Accepted{"OldNameOfAttrs", "\"attrs\":{\"func_name\":\"add\"",
                 "\"attr\":{\"func_name\":\"add\""},
        Accepted{"NoVersion", "[[3,0,0]]", "[[3,0]]"},
        Accepted{"ByteOrderMark", "{\"nodes\"", "\xef\xbb\xbf{\"nodes\""}),
    [](const auto& test) { return test.param.name; });

// One change per row; the offset is that of the last character of `at`.
struct Bad {
  std::string name, from, to, at, message;
  friend void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
};
class InvalidGraphLists : public ::testing::TestWithParam<Bad> {};
TEST_P(InvalidGraphLists, AreRejectedAtTheEnclosingValue) {
  const Bad& bad = GetParam();
  const std::string text = replaced(small_graph, bad.from, bad.to);

  const ReadText read(text, 100);

  ASSERT_FALSE(read.lists.ok());
  EXPECT_EQ(read.lists.error().code, Code::malformed);
  EXPECT_EQ(read.lists.error().reason, "GRAPH");
  EXPECT_EQ(read.lists.error().offset, 100 + text.find(bad.at) + bad.at.size() - 1);
  EXPECT_EQ(read.lists.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    SmallGraph, InvalidGraphLists,
    ::testing::Values(
        Bad{"UnknownKey", "\"heads\":", "\"tails\":", "{",
            "graph has key \"tails\", known are nodes, arg_nodes, node_row_ptr, heads, attrs, "
            "metadata"},
        Bad{"UnknownNodeKey", "\"name\":\"p0\"", "\"nome\":\"p0\"",
            "{\"op\":\"null\",\"name\":\"x\",\"inputs\":[]},\n{",
            "nodes[1] has key \"nome\", known are op, name, inputs, attrs, attr, control_deps"},
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
        Bad{"OutputNamesText", "\"heads\":",
            "\"metadata\":{\"gantry_output_names\":\"y\"},\"heads\":", "\"metadata\":{",
            "metadata.gantry_output_names is a string, expected a list"},
        Bad{"OutputNameNumber",
            "\"heads\":", "\"metadata\":{\"gantry_output_names\":[5]},\"heads\":", "_names\":[",
            "metadata.gantry_output_names[0] is a number, expected a string"},
        Bad{"NoDtype", "\"dltype\"", "\"other\"", "{", "graph has no attribute \"dltype\""},
        // The reader of Apache TVM accepts this one as a dltype.
        Bad{"ScopesForDtype", "\"dltype\"", "\"storage_scope\"", "{",
            "graph has no attribute \"dltype\""},
        Bad{"NoName", "\"name\":\"x\",", "", "[\n{", "nodes[0] has no \"name\""},
        Bad{"NoFlatten", "\"num_outputs\":\"1\",\"flatten_data\":\"0\"}", "\"num_outputs\":\"1\"}",
            "\"p0\",\"inputs\":[]},\n{", "nodes[2] \"add\" has no attribute \"flatten_data\""},
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
        Bad{"StoragePast63Bits", "[0,1,2,2]]", "[0,1,2,9223372036854775808]]",
            "\"storage_id\":[\"list_int\",[",
            "attrs.storage_id[1][3] is a number past 2^63, expected a whole number"},
        Bad{"NumberForDtype", "[\"float32\",", "[32,", "\"list_str\",[",
            "attrs.dltype[1][0] is a number, expected a string"},
        Bad{"LargestNumberForDtype", "[\"float32\",", "[9223372036854775807,", "\"list_str\",[",
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
            "heads[0] has 1 items, range is 2 to 3"},
        Bad{"LongEntry", "[[3,0,0]]", "[[3,0,0,0]]", "\"heads\":[[",
            "heads[0] has 4 items, range is 2 to 3"},
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
  std::string name, text, message;
  friend void PrintTo(const NoGraph& bad, std::ostream* out) { *out << bad.name; }
};
class InvalidGraphListsText : public ::testing::TestWithParam<NoGraph> {};
TEST_P(InvalidGraphListsText, IsRejected) {
  const ReadText read(GetParam().text, 8);

  ASSERT_FALSE(read.lists.ok());
  EXPECT_EQ(read.lists.error().code, Code::malformed);
  EXPECT_EQ(read.lists.error().offset, 8u);
  EXPECT_EQ(read.lists.error().message, GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, InvalidGraphListsText,
    ::testing::Values(NoGraph{"List", "[]", "graph is a list, expected an object"},
                      NoGraph{"Number", "1", "graph is a number, expected an object"},
                      NoGraph{"Large", "18446744073709551615",
                              "graph is a number past 2^63, expected an object"},
                      NoGraph{"Text", "\"a\"", "graph is a string, expected an object"},
                      NoGraph{"Null", "null", "graph is null, expected an object"},
                      NoGraph{"Empty", "{}", "graph has no \"nodes\""}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::test
