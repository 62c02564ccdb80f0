// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/flow.hpp"

#include "core/formats/type_key.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/relay_assembler.hpp"
#include "tests/support/small_graph.hpp"
#include "tools/gantry/draw/dot.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using test::relax_immediate;
using test::relax_register;
using test::relax_void;
using test::RelaxAssembler;
using test::RelayAssembler;
using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "if>then true" for each edge, "." in place of ">" for control.
std::vector<std::string> edges_of(const Flow& flow) {
  std::vector<std::string> texts;
  for (const FlowEdge& edge : flow.edges) {
    texts.push_back(concat(flow.nodes[edge.from].title, edge.is_control ? "." : ">",
                           flow.nodes[edge.to].title, edge.label.empty() ? "" : " ", edge.label));
  }
  return texts;
}

std::vector<std::string> titles_of(const Flow& flow) {
  std::vector<std::string> titles;
  for (const FlowNode& node : flow.nodes) titles.push_back(node.title);
  return titles;
}

Result<std::vector<Flow>> flows_of(const RelaxAssembler& code, const FlowLimits& limits = {}) {
  const auto payload = code.payload();
  Entry entry{.type_key = relax_executable_key};
  entry.payload = payload.bytes.bytes();
  return relax_flows(entry, 0, {}, {}, limits);
}

Result<std::vector<Flow>> flows_of(const RelayAssembler& code) {
  const auto payload = code.payload();
  Entry entry{.type_key = relay_executable_key};
  entry.payload = payload.bytes.bytes();
  return relay_flows(entry, {});
}

Result<Flow> graph_of(const std::string& json) {
  const auto payload = Words().str(json).u64(1).u64(1).str("p0");
  Entry entry{.type_key = graph_factory_key};
  entry.payload = payload.bytes();
  return graph_flow(entry, {});
}

TEST(GraphFlow, HidesParametersAndHasTypes) {
  const auto flow = graph_of(test::small_graph);

  ASSERT_TRUE(flow.ok()) << flow.error().message;
  EXPECT_THAT(titles_of(*flow), ElementsAre("x", "add", "reshape", "output"));
  EXPECT_THAT(edges_of(*flow), ElementsAre("x>add", "add>reshape", "reshape>output"));
  EXPECT_THAT(flow->nodes[1].lines, ElementsAre("float32[2, 2]"));
  EXPECT_THAT(flow->nodes[2].lines, ElementsAre("float32[4]"));
  EXPECT_EQ(flow->nodes[1].timed, "add");
  EXPECT_THAT(flow->notes, ElementsAre("1 parameter is not drawn"));
}

TEST(GraphFlow, ReportsAMalformedGraph) {
  const auto flow =
      graph_of(test::replaced(test::small_graph, R"("inputs":[[2,0,0]])", R"("inputs":[[9,0,0]])"));

  ASSERT_FALSE(flow.ok());
  EXPECT_EQ(flow.error().code, Code::malformed);
  EXPECT_EQ(flow.error().message.text(),
            "node 3 \"y\" inputs[0] names node 9, expected one of the 3 nodes before it");
}

// The kernel writes the tensor that was allocated, and reads it the next time.
TEST(RelaxFlow, FindsWhatACallWrites) {
  RelaxAssembler code;
  const auto alloc = code.packed("vm.builtin.alloc_tensor");
  const auto add = code.packed("add");
  const auto type = code.dtype({2, 32, 1});
  const auto shape = code.shape({1, 4});
  code.function("main", {"x"}, 3);
  code.call(1, alloc, {relax_register(0), relax_immediate(0), shape, type});
  code.call(relax_void, add, {relax_register(0), relax_register(1)});
  code.call(2, alloc, {relax_register(0), relax_immediate(0), shape, type});
  code.call(relax_void, add, {relax_register(1), relax_register(2)});
  code.ret(2);

  const auto flows = flows_of(code);

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  ASSERT_THAT(*flows, SizeIs(1));
  const Flow& main = flows->front();
  EXPECT_EQ(main.title, "main");
  EXPECT_THAT(titles_of(main), ElementsAre("x", "add", "add", "return"));
  EXPECT_THAT(edges_of(main), ElementsAre("x>add", "add>add", "add>return"));
  EXPECT_THAT(main.nodes[1].lines, ElementsAre("float32[1, 4]"));
}

// r3 has the result of either block.
RelaxAssembler two_ways() {
  RelaxAssembler code;
  const auto first = code.packed("first");
  const auto second = code.packed("second");
  code.function("main", {"c", "x"}, 4);
  code.branch(0, 3);
  code.call(3, first, {relax_register(1)});
  code.jump(2);
  code.call(3, second, {relax_register(1)});
  code.ret(3);
  return code;
}

TEST(RelaxFlow, DrawsBlocksAndWhereTheyJoin) {
  const auto flows = flows_of(two_ways());

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  EXPECT_THAT(titles_of(flows->front()),
              ElementsAre("c", "if", "then", "x", "first", "else", "second", "join", "return"));
  EXPECT_THAT(edges_of(flows->front()),
              ElementsAre("c>if", "if.then true", "x>first", "then.first", "if.else false",
                          "x>second", "else.second", "first.join", "second.join", "first>return",
                          "second>return", "join.return"));
}

