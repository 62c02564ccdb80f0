// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/import_graph.hpp"

#include <gantry/result.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry::cli {
namespace {

using ::testing::HasSubstr;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct ImportNode {
  std::string name;
  std::vector<std::uint64_t> imports;
};

using Write = void (*)(const ImportGraph&, const TextSink&);

std::string written(Write write, const std::vector<ImportNode>& nodes) {
  std::string text;
  write({nodes.size(), [&](std::size_t node) -> std::string_view { return nodes[node].name; },
         [&](std::size_t node) -> std::span<const std::uint64_t> { return nodes[node].imports; }},
        [&](std::string_view line) { text += line; });
  return text;
}
std::string import_text(const std::vector<ImportNode>& nodes) {
  return written(write_import_text, nodes);
}
std::string import_dot(const std::vector<ImportNode>& nodes) {
  return written(write_import_dot, nodes);
}
std::string import_mermaid(const std::vector<ImportNode>& nodes) {
  return written(write_import_mermaid, nodes);
}

std::vector<ImportNode> chain(std::size_t count) {
  std::vector<ImportNode> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(
        {"m", i + 1 < count ? std::vector<std::uint64_t>{i + 1} : std::vector<std::uint64_t>{}});
  }
  return nodes;
}

// `layers` times two modules, each importing both of the next layer: 2^layers paths from the root.
std::vector<ImportNode> diamonds(std::size_t layers) {
  std::vector<ImportNode> nodes{{"root", {1, 2}}};
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t next = 2 * i + 3;
    const bool last = i + 1 == layers;
    for (int twin = 0; twin < 2; ++twin) {
      nodes.push_back(
          {"d", last ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{next, next + 1}});
    }
  }
  return nodes;
}

TEST(ImportText, DrawsBranches) {
  const std::vector<ImportNode> nodes{{"GraphExecutorFactory", {1}},
                                      {"_lib", {2, 4}},
                                      {"opencl", {3}},
                                      {"const_loader", {}},
                                      {"cuda", {}}};

  EXPECT_EQ(import_text(nodes),
            "[0] GraphExecutorFactory\n"
            "`- [1] _lib\n"
            "   |- [2] opencl\n"
            "   |  `- [3] const_loader\n"
            "   `- [4] cuda\n");
}

TEST(ImportText, PrintsASharedModuleOnceAndRefersToIt) {
  const std::vector<ImportNode> nodes{{"a", {1, 2}}, {"b", {3}}, {"c", {3}}, {"d", {}}};

  EXPECT_EQ(import_text(nodes),
            "[0] a\n"
            "|- [1] b\n"
            "|  `- [3] d\n"
            "`- [2] c\n"
            "   `- [3] d (above)\n");
}

TEST(ImportText, PrintsModulesThatAreNotImported) {
  const std::vector<ImportNode> nodes{{"a", {}}, {"b", {2}}, {"c", {}}};

  EXPECT_EQ(import_text(nodes),
            "[0] a\n"
            "[1] b (nothing above imports it)\n"
            "`- [2] c\n");
}

TEST(ImportText, ContinuesADeepChainAtTheMargin) {
  const std::string text = import_text(chain(24));

  EXPECT_THAT(text,
              HasSubstr("`- [20] m (continued below)\n... [20] m\n`- [21] m\n   `- [22] m\n"));
}

TEST(ImportText, RefersToABranchThatIsContinuedBelow) {
  auto nodes = chain(22);
  nodes[19].imports = {20, 20};

  EXPECT_THAT(import_text(nodes), HasSubstr("`- [20] m (below)\n... [20] m\n`- [21] m\n"));
}

TEST(ImportText, PrintsALoopOnce) {
  const std::vector<ImportNode> nodes{{"a", {1}}, {"b", {0}}};

  EXPECT_EQ(import_text(nodes), "[0] a\n`- [1] b\n   `- [0] a (above)\n");
}

TEST(ImportText, EscapesNames) {
  EXPECT_EQ(import_text({{"a\x1b[2J\n", {}}}), "[0] a\\x1b[2J\\x0a\n");
}

// The number of lines grows with the modules, their length does not.
TEST(ImportText, IsLinearInTheModulesOfAChain) {
  const std::string text = import_text(chain(10000));

  EXPECT_LT(lines(text), 11000u);
  EXPECT_LT(text.size(), 11000u * 100);
  EXPECT_THAT(text, HasSubstr("[9999] m\n"));
}

TEST(ImportGraph, IsWrittenLinearInTheEdgesInEveryForm) {
  const auto nodes = diamonds(1000);

  for (const std::string& text : {import_text(nodes), import_dot(nodes), import_mermaid(nodes)}) {
    EXPECT_LT(lines(text), 7000u);
    EXPECT_LT(text.size(), 700000u);
  }
}

TEST(ImportDot, ListsModulesThenImports) {
  EXPECT_EQ(import_dot({{"a\"", {1}}, {"_lib", {}}}),
            "digraph imports {\n"
            "  node [shape=box];\n"
            "  m0 [label=\"0: a\\\"\"];\n"
            "  m1 [label=\"1: _lib\"];\n"
            "  m0 -> m1;\n"
            "}\n");
}

TEST(ImportMermaid, ListsModulesThenImports) {
  EXPECT_EQ(import_mermaid({{"a\"", {1}}, {"_lib", {}}}),
            "graph TD\n"
            "  m0[\"0: a#quot;\"]\n"
            "  m1[\"1: _lib\"]\n"
            "  m0 --> m1\n");
}

}  // namespace
}  // namespace gantry::cli
