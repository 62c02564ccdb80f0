// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/sheet.hpp"

#include "tools/gantry/draw/page.hpp"
#include "tools/gantry/draw/profile.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Flow chain_flow(std::size_t count) {
  Flow flow{.title = "main", .timed = "main"};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = concat("op", i);
    flow.nodes.push_back({.title = name, .name = name, .timed = name});
    if (i > 0) flow.edges.push_back({i - 1, i});
  }
  return flow;
}

Drawing drawing_with(Flow flow) {
  Drawing drawing{.title = "model.so"};
  drawing.flows.push_back(std::move(flow));
  return drawing;
}

// No Graphviz is searched.
PlacedDrawing placed_layered(Drawing drawing) {
  std::string warning;
  return placed(std::move(drawing), {.path = "/none"}, "/tmp", warning);
}

template <class Write>
std::string text_of(Write write, const PlacedDrawing& drawing) {
  std::string text;
  write(drawing, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(Sheets, OfAShortFlowAreOne) {
  const auto sheets = sheets_of(drawing_with(chain_flow(80)));

  ASSERT_THAT(sheets, SizeIs(1));
  EXPECT_THAT(sheets[0].nodes, SizeIs(80));
  EXPECT_THAT(sheets[0].edges, SizeIs(79));
}

// Each node is on one sheet, and each sheet is small; ports lead to the node itself.
TEST(Sheets, FoldLongFlows) {
  constexpr std::size_t count = 5000;
  const auto sheets = sheets_of(drawing_with(chain_flow(count)));

  std::vector<int> shown(count);
  std::size_t folded = 0;
  for (const Sheet& sheet : sheets) {
    EXPECT_LE(sheet.nodes.size(), 82u);
    for (const FlowNode& node : sheet.nodes) {
      if (node.kind == FlowNode::Kind::call) {
        ++shown[static_cast<std::size_t>(std::stoi(node.title.substr(2)))];
      } else if (node.kind == FlowNode::Kind::fold) {
        ++folded;
        EXPECT_EQ(sheets.at(node.sheet).parent, static_cast<std::size_t>(&sheet - sheets.data()));
      } else {
        ASSERT_EQ(node.kind, FlowNode::Kind::port);
        EXPECT_EQ(sheets.at(node.sheet).nodes.at(node.there).name, node.name);
      }
    }
    for (const FlowEdge& edge : sheet.edges) {
      EXPECT_LT(edge.from, edge.to);
      EXPECT_LT(edge.to, sheet.nodes.size());
    }
  }
  EXPECT_EQ(std::ranges::count(shown, 1), static_cast<std::ptrdiff_t>(count));
  EXPECT_EQ(folded + 1, sheets.size());
}

// Two tensors cross every place but the one after node 5.
TEST(Sheets, FoldWhereFewTensorsCross) {
  Flow flow = chain_flow(12);
  for (std::uint32_t i = 0; i + 2 < 12; ++i) {
    if (i != 4) flow.edges.push_back({i, i + 2});
  }

  const auto sheets = sheets_of(drawing_with(flow), {.nodes = 8, .fold = 8});

  ASSERT_THAT(sheets, SizeIs(2));
  EXPECT_EQ(sheets[0].nodes[0].kind, FlowNode::Kind::fold);
}

TEST(Sheets, HaveOnePortForManyTensors) {
  Flow flow;
  for (std::uint32_t i = 0; i < 60; ++i) flow.nodes.push_back({.title = concat("op", i)});
  for (std::uint32_t i = 0; i < 30; ++i) flow.edges.push_back({i, 59 - i});

  const auto sheets = sheets_of(drawing_with(flow), {.nodes = 20, .fold = 20, .ports = 3});

  ASSERT_THAT(sheets, Not(SizeIs(1)));
  std::vector<std::string> ports;
  for (const FlowNode& node : sheets[1].nodes) {
    if (node.kind == FlowNode::Kind::port) ports.push_back(node.title);
  }
  EXPECT_THAT(ports, SizeIs(4));
  EXPECT_THAT(ports.back(), ::testing::MatchesRegex("to [0-9]+ more"));
}

TEST(Layers, DoNotOverlapAndLeadDown) {
  Sheet sheet;
  std::mt19937 random(7);
  for (std::uint32_t i = 0; i < 70; ++i) {
    sheet.nodes.push_back({.title = std::string(1 + random() % 30, 'x')});
    for (std::uint32_t k = 0; i > 0 && k < random() % 3; ++k)
      sheet.edges.push_back({static_cast<std::uint32_t>(random() % i), i});
  }
  sheet.edges.push_back({50, 3});

  const Placement placement = place_layered(sheet);

  for (std::size_t a = 0; a < sheet.nodes.size(); ++a) {
    const Size own = box_of(sheet.nodes[a]);
    const Point& at = placement.nodes[a];
    EXPECT_GE(at.x - own.width / 2, 0);
    EXPECT_LE(at.x + own.width / 2, placement.size.width);
    EXPECT_LE(at.y + own.height / 2, placement.size.height);
    for (std::size_t b = a + 1; b < sheet.nodes.size(); ++b) {
      const Size other = box_of(sheet.nodes[b]);
      const bool overlaps = std::abs(at.x - placement.nodes[b].x) < (own.width + other.width) / 2 &&
                            std::abs(at.y - placement.nodes[b].y) < (own.height + other.height) / 2;
      EXPECT_FALSE(overlaps) << a << " and " << b;
    }
  }
  for (std::size_t e = 0; e < sheet.edges.size(); ++e) {
    const std::vector<Point>& points = placement.edges[e];
    ASSERT_EQ(points.size() % 3, 1u);
    if (sheet.edges[e].from < sheet.edges[e].to) {
      EXPECT_LT(points.front().y, points.back().y);
    }
  }
}

// What `dot -Tplain` prints for two nodes, with an error in each row but the first.
struct PlainText {
  std::string name, text, error;
};
class Plain : public ::testing::TestWithParam<PlainText> {};

TEST_P(Plain, IsVerified) {
  const std::vector<Sheet> sheets = sheets_of(drawing_with(chain_flow(2)));

  const auto placements = read_plain(GetParam().text, sheets);

  EXPECT_EQ(placements.ok(), GetParam().error.empty());
  if (placements.ok()) {
    EXPECT_EQ(placements->front().size.height, 144 + 2 * layout_margin);
    EXPECT_EQ(placements->front().nodes[0].y, layout_margin + 36);
    EXPECT_THAT(placements->front().edges[0], SizeIs(4));
  } else {
    EXPECT_EQ(placements.error().code, Code::unavailable);
    EXPECT_EQ(placements.error().message.text(), GetParam().error);
  }
}

const std::string plain_nodes =
    "graph 1 1 2\nnode n0 0.5 1.5 1 0.5 \"\" solid box black lightgrey\n"
    "node n1 0.5 0.5 1 0.5 \"\" solid box black lightgrey\n";
const std::string plain_edge = "edge n0 n1 4 0.5 1.2 0.5 1.1 0.5 1 0.5 0.8 solid black\n";
const std::string not_plain = "dot has printed a line that is not of -Tplain";

INSTANTIATE_TEST_SUITE_P(
    Dot, Plain,
    ::testing::Values(
        PlainText{"Right", plain_nodes + plain_edge + "stop\n", ""},
        PlainText{"Empty", "", "dot has printed 0 graphs, expected 1"},
        PlainText{"Cut", plain_nodes, "dot has printed 0 graphs, expected 1"},
        PlainText{"NodeMissing", "graph 1 1 2\nnode n0 0.5 1.5 1 0.5\nstop\n",
                  "dot has not placed all nodes of a graph"},
        PlainText{"Twice", plain_nodes + "stop\n" + plain_nodes + "stop\n",
                  "dot has printed more than its graphs"},
        PlainText{"UnknownNode", "graph 1 1 2\nnode n9 0.5 1.5 1 0.5\n", not_plain},
        PlainText{"NoNumber", "graph 1 1 nan\n", not_plain},
        PlainText{"ManyPoints", plain_nodes + "edge n0 n1 99999999999 0 0\n", not_plain},
        PlainText{"UnknownEdge", plain_nodes + "edge n1 n0 4 1 1 1 1 1 1 1 1\n", not_plain},
        PlainText{"Words", "Error: something\n", not_plain}),
    [](const auto& test) { return test.param.name; });

TEST(Svg, EscapesTexts) {
  Flow flow{.title = "<script>"};
  flow.nodes.push_back({.title = R"(a<b>&"c"')", .lines = {"</text>"}, .name = "\xef\xbf\xbf]]>"});

  const std::string svg = text_of(write_svg, placed_layered(drawing_with(flow)));

  EXPECT_THAT(svg, HasSubstr(">a&lt;b&gt;&amp;&quot;c&quot;&#39;</text>"));
  EXPECT_THAT(svg, HasSubstr("&lt;/text&gt;"));
  EXPECT_THAT(svg, HasSubstr("?]]&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(Page, EscapesTextsAndLoadsNothing) {
  Flow flow = chain_flow(200);
  flow.title = "</script><script>alert(1)</script>";
  flow.nodes[3].name = "\"><img src=x>";
  Drawing drawing = drawing_with(flow);
  drawing.title = "<img src=x>";

  const std::string page = text_of(write_page, placed_layered(std::move(drawing)));

  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != page.npos; at = page.find("<script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 1u);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none';"));
  // A reference that is no name of a space.
  std::string rest = page;
  for (std::size_t at = rest.find("http://www.w3.org/2000/svg"); at != rest.npos;
       at = rest.find("http://www.w3.org/2000/svg"))
    rest.erase(at, 26);
  EXPECT_THAT(rest, Not(HasSubstr("://")));
  EXPECT_THAT(rest, Not(HasSubstr("src=x>")));
}

constexpr std::string_view small_profile =
    R"({"function": null, "operators": [{"name": "op1", "mean_ns": 3000.0},
        {"name": "main", "mean_ns": 500}, {"name": "elsewhere", "mean_ns": 500}]})";

