// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph_json.hpp"

#include "tests/support/files.hpp"
#include "tests/support/small_graph.hpp"

#include <gantry/quoted.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;

TEST(Graph, AssignsEntriesToNodes) {
  const Result<Graph> graph = read_graph_json(small_graph, 0);

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes[2].kind, GraphNodeKind::call);
  EXPECT_EQ(graph->nodes[3].kind, GraphNodeKind::nop);
  EXPECT_THAT(graph->nodes[2].inputs, ElementsAre(0, 1));
  EXPECT_EQ(graph->entries[3].bytes, 16u);
  EXPECT_EQ(graph->heads[0].entry, 3u);
  EXPECT_EQ(type_text(graph->entries[0]), "float32[2, 2]");
}

// Node 2 has two outputs, so that later node and entry indices differ.
TEST(Graph, DistinguishesEntriesFromNodes) {
  std::string text = replaced(small_graph, "\"num_outputs\":\"1\"", "\"num_outputs\":\"2\"");
  text = replaced(text, "[0,1,2,3,4]", "[0,1,2,4,5]");
  text = replaced(text, "\"inputs\":[[2,0,0]]", "\"inputs\":[[2,1,0]]");
  text = replaced(text, "\"float32\",\"float32\",", "\"float32\",\"float32\",\"int8\",");
  text = replaced(text, "[1,1,1,1]", "[1,1,1,1,1]");
  text = replaced(text, "[0,1,2,2]", "[0,1,5,2,2]");
  text = replaced(text, "[2,2],[4]", "[3],[2,2],[4]");

  const Result<Graph> graph = read_graph_json(text, 0);

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes[3].first_entry, 4u);
  EXPECT_THAT(graph->nodes[3].inputs, ElementsAre(3));
  EXPECT_EQ(graph->heads[0].entry, 4u);
  EXPECT_EQ(type_text(graph->entries[2]), "int8[3]");
}

