// SPDX-License-Identifier: Apache-2.0
#include <gantry/json_subgraph.hpp>

#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view input_node =
    R"({"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[1, 4]]]}})";
constexpr std::string_view constant_node =
    R"({"op": "const", "name": "c0", "attrs": {"dtype": [["float32"]], "shape": [[[3, 4]]]}})";
constexpr std::string_view kernel_node =
    R"({"op": "kernel", "name": "nn.dense", "inputs": [[0, 0, 0], [1, 0]],
        "attrs": {"num_inputs": "2", "num_outputs": "1", "dtype": [["float32"]],
                  "shape": [[[1, 3]]], "units": [["3"]], "strides": [["1", "2"]]}})";

std::string graph_of(const std::string& nodes, std::string_view arguments = "[0, 1]",
                     std::string_view heads = "[[2, 0, 0]]",
                     std::string_view row = "[0, 1, 2, 3]") {
  return concat(R"({"symbol": "s", "nodes": [)", nodes, R"(], "arg_nodes": )", arguments,
                R"(, "heads": )", heads, R"(, "node_row_ptr": )", row, "}");
}
std::string whole_graph() {
  return graph_of(concat(input_node, ",", constant_node, ",", kernel_node));
}
// The graph with one text replaced.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = whole_graph();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Subgraph> read(const std::string& text, std::vector<std::string_view> constants = {"c0"}) {
  return read_json_subgraph(
      {.symbol = "s", .graph_json = text, .graph_at = 0, .constants = std::move(constants)});
}

TEST(SubgraphPayload, HasSymbolGraphAndConstants) {
  Words words;
  words.str("main_0").str("{}").strs({"c0", "c1"}).u8(7);
  ByteReader in(words.bytes());

  const auto payload = read_subgraph_payload(in);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  EXPECT_EQ(payload->symbol, "main_0");
  EXPECT_EQ(payload->graph_json, "{}");
  EXPECT_EQ(payload->graph_at, 8u + 6 + 8);
  EXPECT_THAT(payload->constants, ElementsAre("c0", "c1"));
  EXPECT_EQ(in.left(), 1u);
}

TEST(SubgraphPayload, RefusesEveryTruncation) {
  Words words;
  words.str("main_0").str("{}").strs({"c0", "c1"});
  for (std::size_t size = 0; size < words.size(); ++size) {
    ByteReader in(words.bytes().first(size));
    EXPECT_FALSE(read_subgraph_payload(in).ok()) << size;
  }
}

TEST(SubgraphPayload, ComparesTheNumberOfConstantsWithTheBytesLeft) {
  Words words;
  words.str("s").str("{}").u64(std::uint64_t{1} << 60).u64(0);
  ByteReader in(words.bytes());

  const auto payload = read_subgraph_payload(in);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::malformed);
  EXPECT_EQ(payload.error().offset, 9u + 10);
  EXPECT_THAT(payload.error().message, HasSubstr("constant names: count 1152921504606846976"));
}

TEST(JsonSubgraph, HasNodesEntriesAndArguments) {
  const auto graph = read(whole_graph());

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 3u);
  EXPECT_EQ(graph->nodes[0].kind, SubgraphNodeKind::input);
  EXPECT_EQ(graph->nodes[1].kind, SubgraphNodeKind::constant);
  const SubgraphNode& dense = graph->nodes[2];
  EXPECT_EQ(dense.kind, SubgraphNodeKind::kernel);
  EXPECT_EQ(dense.name, "nn.dense");
  EXPECT_THAT(dense.inputs, ElementsAre(0, 1));
  EXPECT_EQ(dense.first_entry, 2u);
  EXPECT_EQ(dense.output_count, 1u);
  ASSERT_NE(dense.find("strides"), nullptr);
  EXPECT_THAT(*dense.find("strides"), ElementsAre("1", "2"));
  EXPECT_EQ(dense.find("dtype"), nullptr);
  EXPECT_THAT(graph->inputs, ElementsAre(0));
  EXPECT_THAT(graph->constants, ElementsAre(1));
  EXPECT_THAT(graph->outputs, ElementsAre(2));
  ASSERT_EQ(graph->entries.size(), 3u);
  EXPECT_THAT(graph->entries[1].shape, ElementsAre(3, 4));
  EXPECT_TRUE(same_dtype(graph->entries[1].dtype, dtypes::float32));
}

