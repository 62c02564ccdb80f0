// SPDX-License-Identifier: Apache-2.0
//
// source   https://graphviz.org/docs/outputs/plain
#include "core/base/new_file.hpp"
#include "core/base/process.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/text.hpp"
#include "tools/gantry/draw/layout.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace gantry::cli {
namespace {

// Graphviz's unit is an inch of 72 points; a pixel of SVG is a point here.
constexpr double points_per_inch = 72;
constexpr std::chrono::seconds max_time{30};
constexpr std::size_t max_output = 64 << 20;

std::string dot_of(const Sheet& sheet) {
  std::string text =
      "digraph {\nranksep=0.4; nodesep=0.25; edge [arrowhead=none]; node [shape=box, "
      "fixedsize=true, label=\"\"];\n";
  for (std::size_t i = 0; i < sheet.nodes.size(); ++i) {
    const Size box = box_of(sheet.nodes[i]);
    append(text, {"n", i, " [width=", std::to_string(box.width / points_per_inch),
                  ", height=", std::to_string(box.height / points_per_inch), "];\n"});
  }
  for (const FlowEdge& edge : sheet.edges) append(text, {"n", edge.from, " -> n", edge.to, ";\n"});
  return text + "}\n";
}

// Reads words and numbers of one line.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}

  std::string_view word() {
    left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
    const std::string_view found = left_.substr(0, left_.find(' '));
    left_.remove_prefix(found.size());
    return found;
  }
  std::optional<double> number() {
    const auto found = parse_number<double>(word());
    return found && std::isfinite(*found) && std::abs(*found) < 1e6 ? found : std::nullopt;
  }
  // "n12", below `count`
  std::optional<std::size_t> node(std::size_t count) {
    std::string_view name = word();
    if (!name.starts_with('n')) return std::nullopt;
    const auto index = parse_number<std::size_t>(name.substr(1));
    return index && *index < count ? index : std::nullopt;
  }
  std::optional<Point> point() {
    const auto x = number(), y = number();
    if (!x || !y) return std::nullopt;
    return Point{*x * points_per_inch, *y * points_per_inch};
  }

 private:
  std::string_view left_;
};

class PlainReader {
 public:
  explicit PlainReader(const Sheet& sheet) : sheet_(sheet) {
    out_.nodes.resize(sheet.nodes.size());
    out_.edges.resize(sheet.edges.size());
    for (std::size_t e = 0; e < sheet.edges.size(); ++e)
      edges_.emplace(std::pair(sheet.edges[e].from, sheet.edges[e].to), e);
  }

  // Returns false for a line that is not understood.
  bool read(std::string_view line) {
    Words words(line);
    const std::string_view kind = words.word();
    if (kind == "graph") return read_graph(words);
    if (kind == "node") return read_node(words);
    return kind == "edge" && read_edge(words);
  }
  bool is_complete() const { return has_size_ && node_count_ == out_.nodes.size(); }
  Placement take() { return std::move(out_); }

 private:
  bool read_graph(Words& words) {
    words.word();
    const auto size = words.point();
    if (!size) return false;
    out_.size = {size->x + 2 * layout_margin, size->y + 2 * layout_margin};
    has_size_ = true;
    return true;
  }
  // Graphviz's y grows upwards.
  std::optional<Point> place(Words& words) const {
    const auto point = words.point();
    if (!point) return std::nullopt;
    return Point{point->x + layout_margin, out_.size.height - layout_margin - point->y};
  }
  bool read_node(Words& words) {
    const auto node = words.node(out_.nodes.size());
    const auto at = place(words);
    if (!node || !at) return false;
    out_.nodes[*node] = *at;
    ++node_count_;
    return true;
  }
  bool read_edge(Words& words) {
    const auto from = words.node(out_.nodes.size()), to = words.node(out_.nodes.size());
    const auto count = parse_number<std::size_t>(words.word());
    if (!from || !to || !count || *count > 10000 || *count % 3 != 1) return false;
    const auto edge = edges_.find({*from, *to});
    if (edge == edges_.end()) return false;
    std::vector<Point> points;
    for (std::size_t i = 0; i < *count; ++i) {
      const auto point = place(words);
      if (!point) return false;
      points.push_back(*point);
    }
    out_.edges[edge->second] = std::move(points);
    return true;
  }

  const Sheet& sheet_;
  Placement out_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> edges_;
  bool has_size_ = false;
  std::size_t node_count_ = 0;
};

}  // namespace

Result<std::vector<Placement>> read_plain(std::string_view text, const std::vector<Sheet>& sheets) {
  std::vector<Placement> all;
  std::optional<PlainReader> reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (all.size() == sheets.size()) return unavailable("dot has printed more than its graphs");
    if (!reader) reader.emplace(sheets[all.size()]);
    if (line == "stop") {
      if (!reader->is_complete()) return unavailable("dot has not placed all nodes of a graph");
      all.push_back(reader->take());
      reader.reset();
    } else if (!reader->read(line)) {
      return unavailable("dot has printed a line that is not of -Tplain");
    }
  }
  if (all.size() != sheets.size()) {
    return unavailable("dot has printed ", all.size(), " graphs, expected ", sheets.size());
  }
  return all;
}

Result<std::vector<Placement>> place_with_graphviz(const std::vector<Sheet>& sheets,
                                                   const ProgramSearch& search,
                                                   const std::filesystem::path& temporary) {
  GANTRY_TRY(const std::filesystem::path program, find_program("dot", search));
  GANTRY_TRY(const TempDirectory directory, TempDirectory::in(temporary, "gantry-draw"));
  std::string text;
  for (const Sheet& sheet : sheets) text += dot_of(sheet);
  const std::filesystem::path file = directory / "sheets.dot";
  GANTRY_CHECK(write_new_file(
      file, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
  const std::string path = concat("PATH=", absolute_search_path(search));
  ProgramLimits limits;
  limits.time = max_time;
  limits.kept_bytes = max_output;
  limits.keeps_beginning = true;
  GANTRY_TRY(const ProgramEnd end,
             run_program({.program = program,
                          .words = {program.string(), "-Tplain", file.string()},
                          .environment = environment_with(std::span(&path, 1)),
                          .directory = directory.path(),
                          .is_tool = true},
                         limits));
  if (!end.exited_with(0) || end.dropped_bytes != 0)
    return unavailable("dot has failed or not ended in ", max_time.count(), " s");
  return read_plain(end.output, sheets);
}

}  // namespace gantry::cli