TEST(Profile, SetsSharesAndColours) {
  Drawing drawing = drawing_with(chain_flow(3));
  drawing.flows[0].nodes[2].timed = "op1";
  const auto profile = read_profile(small_profile);
  ASSERT_TRUE(profile.ok()) << profile.error().message;

  const Status added = add_profile(*profile, drawing);

  ASSERT_TRUE(added.ok()) << added.error().message;
  const Flow& flow = drawing.flows[0];
  EXPECT_LT(flow.nodes[0].share, 0);
  EXPECT_DOUBLE_EQ(flow.nodes[1].share, 0.375);
  EXPECT_DOUBLE_EQ(flow.nodes[1].ns, 1500);
  EXPECT_EQ(flow.nodes[1].places, 2u);
  EXPECT_DOUBLE_EQ(flow.share, 0.125);
  EXPECT_DOUBLE_EQ(drawing.other_share, 0.125);
  const std::string svg = text_of(write_svg, placed_layered(drawing));
  EXPECT_THAT(svg, HasSubstr("<g class=\"n call h8\"><title>op1&#10;37.5 % of 75.0 % in 2 places"));
  EXPECT_THAT(svg, HasSubstr(">main  (12.5 % in the function itself)</text>"));
  EXPECT_THAT(svg, HasSubstr(">37.5 %; not drawn: 12.5 %</text>"));
  EXPECT_THAT(text_of(write_page, placed_layered(drawing)),
              HasSubstr("<td><span class=\"share\" style=\"--share:0.750000\">75.0 %</span></td>"
                        "<td>3.00 us</td><td>2</td><td><a href=\"#s0n1\">op1</a></td>"));
}