struct BadGraph {
  std::string name, from, to, at, message;
  friend void PrintTo(const BadGraph& bad, std::ostream* out) { *out << bad.name; }
};
class InvalidGraph : public ::testing::TestWithParam<BadGraph> {};
TEST_P(InvalidGraph, IsRejectedAtTheInvalidList) {
  const BadGraph& bad = GetParam();
  const std::string text = replaced(small_graph, bad.from, bad.to);

  const Result<Graph> graph = read_graph_json(text, 100);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::malformed);
  EXPECT_EQ(graph.error().offset, 100 + text.find(bad.at) + bad.at.size() - 1);
  EXPECT_EQ(graph.error().message, bad.message);
}
constexpr char rows[] = "\"node_row_ptr\":[";
constexpr char heads[] = "\"heads\":[";
constexpr char args[] = "\"arg_nodes\":[";
constexpr char shapes[] = "\"shape\":[";
constexpr char storage[] = "\"storage_id\":[";
constexpr char node0[] = "\"nodes\":[\n{";
constexpr char node2[] = "\"p0\",\"inputs\":[]},\n{";
constexpr char node3[] = "[[0,0,0],[1,0,0]]},\n{";
constexpr char inputs2[] = "\"0\"},\"inputs\":[";
INSTANTIATE_TEST_SUITE_P(
    SmallGraph, InvalidGraph,
    ::testing::Values(
        BadGraph{"FewRows", "[0,1,2,3,4]", "[0,1,2,3]", rows,
                 "node_row_ptr has 4 items, expected 5, one more than nodes"},
        BadGraph{"RowsFromOne", "[0,1,2,3,4]", "[1,1,2,3,4]", rows,
                 "node_row_ptr[0] is 1, expected 0"},
        BadGraph{"RowFalls", "[0,1,2,3,4]", "[0,1,0,3,4]", rows,
                 "node_row_ptr[2] decreases from 1 to 0"},
        BadGraph{"ManyEntries", "[0,1,2,3,4]", "[0,1,2,3,2147483648]", rows,
                 "node_row_ptr counts 2147483648 entries, maximum is 2147483647"},
        BadGraph{"MostEntries", "[0,1,2,3,4]", "[0,1,2,3,2147483647]", "\"dltype\":[",
                 "attrs.dltype has 4 items, entry count is 2147483647"},
        BadGraph{"MoreEntriesThanAttributes", "[0,1,2,3,4]", "[0,1,2,3,5]", "\"dltype\":[",
                 "attrs.dltype has 4 items, entry count is 5"},
        BadGraph{"FewStorageIds", "[0,1,2,2]", "[0,1,2]", storage,
                 "attrs.storage_id has 3 items, entry count is 4"},
        BadGraph{"FewShapes", ",[4]", "", shapes, "attrs.shape has 3 items, entry count is 4"},
        BadGraph{"FewDevices", "[1,1,1,1]", "[1,1,1]", "\"device_index\":[",
                 "attrs.device_index has 3 items, entry count is 4"},
        BadGraph{"FewScopes", "\"shape\":[", "\"storage_scope\":[\"list_str\",[\"\"]],\"shape\":[",
                 "\"storage_scope\":[", "attrs.storage_scope has 1 items, entry count is 4"},
        BadGraph{"UnknownDtype", "[\"float32\"", "[\"floot32\"", "\"dltype\":[",
                 "attrs.dltype[0]: dtype \"floot32\": no such type, known are int, uint, float, "
                 "bfloat, complex, bool, "
                 "handle and the names of small floats"},
        BadGraph{"NegativeExtent", "[4]", "[-4]", shapes,
                 "attrs.shape[3]: dimension 0 is -4, minimum is 0"},
        BadGraph{"OverflowingShape", "[4]", "[4294967296,4294967296]", shapes,
                 "attrs.shape[3]: dimension 1 is 4294967296, room for 536870911"},
        BadGraph{"ManyDimensions", "[4]",
                 "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", shapes,
                 "attrs.shape[3] has 33 dimensions, maximum is 32"},
        BadGraph{"StorageBelowMinusOne", "[0,1,2,2]", "[0,-2,2,2]", storage,
                 "attrs.storage_id[1] is -2, range is -1 to 2147483647"},
        BadGraph{"StorageAboveTheMaximum", "[0,1,2,2]", "[0,2147483648,2,2]", storage,
                 "attrs.storage_id[1] is 2147483648, range is -1 to 2147483647"},
        BadGraph{"DeviceAboveTheMaximum", "[1,1,1,1]", "[1,2147483648,1,1]", "\"device_index\":[",
                 "attrs.device_index[1] is 2147483648, range is 0 to 2147483647"},
        BadGraph{"NegativeDevice", "[1,1,1,1]", "[1,-1,1,1]", "\"device_index\":[",
                 "attrs.device_index[1] is -1, range is 0 to 2147483647"},
        BadGraph{"DevicesBesideDevices", "\"shape\":[",
                 "\"gantry_devices\":[\"list_int\",[1]],\"shape\":[", "\"gantry_devices\":[",
                 "attrs.gantry_devices and attrs.device_index exclude each other"},
        BadGraph{"NoAlternative", "\"device_index\":[\"list_int\",[1,1,1,1]]",
                 "\"gantry_devices\":[\"list_int\",[]]", "\"gantry_devices\":[",
                 "attrs.gantry_devices is empty, minimum is 1 item"},
        BadGraph{"AlternativeZero", "\"device_index\":[\"list_int\",[1,1,1,1]]",
                 "\"gantry_devices\":[\"list_int\",[1,0]]", "\"gantry_devices\":[",
                 "attrs.gantry_devices[1] is 0, range is 1 to 2147483647"},
        BadGraph{"AlternativeAboveTheMaximum", "\"device_index\":[\"list_int\",[1,1,1,1]]",
                 "\"gantry_devices\":[\"list_int\",[2147483648]]", "\"gantry_devices\":[",
                 "attrs.gantry_devices[0] is 2147483648, range is 1 to 2147483647"},
        BadGraph{"AlternativeTwice", "\"device_index\":[\"list_int\",[1,1,1,1]]",
                 "\"gantry_devices\":[\"list_int\",[4,1,4]]", "\"gantry_devices\":[",
                 "attrs.gantry_devices[2] is 4 again"},
        BadGraph{"LongName", "\"name\":\"x\"", "\"name\":\"" + std::string(4097, 'x') + "\"", node0,
                 "node 0 " + quoted(std::string(4097, 'x')) +
                     " has a name of 4097 bytes, maximum is 4096"},
        BadGraph{"InputWithInputs", "\"name\":\"x\",\"inputs\":[]",
                 "\"name\":\"x\",\"inputs\":[[0,0]]", node0,
                 "node 0 \"x\" has op null and 1 inputs, expected none"},
        BadGraph{"InputWithoutOutput", "[0,1,2,3,4]", "[0,0,2,3,4]", node0,
                 "node 0 \"x\" has op null and no output"},
        BadGraph{"LaterInput", "[1,0,0]", "[2,0,0]", inputs2,
                 "node 2 \"add\" inputs[1] names node 2, expected one of the 2 nodes before it"},
        BadGraph{"InputNodePastEnd", "[1,0,0]", "[9,0,0]", inputs2,
                 "node 2 \"add\" inputs[1] names node 9, expected one of the 2 nodes before it"},
        BadGraph{"OutputPastEnd", "[1,0,0]", "[1,1,0]", inputs2,
                 "node 2 \"add\" inputs[1] names output 1 of node 1, which has 1"},
        BadGraph{"InputCountNoNumber", "\"num_inputs\":\"2\"", "\"num_inputs\":\"two\"", node2,
                 "node 2 \"add\" attribute num_inputs is \"two\", expected a number"},
        BadGraph{"FlattenNoNumber", "\"flatten_data\":\"0\"", "\"flatten_data\":\"\"", node2,
                 "node 2 \"add\" attribute flatten_data is \"\", expected a number"},
        BadGraph{"OutputCountDiffers", "\"num_outputs\":\"1\"", "\"num_outputs\":\"2\"", node2,
                 "node 2 \"add\" has num_outputs 2, node_row_ptr gives it 1"},
        BadGraph{"NopToOtherStorage", "[0,1,2,2]", "[0,1,2,3]", node3,
                 "node 3 \"y\" is a __nop to storage 3, which none of its inputs has"},
        BadGraph{"NopToOtherSize", "[4]]", "[5]]", node3,
                 "node 3 \"y\" is a __nop from float32[2, 2] to float32[5]: 16 bytes are not 20"},
        BadGraph{"CopyOfTwo", "\"func_name\":\"add\"", "\"func_name\":\"__copy\"", node2,
                 "node 2 \"add\" is a __copy of 2 inputs to 1 outputs, expected one of each"},
        BadGraph{"ArgumentAtTheEnd", "\"arg_nodes\":[0,1]", "\"arg_nodes\":[0,4]", args,
                 "arg_nodes[1] names node 4, node count is 4"},
        BadGraph{"ArgumentPastEnd", "\"arg_nodes\":[0,1]", "\"arg_nodes\":[0,9]", args,
                 "arg_nodes[1] names node 9, node count is 4"},
        BadGraph{"ArgumentIsACall", "\"arg_nodes\":[0,1]", "\"arg_nodes\":[0,2]", args,
                 "arg_nodes[1] names node 2 \"add\", which is not an input"},
        BadGraph{"ArgumentTwice", "\"arg_nodes\":[0,1]", "\"arg_nodes\":[0,0]", args,
                 "arg_nodes[1] names node 0 \"x\" again"},
        BadGraph{"ArgumentMissing", "\"arg_nodes\":[0,1]", "\"arg_nodes\":[0]", args,
                 "node 1 \"p0\" is an input, but arg_nodes does not name it"},
        BadGraph{"NamesOfMoreOutputs", "\"heads\":[",
                 "\"metadata\":{\"gantry_output_names\":[\"y\",\"z\"]},\"heads\":[", "_names\":[",
                 "metadata.gantry_output_names has 2 items, output count is 1"},
        BadGraph{"NameOfTwoOutputs", "\"heads\":[[3,0,0]]",
                 "\"metadata\":{\"gantry_output_names\":[\"y\",\"y\"]},\"heads\":[[3,0,0],[2,0,0]]",
                 "_names\":[", "metadata.gantry_output_names[1] is \"y\" again"},
        BadGraph{"LongOutputName", "\"heads\":[",
                 "\"metadata\":{\"gantry_output_names\":[\"" + std::string(4097, 'y') +
                     "\"]},\"heads\":[",
                 "_names\":[", "metadata.gantry_output_names[0] has 4097 bytes, maximum is 4096"},
        BadGraph{"HeadPastEnd", "[[3,0,0]]", "[[4,0,0]]", heads,
                 "heads[0] names node 4, node count is 4"},
        BadGraph{"HeadOutputPastEnd", "[[3,0,0]]", "[[3,1,0]]", heads,
                 "heads[0] names output 1 of node 3 \"y\", which has 1"}),
    [](const auto& test) { return test.param.name; });

