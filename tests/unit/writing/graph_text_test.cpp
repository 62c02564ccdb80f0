// SPDX-License-Identifier: Apache-2.0
#include "core/writing/graph_text.hpp"
#include "core/writing/graph_requirements.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace gantry {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;

GraphTensor tensor(std::string name, std::vector<std::int64_t> shape) {
  return {std::move(name), {{2, 32, 1}, std::move(shape)}};
}

// x -> dense(x, w) -> a -> split(a) -> b, c -> add(b, c) -> d; outputs d.
GraphDescription diamond() {
  return {{tensor("x", {1, 4})},
          {{"dense", {"x", "w"}, {tensor("a", {1, 8})}},
           {"split", {"a"}, {tensor("b", {1, 4}), tensor("c", {1, 4})}},
           {"add", {"b", "c"}, {tensor("d", {1, 4})}}},
          {"d"}};
}

Json written(const GraphDescription& graph) {
  const std::vector<GraphTensor> parameters = {tensor("w", {8, 4})};
  const Result<std::string> text = write_graph_json(graph, parameters);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return Json::parse(*text);
}

TEST(GraphText, ListsNodesInExecutionOrder) {
  const Json graph = written(diamond());

  const Json expected = Json::parse(R"([
    {"op": "null", "name": "x", "inputs": []},
    {"op": "null", "name": "w", "inputs": []},
    {"op": "tvm_op", "name": "a", "inputs": [[0, 0, 0], [1, 0, 0]],
     "attrs": {"func_name": "dense", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "b", "inputs": [[2, 0, 0]],
     "attrs": {"func_name": "split", "num_inputs": "1", "num_outputs": "2", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "d", "inputs": [[3, 0, 0], [3, 1, 0]],
     "attrs": {"func_name": "add", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}}])");
  EXPECT_EQ(graph["nodes"], expected);
  EXPECT_EQ(graph["arg_nodes"], Json({0, 1}));
  EXPECT_EQ(graph["heads"], Json::parse("[[4, 0, 0]]"));
}

// TVM's readers skip a list of this tag.
TEST(GraphText, StatesTheDevicesAsAListOfNumbers) {
  GraphDescription graph = diamond();
  EXPECT_FALSE(written(graph)["attrs"].contains("gantry_devices"));
  graph.devices = {1, 4};

  EXPECT_EQ(written(graph)["attrs"]["gantry_devices"], Json::parse(R"(["list_int", [1, 4]])"));
}

// TVM's reader ends at this key.
TEST(GraphText, EndsWithTheNamesOfTheOutputs) {
  const std::vector<GraphTensor> parameters = {tensor("w", {8, 4})};
  GraphDescription graph = diamond();
  graph.outputs = {"d", "c"};

  const std::string text = write_graph_json(graph, parameters).value();

  const auto ordered = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(ordered.back(), Json::parse(R"({"gantry_output_names": ["d", "c"]})"));
  EXPECT_EQ(std::prev(ordered.end()).key(), "metadata");
}

TEST(GraphText, HasNoNamesForAnOutputThatIsListedTwice) {
  GraphDescription graph = diamond();
  graph.outputs = {"d", "d"};

  EXPECT_FALSE(written(graph).contains("metadata"));
}

// One attribute for each output of each node, not for each node.
TEST(GraphText, ListsAttributesByEntry) {
  const Json graph = written(diamond());

  EXPECT_EQ(graph["node_row_ptr"], Json({0, 1, 2, 3, 5, 6}));
  EXPECT_EQ(graph["attrs"]["shape"],
            Json::parse(R"(["list_shape", [[1,4], [8,4], [1,8], [1,4], [1,4], [1,4]]])"));
  EXPECT_EQ(graph["attrs"]["dltype"][1].size(), 6u);
  EXPECT_EQ(graph["attrs"]["dltype"][1][0], "float32");
  // d is an output: it has its own slot, although the slot of a is free.
  EXPECT_EQ(graph["attrs"]["storage_id"], Json::parse(R"(["list_int", [0, 1, 2, 3, 4, 5]])"));
}

TEST(GraphText, ReusesTheMemoryOfTensorsThatAreNoLongerRead) {
  GraphDescription graph = diamond();
  graph.operators.push_back({"halve", {"d"}, {tensor("e", {1, 4})}});
  graph.outputs = {"e"};

  EXPECT_EQ(written(graph)["attrs"]["storage_id"][1], Json({0, 1, 2, 3, 4, 2, 5}));
}

// The text equals that of compilers byte for byte, except for the last key: two blanks for each
// level and one item per line.
TEST(GraphText, EqualsTheTextOfCompilers) {
  const GraphDescription graph = {
      {tensor("x", {1, 4})}, {{"re\"lu", {"x"}, {tensor("caf\xe9", {})}}}, {"x"}};

  const std::string text = write_graph_json(graph, {}).value();

  const auto expected = nlohmann::ordered_json::parse(R"(
    {"nodes": [{"op": "null", "name": "x", "inputs": []},
               {"op": "tvm_op", "name": "caf\ufffd",
                "attrs": {"func_name": "re\"lu", "flatten_data": "0", "num_inputs": "1",
                          "num_outputs": "1"},
                "inputs": [[0, 0, 0]]}],
     "arg_nodes": [0],
     "heads": [[0, 0, 0]],
     "attrs": {"dltype": ["list_str", ["float32", "float32"]],
               "storage_id": ["list_int", [0, 1]],
               "shape": ["list_shape", [[1, 4], []]]},
     "node_row_ptr": [0, 1, 2],
     "metadata": {"gantry_output_names": ["x"]}})");
  EXPECT_EQ(text, expected.dump(2));
}

struct RefusedGraph {
  std::string name;
  void (*spoil)(GraphDescription&);
  Code code;
  std::string message;
};
class GraphTextRejects : public ::testing::TestWithParam<RefusedGraph> {};

TEST_P(GraphTextRejects, TheGraph) {
  GraphDescription graph = diamond();
  GetParam().spoil(graph);

  const Result<std::string> text = write_graph_json(graph, std::vector{tensor("w", {8, 4})});

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, GetParam().code);
  EXPECT_EQ(text.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GraphTextRejects,
    ::testing::Values(
        RefusedGraph{"NoOutputs", [](GraphDescription& g) { g.outputs.clear(); }, Code::invalid,
                     "graph has no outputs, minimum is 1"},
        RefusedGraph{"UnknownOutput", [](GraphDescription& g) { g.outputs = {"z"}; },
                     Code::not_found,
                     "outputs names tensor \"z\", defined before it are a, b, c, d, w, x"},
        RefusedGraph{
            "OutputWithANearName",
            [](GraphDescription& g) {
              g.operators[2].outputs[0].name = "probabilities";
              g.outputs = {"probabilites"};
              g.location = "r.yaml:3:1: graph";
            },
            Code::not_found,
            "outputs names tensor \"probabilites\", did you mean \"probabilities\", defined "
            "before it are a, b, c, probabilities, w, x\n  for r.yaml:3:1: graph"},
        RefusedGraph{"InputOfAnOperator",
                     [](GraphDescription& g) {
                       g.operators[2].inputs[0] = "q";
                       g.operators[2].location = "r.yaml:9:7: graph.operators[2].function";
                     },
                     Code::not_found,
                     "operator 2 names tensor \"q\", defined before it are a, b, c, w, x\n"
                     "  for r.yaml:9:7: graph.operators[2].function"},
        RefusedGraph{"UsedBeforeMade", [](GraphDescription& g) { g.operators[0].inputs[0] = "d"; },
                     Code::not_found, "operator 0 names tensor \"d\", defined before it are w, x"},
        RefusedGraph{"DefinedTwice",
                     [](GraphDescription& g) { g.operators[2].outputs[0].name = "x"; },
                     Code::invalid, "tensor \"x\" is defined twice"},
        RefusedGraph{"InputIsParameter", [](GraphDescription& g) { g.inputs[0].name = "w"; },
                     Code::invalid, "tensor \"w\" is defined twice"},
        RefusedGraph{"NothingComesOut", [](GraphDescription& g) { g.operators[1].outputs.clear(); },
                     Code::invalid, "operator 1 \"split\" has no output, minimum is 1"},
        RefusedGraph{"Reserved", [](GraphDescription& g) { g.operators[1].function = "__nop"; },
                     Code::invalid, "function \"__nop\" is reserved for compilers"}),
    [](const auto& test) { return test.param.name; });

Graph read(const Json& graph) {
  const Result<Graph> read = read_graph_json(graph.dump(), 0);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.value();
}

TEST(GraphText, IsReadBackEqual) {
  const Graph graph = read(written(diamond()));

  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.input(0).name, "x");
  EXPECT_EQ(type_text(graph.entries[graph.input_entry(1)]), "float32[8, 4]");
}