TEST(JsonSubgraph, NumbersTheEntriesOfNodesWithSeveralOutputs) {
  const std::string split =
      R"({"op": "kernel", "name": "split", "inputs": [[0, 1, 0]],
          "attrs": {"dtype": [["float32", "int8"]], "shape": [[[2], [-1]]]}})";
  const std::string pair =
      R"({"op": "input", "name": "t", "attr": {"dtype": [["float32", "float32"]],
          "shape": [[[], [4]]]}})";

  const auto graph =
      read(graph_of(pair + "," + split, "[0]", "[[1, 1, 0], [0, 0]]", "[0, 2, 4]"), {});

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_THAT(graph->inputs, ElementsAre(0, 1));
  EXPECT_THAT(graph->outputs, ElementsAre(3, 0));
  EXPECT_THAT(graph->nodes[1].inputs, ElementsAre(1));
  EXPECT_THAT(graph->entries[0].shape, IsEmpty());
  EXPECT_THAT(graph->entries[3].shape, ElementsAre(-1));
}

struct BadGraph {
  std::string name;
  std::string text;
  // the byte at fault is the first of the last such text
  std::string at;
  std::string message;
  Code code = Code::malformed;
};

class JsonSubgraphRefuses : public ::testing::TestWithParam<BadGraph> {};

TEST_P(JsonSubgraphRefuses, TheFirstWrongValue) {
  const BadGraph& bad = GetParam();

  const auto graph = read(bad.text);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, bad.code);
  EXPECT_EQ(graph.error().message, bad.message);
  EXPECT_EQ(graph.error().offset, bad.text.rfind(bad.at)) << bad.text;
  EXPECT_EQ(graph.error().reason, bad.name == "UnknownDtype" ? "DTYPE" : "SUBGRAPH");
}