struct BadText {
  std::string name, text;
  std::uint64_t offset;
  std::string message;
  friend void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }
};
class InvalidGraphText : public ::testing::TestWithParam<BadText> {};
TEST_P(InvalidGraphText, IsRejected) {
  const BadText& bad = GetParam();

  const Result<Graph> graph = read_graph_json(bad.text, 8);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::malformed);
  EXPECT_EQ(graph.error().reason, "GRAPH");
  EXPECT_EQ(graph.error().offset, bad.offset);
  EXPECT_EQ(graph.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, InvalidGraphText,
    ::testing::Values(BadText{"Nothing", "", 8, "graph is not JSON: ends after \"\""},
                      BadText{"Cut", "{\"nodes\":[", 18,
                              "graph is not JSON: ends after \"{\\\"nodes\\\":[\""},
                      BadText{"TwoDocuments", "{\"metadata\":1}{}", 23,
                              "graph is not JSON: \"{\" follows \"{\\\"metadata\\\":1}\""},
                      BadText{"ControlCharacter", "{\"a\x01\":1}", 12,
                              "graph is not JSON: \"\\x01\" follows \"{\\\"a\""},
                      BadText{"FollowedByText", small_graph + "{}", 8 + small_graph.size() + 1,
                              "graph is not JSON: \"{\" follows \"tr\\\":[0,1,2,3,4]}\""},
                      BadText{"Deep", "{\"metadata\":" + std::string(1'000'000, '['), 8 + 42,
                              "graph is nested deeper than 32"},
                      BadText{"List", "[]", 8, "graph is a list, expected an object"}),
    [](const auto& test) { return test.param.name; });