// Two functions call kernels of the same name; the profile is of one of them.
TEST(Profile, IsOfTheFunctionThatRan) {
  Drawing drawing{.title = "lm.so"};
  for (const std::string name : {"main", "prefill"}) {
    drawing.flows.push_back(chain_flow(2));
    drawing.flows.back().timed = name;
  }
  const auto profile =
      read_profile(R"({"function": "prefill", "operators": [{"name": "op1", "mean_ns": 1}]})");
  ASSERT_TRUE(profile.ok()) << profile.error().message;

  ASSERT_TRUE(add_profile(*profile, drawing).ok());

  EXPECT_LT(drawing.flows[0].nodes[1].share, 0);
  EXPECT_DOUBLE_EQ(drawing.flows[1].nodes[1].share, 1);
}

TEST(Profile, OfAnotherFileIsRefused) {
  Drawing drawing = drawing_with(chain_flow(2));
  const auto profile = read_profile(R"({"operators": [{"name": "x", "mean_ns": 1}]})");

  const Status added = add_profile(*profile, drawing);

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::invalid);
  EXPECT_EQ(added.error().message.text(),
            "profile has 1 operator, none of which the file has: it is of another file");
}

TEST(Profile, ReportsWhatIsMalformed) {
  const auto message_of = [](std::string_view json) {
    const auto profile = read_profile(json);
    EXPECT_FALSE(profile.ok()) << json;
    return profile.ok() ? std::string() : std::string(profile.error().message.text());
  };
  const std::string no_list = "profile has no list \"operators\"; gantry bench --json prints one";
  const std::string no_time = "operator of the profile has no name and time \"mean_ns\"";

  EXPECT_EQ(message_of("[]"), no_list);
  EXPECT_EQ(message_of(R"({"operators": {}})"), no_list);
  EXPECT_EQ(message_of(R"({"operators": [1]})"), no_time);
  EXPECT_EQ(message_of(R"({"operators": [{"name": 1, "mean_ns": 1}]})"), no_time);
  EXPECT_EQ(message_of(R"({"operators": [{"name": "x", "mean_ns": -1}]})"), no_time);
  EXPECT_EQ(message_of(R"({"operators": [{"name": "x"}]})"), no_time);
  EXPECT_THAT(message_of("{"), HasSubstr("profile is not JSON"));
}

}  // namespace
}  // namespace gantry::cli