INSTANTIATE_TEST_SUITE_P(
    OneChange, JsonSubgraphRefuses,
    ::testing::Values(
        BadGraph{"NoObject", "[1]", "[1]", "sub-graph is a list, expected an object"},
        BadGraph{"NoNodes", R"({"heads": []})", "{", R"(sub-graph has no "nodes")"},
        BadGraph{"UnknownMember", changed(R"("symbol": "s")", R"("extra": 77)"), "77",
                 R"(sub-graph has the member "extra", which the format does not have)"},
        BadGraph{"HeadsNoList", changed(R"([[2, 0, 0]])", "78"), "78",
                 "heads is a number, expected a list"},
        BadGraph{"ShortRow", changed("[0, 1, 2, 3]", "[0, 1, 2]"), "[0, 1, 2]",
                 "node_row_ptr has 3 items, expected 4, one more than nodes"},
        BadGraph{"RowBegins", changed("[0, 1, 2, 3]", "[90, 91, 92, 93]"), "90, 91",
                 "node_row_ptr[0] is 90, expected 0"},
        BadGraph{"RowFalls", changed("[0, 1, 2, 3]", "[0, 11, 12, 9]"), "9]}",
                 "node_row_ptr[3] is 9, minimum is 12"},
        BadGraph{"RowLarge", changed("[0, 1, 2, 3]", "[0, 1, 2, 2147483648]"), "2147483648",
                 "item of node_row_ptr is 2147483648, maximum is 2147483647"},
        BadGraph{"RowText", changed("[0, 1, 2, 3]", R"([0, 1, 2, "3"])"), R"("3"])",
                 "item of node_row_ptr is a string, expected an index"},
        BadGraph{"NodeNoObject", graph_of("5", "[]", "[]", "[0, 1]"), "5",
                 "node 0 is a number, expected an object"},
        BadGraph{"NodeMember", changed(R"("op": "input")", R"("opt": "inpt")"), R"("inpt")",
                 R"(node 0 has the member "opt", which the format does not have)"},
        BadGraph{"OpNumber", changed(R"("op": "input")", R"("op": 79)"), "79",
                 R"(node 0 member "op" is a number, expected a string)"},
        BadGraph{"NoOp", changed(R"("op": "input", )", ""), R"({"name": "x")",
                 R"(node 0 has no member "op")"},
        BadGraph{"NoName", changed(R"("op": "input", "name": "x",)", R"("op": "input",)"),
                 R"({"op": "input")", R"(node 0 has no member "name")"},
        BadGraph{"UnknownOp", changed(R"("op": "input")", R"("op": "config")"), R"("config")",
                 R"(node 0 "x" has op "config", supported are input, const and kernel)",
                 Code::unsupported},
        BadGraph{"InputsOfInput", changed(R"("name": "x",)", R"("name": "x", "inputs": [[0, 0]],)"),
                 "[0, 0]", R"(node 0 "x" input is of node 0, nodes before it are 0)"},
        BadGraph{"InputsOfConst",
                 changed(R"("name": "c0",)", R"("name": "c0", "inputs": [[0, 0]],)"),
                 R"({"op": "const")", R"(node 1 "c0" has inputs and op "const", expected kernel)"},
        BadGraph{"InputForward", changed("[1, 0]]", "[7, 0]]"), "[7, 0]",
                 R"(node 2 "nn.dense" input is of node 7, nodes before it are 2)"},
        BadGraph{"InputIndex", changed("[1, 0]]", "[1, 4]]"), "[1, 4]]",
                 R"(node 2 "nn.dense" input is output 4 of node 1, which has 1)"},
        BadGraph{"InputLength", changed("[1, 0]]", "[1]]"), "[1]]",
                 R"(node 2 "nn.dense" input is a list of 1 items, expected a list of node and )"
                 "output index"},
        BadGraph{"NumInputs", changed(R"("num_inputs": "2")", R"("num_inputs": "8")"), R"("8")",
                 R"(node 2 "nn.dense" attribute num_inputs is "8", number of inputs is 2)"},
        BadGraph{"NumOutputs", changed(R"("num_outputs": "1")", R"("num_outputs": "8")"), R"("8")",
                 R"(node 2 "nn.dense" attribute num_outputs is "8", node_row_ptr gives it 1)"},
        BadGraph{"NumNoText", changed(R"("num_outputs": "1")", R"("num_outputs": 81)"), "81",
                 R"(node 2 "nn.dense" attribute "num_outputs" is a number, expected a string)"},
        BadGraph{"AttributeNoList", changed(R"([["3"]])", "83"), "83",
                 R"(node 2 "nn.dense" attribute "units" is a number, expected a list that )"
                 "contains one list"},
        BadGraph{"AttributeTwoLists", changed(R"([["3"]])", R"([["3"], []])"), R"([["3"], []])",
                 R"(node 2 "nn.dense" attribute "units" is a list, expected a list that contains )"
                 "one list"},
        BadGraph{"AttributeNumber", changed(R"([["3"]])", "[[84]]"), "84",
                 R"(node 2 "nn.dense" attribute "units" is a number, expected a string)"},
        BadGraph{"AttributeTwice", changed(R"("strides")", R"("units")"), R"([["1", "2"]])",
                 R"(node 2 "nn.dense" attribute "units" is given twice)"},
        BadGraph{"UnknownDtype",
                 changed(R"("dtype": [["float32"]], "shape": [[[1, 4]]])",
                         R"("dtype": [["real"]], "shape": [[[1, 4]]])"),
                 R"(["real"])",
                 R"(node 0 "x" output 0: dtype "real": no such type, known are int, uint, float, )"
                 "bfloat, complex, bool, handle and the names of small floats"},
        BadGraph{"ShapeNumber", changed("[[[1, 4]]]", "[[85]]"), "85",
                 R"(node 0 "x" shape 0 is a number, expected a list of extents)"},
        BadGraph{"ExtentText", changed("[[[1, 4]]]", R"([[[1, "4"]]])"), R"("4")",
                 R"(node 0 "x" shape 0 extent is a string, expected a whole number)"},
        BadGraph{"ExtentNegative", changed("[[[1, 4]]]", "[[[1, -2]]]"), "-2",
                 R"(node 0 "x" shape 0 has extent -2, minimum is -1)"},
        BadGraph{"ManyDimensions",
                 changed("[[[1, 4]]]",
                         "[[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                         "1,1,1,1,1]]]"),
                 "[1,1,1", R"(node 0 "x" shape 0 has 33 dimensions, maximum is 32)"},
        BadGraph{"LargeShape", changed("[[[1, 4]]]", "[[[4294967296, 4294967296]]]"),
                 R"({"op": "input")",
                 R"(node 0 "x" output 0: dimension 1 is 4294967296, room for 536870911)"},
        BadGraph{"ShapeCount", changed("[[[1, 4]]]", "[[[1, 4], [2]]]"), R"({"op": "input")",
                 R"(node 0 "x" has 2 shapes and 1 dtypes, node_row_ptr gives it 1 outputs)"},
        BadGraph{"ArgumentRange", changed("[0, 1], ", "[0, 9], "), "9], ",
                 "arg_nodes has node 9, node count is 3"},
        BadGraph{"ArgumentTwice", changed("[0, 1], ", "[0,  0], "), "0], \"heads",
                 R"(arg_nodes has node 0 "x" twice)"},
        BadGraph{"ArgumentKernel", changed("[0, 1], ", "[0,  2], "), "2], \"heads",
                 R"(arg_nodes has node 2 "nn.dense", which is a kernel)"},
        BadGraph{"ArgumentMissing", changed("[0, 1], ", "[ 1], "), "[ 1], ",
                 R"(arg_nodes does not have node 0 "x", which is no kernel)"},
        BadGraph{"ConstantName", changed(R"("name": "c0")", R"("name": "c7")"), "1], ",
                 R"(constant 0 is node 1 "c7", the payload's list has "c0")"},
        BadGraph{"HeadRange", changed("[[2, 0, 0]]", "[[3, 0, 0]]"), "[3, 0, 0]",
                 "head is of node 3, nodes before it are 3"},
        BadGraph{"NoHeads", changed("[[2, 0, 0]]", "[ ]"), "[ ]",
                 "heads is empty, minimum is 1 output"}),
    [](const auto& test) { return test.param.name; });