TEST(Graph, AcceptsValuesAtTheirLimits) {
  const std::pair<std::string, std::string> changes[] = {
      {"[0,1,2,2]", "[-1,2147483647,2,2]"},
      {"[1,1,1,1]", "[0,2147483647,1,1]"},
      {"\"name\":\"x\"", "\"name\":\"" + std::string(4096, 'x') + "\""},
      {"[4]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]"},
      // the first storage is shared, too
      {"[0,1,2,2]", "[1,2,0,0]"}};
  for (const auto& [from, to] : changes) {
    const Result<Graph> graph = read_graph_json(replaced(small_graph, from, to), 0);
    EXPECT_TRUE(graph.ok()) << to << ": " << graph.error().message;
  }
}

TEST(Graph, FindsInputsByName) {
  const Graph graph = read_graph_json(replaced(small_graph, "[0,1],", "[1,0],"), 0).value();

  EXPECT_EQ(graph.input_by_name.at("p0"), 0u);
  EXPECT_EQ(graph.input_by_name.at("x"), 1u);
  EXPECT_EQ(graph.input_by_name.size(), 2u);
}

TEST(Graph, ReadsTheFlattenAttribute) {
  const std::string text =
      replaced(small_graph, "\"flatten_data\":\"0\"", "\"flatten_data\":\"1\"");

  const Graph graph = read_graph_json(text, 0).value();

  EXPECT_TRUE(graph.nodes[2].flatten);
  EXPECT_FALSE(graph.nodes[3].flatten);
}

TEST(Graph, ReadsACopyOfOneInputToOneOutput) {
  const std::string text =
      replaced(replaced(small_graph, "\"func_name\":\"add\"", "\"func_name\":\"__copy\""),
               "[[0,0,0],[1,0,0]]", "[[0,0,0]]");

  const Result<Graph> graph = read_graph_json(text, 0);

  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes[2].kind, GraphNodeKind::copy);
}