TEST(CalledFunctions, AreSortedAndListedOnce) {
  GraphDescription twice = diamond();
  twice.operators.push_back({"add", {"b", "d"}, {tensor("e", {1, 4})}});

  EXPECT_THAT(called_functions(read(written(diamond()))), ElementsAre("add", "dense", "split"));
  EXPECT_THAT(called_functions(read(written(twice))), ElementsAre("add", "dense", "split"));
}

// Executors implement these two.
TEST(CalledFunctions, OmitReshapesAndCopies) {
  Json graph = written(diamond());
  graph["nodes"][2]["attrs"]["func_name"] = "__nop";
  graph["attrs"]["storage_id"][1][2] = 0;
  graph["attrs"]["shape"][1][2] = {4};
  graph["nodes"][4]["attrs"]["func_name"] = "__copy";
  graph["nodes"][4]["inputs"].erase(1);

  EXPECT_THAT(called_functions(read(graph)), ElementsAre("split"));
}

TEST(CheckParameter, RequiresAnArgumentOfThatName) {
  const Status checked = check_parameter(read(written(diamond())), tensor("v", {8, 4}));

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::not_found);
  EXPECT_EQ(checked.error().message, "parameter \"v\" of the graph not found; arguments: x, w");
}

TEST(CheckParameter, RequiresTheSameType) {
  const Status checked = check_parameter(read(written(diamond())), tensor("w", {4, 8}));

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::invalid);
  EXPECT_EQ(checked.error().message,
            "parameter \"w\" is float32[4, 8], the graph requires float32[8, 4]");
}

}  // namespace
}  // namespace gantry