// The graph with the typed attributes of TVM 0.24.
std::string typed_graph(std::string_view more = "") {
  return graph_of(concat(
      R"({"op": "input", "name": "x", "attrs": {"dtype": ["float32"], "shape": [[1, 4]]}},
         {"op": "const", "name": "c0", "attrs": {"dtype": ["float32"], "shape": [[]]}},
         {"op": "kernel", "name": "nn.dense", "inputs": [[0, 0, 0], [1, 0, 0]],
          "attrs": {"num_inputs": 2, "num_outputs": 1, "dtype": ["float32"], "shape": [[1, 3]],
                    "units": 3, "strides": [1, 2], "layout": "NCHW", "absent": "", "scale": 0.5,
                    "scales": [1.0, 0.25], "axis": -1, "flag": true, "none": [])",
      more, "}}"));
}

TEST(JsonSubgraph, ReadsTypedAttributesAsTexts) {
  const auto graph = read(typed_graph());

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_THAT(graph->entries[0].shape, ElementsAre(1, 4));
  EXPECT_THAT(graph->entries[1].shape, IsEmpty());
  const SubgraphNode& node = graph->nodes[2];
  const std::pair<std::string_view, std::vector<std::string>> expected[] = {
      {"units", {"3"}}, {"strides", {"1", "2"}}, {"layout", {"NCHW"}},
      {"absent", {""}}, {"scale", {"0.5"}},      {"scales", {"1", "0.25"}},
      {"axis", {"-1"}}, {"flag", {"1"}},         {"none", {}},
  };
  for (const auto& [name, texts] : expected) {
    ASSERT_NE(node.find(name), nullptr) << name;
    EXPECT_EQ(*node.find(name), texts) << name;
  }
}

TEST(JsonSubgraph, RefusesTypedAttributesOfOtherForms) {
  const std::pair<std::string, std::string_view> cases[] = {
      {typed_graph(R"(, "lists": [[1]])"),
       R"(node 2 "nn.dense" attribute "lists" is a list, expected a string or a number)"},
      {typed_graph(R"(, "nothing": null)"),
       R"(node 2 "nn.dense" attribute "nothing" is null, expected a string or a number)"},
      {typed_graph(R"(, "units": 4)"), R"(node 2 "nn.dense" attribute "units" is given twice)"},
      {typed_graph(R"(, "shape": 4)"),
       R"(node 2 "nn.dense" attribute "shape" is a number, expected a list of shapes)"},
      {typed_graph(R"(, "num_inputs": 3)"),
       R"(node 2 "nn.dense" attribute num_inputs is "3", number of inputs is 2)"},
  };
  for (const auto& [text, expected] : cases) {
    const auto graph = read(text);
    ASSERT_FALSE(graph.ok()) << expected;
    EXPECT_EQ(graph.error().code, Code::malformed);
    EXPECT_EQ(graph.error().reason, "SUBGRAPH");
    EXPECT_THAT(graph.error().message, HasSubstr(expected));
  }
}

TEST(JsonSubgraph, RefusesAnotherNumberOfConstants) {
  const std::string text = whole_graph();

  const auto more = read(text, {"c0", "c1"});
  const auto fewer = read(text, {});

  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().message, "arg_nodes has 1 constants, the payload's list has 2");
  EXPECT_EQ(more.error().offset, text.find("[0, 1], "));
  ASSERT_FALSE(fewer.ok());
  EXPECT_EQ(fewer.error().message, "arg_nodes has 1 constants, the payload's list has 0");
}