TEST(Graph, RejectsACopyWithoutAnOutput) {
  std::string text =
      replaced(small_graph, "\"func_name\":\"__nop\",\"num_inputs\":\"1\",\"num_outputs\":\"1\"",
               "\"func_name\":\"__copy\",\"num_inputs\":\"1\",\"num_outputs\":\"0\"");
  text = replaced(text, "[0,1,2,3,4]", "[0,1,2,4,4]");
  text = replaced(text, "\"num_outputs\":\"1\"", "\"num_outputs\":\"2\"");

  const Result<Graph> graph = read_graph_json(text, 0);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::malformed);
  EXPECT_EQ(graph.error().message,
            "node 3 \"y\" is a __copy of 1 inputs to 0 outputs, expected one of each");
}

TEST(Graph, RejectsANopOfTwoSizesOfOneStorage) {
  std::string text =
      replaced(small_graph, "\"inputs\":[[2,0,0]]", "\"inputs\":[[2,0,0],[0,0,0],[1,0,0]]");
  text = replaced(text, "[0,1,2,2]", "[2,2,2,2]");
  text = replaced(text, "[[2,2],[2,2]", "[[3],[5]");

  const Result<Graph> graph = read_graph_json(text, 0);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::malformed);
  EXPECT_EQ(graph.error().message,
            "node 3 \"y\" is a __nop from float32[3] to float32[4]: 12 bytes are not 16");
}

TEST(Graph, RejectsEveryTruncation) {
  for (std::size_t size = 0; size < small_graph.size(); ++size) {
    EXPECT_FALSE(read_graph_json(std::string_view(small_graph).substr(0, size), 0).ok()) << size;
  }
}

TEST(Graph, RejectsOtherOperators) {
  const Result<Graph> graph = read_graph_json(replaced(small_graph, "tvm_op", "conv2d"), 0);

  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::unsupported);
  EXPECT_EQ(graph.error().message, "node 2 \"add\" has op \"conv2d\", known are null and tvm_op");
}

// The graph of a golden artifact, found by its type key and length.
std::string golden_graph(std::string_view file) {
  const std::vector<std::uint8_t> bytes = read_file(golden(file));
  constexpr std::string_view key = "GraphExecutorFactory";
  for (auto at = bytes.begin();; ++at) {
    at = std::search(at, bytes.end(), key.begin(), key.end());
    if (at == bytes.end()) return "";
    const std::size_t after = static_cast<std::size_t>(at - bytes.begin()) + key.size();
    std::uint64_t size = 0;
    if (bytes.size() - after < 9) return "";
    std::memcpy(&size, &bytes[after], sizeof size);
    if (bytes[after + 8] != '{' || size > bytes.size() - after - 8) continue;
    return std::string(bytes.begin() + static_cast<std::ptrdiff_t>(after) + 8,
                       bytes.begin() + static_cast<std::ptrdiff_t>(after + 8 + size));
  }
}

TEST(Graph, ReadsGraphsOfGoldenArtifacts) {
  for (const char* file : {"digits_mlp_llvm", "digits_mlp_c", "digits_mlp_opencl",
                           "digits_mlp_vulkan", "resnet20_llvm", "resnet20_opencl",
                           "digits_mlp_dnnl", "digits_mlp_tensorrt", "chain10", "chain1000"}) {
    const Result<Graph> graph = read_graph_json(golden_graph(concat("tvm-0.12/", file, ".so")), 0);
    ASSERT_TRUE(graph.ok()) << file << ": " << graph.error().message;
    EXPECT_EQ(graph->heads.size(), 1u) << file;
  }
  const Graph digits = read_graph_json(golden_graph("tvm-0.12/digits_mlp_llvm.so"), 0).value();
  EXPECT_EQ(digits.nodes.size(), 11u);
  EXPECT_EQ(type_text(digits.entries[digits.input_entry(0)]), "float32[1, 64]");
  EXPECT_EQ(type_text(digits.entries[digits.heads[0].entry]), "float32[1, 10]");
}

}  // namespace
}  // namespace gantry::test