TEST(RelaxFlow, DrawsALoop) {
  RelaxAssembler code;
  const auto step = code.packed("step");
  code.function("main", {"c"}, 2);
  code.call(1, step, {relax_register(0)});
  code.branch(1, 2);
  code.jump(-2);
  code.ret(1);

  const auto flows = flows_of(code);

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  EXPECT_THAT(titles_of(flows->front()),
              ElementsAre("loop", "c", "step", "if", "then", "else", "return"));
  EXPECT_THAT(edges_of(flows->front()),
              ElementsAre("c>step", "step>if", "loop.step", "if.then true", "then.loop",
                          "if.else false", "step>return", "else.return"));
}

TEST(RelaxFlow, OfACompiledFunctionStatesSo) {
  RelaxAssembler code;
  code.vm_tir("main", 1, 2);

  const auto flows = flows_of(code);

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  ASSERT_THAT(*flows, SizeIs(1));
  EXPECT_THAT(flows->front().nodes, IsEmpty());
  EXPECT_THAT(flows->front().notes,
              ElementsAre("the function is compiled into the library: no call of it is in the code "
                          "of the virtual machine"));
}

// The first instructions are drawn, and the rest is counted.
TEST(RelaxFlow, IsLimited) {
  RelaxAssembler code;
  const auto step = code.packed("step");
  code.function("main", {"x"}, 2);
  for (int i = 0; i < 100; ++i) code.call(1, step, {relax_register(i == 0 ? 0 : 1)});
  code.ret(1);

  const auto flows = flows_of(code, {.flows = 1, .nodes = 20, .edges = 10, .all_nodes = 20});

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  EXPECT_THAT(flows->front().nodes, SizeIs(20));
  EXPECT_THAT(flows->front().edges, SizeIs(10));
  EXPECT_THAT(flows->front().notes,
              ElementsAre("the first 20 nodes are drawn, 82 more are left out",
                          "the first 10 edges are drawn, 9 more are left out"));
}

// A file may state a million parameters in a few bytes.
TEST(RelaxFlow, AddsNoNodeOfAParameterThatIsNotRead) {
  RelaxAssembler code;
  code.function("main", {}, 100000);
  code.functions[0].parameters = 100000;
  code.functions[0].names.clear();
  code.ret(7);

  const auto flows = flows_of(code);

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  EXPECT_THAT(titles_of(flows->front()), ElementsAre("parameter 7", "return"));
}

TEST(RelayFlow, HasOutputsOfKernelsAndBranches) {
  RelayAssembler code;
  const auto first = code.packed("first"), second = code.packed("second");
  code.function("main", {"x"}, 12);
  code.tensor({2, 32, 1}, {4}, 16, 1, 4);
  code.invoke_packed(first, {0, 4});
  code.load_integer(1, 5);
  code.branch(4, 5, 1, 3);
  code.invoke_packed(second, {4, 4});
  code.jump(2);
  code.device_copy(4, 0, 0, 4);
  code.ret(4);

  const auto flows = flows_of(code);

  ASSERT_TRUE(flows.ok()) << flows.error().message;
  const Flow& main = flows->front();
  EXPECT_THAT(titles_of(main),
              ElementsAre("x", "first", "if", "then", "second", "else", "copy", "join", "return"));
  EXPECT_THAT(edges_of(main),
              ElementsAre("x>first", "first>if", "if.then true", "first>second", "then.second",
                          "if.else false", "first>copy", "else.copy", "second.join", "copy.join",
                          "second>return", "copy>return", "join.return"));
  EXPECT_THAT(main.nodes[1].lines, ElementsAre("float32[4]"));
  EXPECT_THAT(main.nodes[6].lines, ElementsAre("float32[4]", "device 0 to device 0"));
}

TEST(ShownText, HasNoControlCharactersAndIsCut) {
  EXPECT_EQ(shown_text("a\nb\x01\xff"), "a\\x0ab\\x01\\xff");
  EXPECT_EQ(shown_text(std::string(300, 'a')), std::string(256, 'a') + "...");
  EXPECT_EQ(short_name("tvmgen_default_fused_add"), "fused_add");
  EXPECT_EQ(short_name("vm.builtin.reshape"), "reshape");
  EXPECT_EQ(short_name("vm_mod_"), "vm_mod_");
}

TEST(Dot, EscapesLabels) {
  Drawing drawing{.title = "a\"b"};
  Flow flow{.title = "f"};
  flow.nodes.push_back({.title = R"(x"];} \ <b>)", .lines = {"float32[1]"}});
  drawing.flows.push_back(flow);
  std::string text;

  write_dot(drawing, [&](std::string_view piece) { text += piece; });

  EXPECT_EQ(text, R"(digraph "a\"b" {
  node [shape=box, fontname=monospace];
  subgraph cluster_0 {
    label="f";
    f0n0 [label="x\"];} \\ <b>\nfloat32[1]"];
  }
}
)");
}

}  // namespace
}  // namespace gantry::cli