TEST(JsonSubgraph, RefusesAConstantOfSeveralTensors) {
  const std::string pair =
      R"({"op": "const", "name": "c0", "attrs": {"dtype": [["int8", "int8"]], "shape": [[[], []]]}})";

  const auto graph = read(graph_of(pair, "[0]", "[[0, 0]]", "[0, 2]"));

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, R"(node 0 "c0" is a constant of 2 tensors, expected 1)");
}

TEST(JsonSubgraph, RefusesMoreAttributesThanAnOperatorHas) {
  std::string attributes = R"("units": [["3"]])";
  for (int i = 0; i < 256; ++i) attributes += concat(", \"a", i, "\": [[]]");

  const auto graph = read(changed(R"("units": [["3"]])", attributes));

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, R"(node 2 "nn.dense" has 262 attributes, maximum is 256)");
}

TEST(JsonSubgraph, RefusesNestingAndTextsThatAreNoJson) {
  const auto nested = read("{\"nodes\": [[[[[[[[[]]]]]]]]]}");
  const auto broken = read("{\"nodes\": ");

  ASSERT_FALSE(nested.ok());
  EXPECT_THAT(nested.error().message, HasSubstr("sub-graph is nested deeper than 8"));
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("sub-graph is not JSON"));
  EXPECT_EQ(broken.error().reason, "SUBGRAPH");
}

TEST(JsonSubgraph, AddsTheOffsetOfTheTextToThoseOfErrors) {
  const auto graph =
      read_json_subgraph({.symbol = "s", .graph_json = "[1]", .graph_at = 1000, .constants = {}});

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().offset, 1000u);
}

}  // namespace
}  // namespace gantry
