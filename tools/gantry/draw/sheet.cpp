// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/sheet.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

namespace gantry::cli {
namespace {

// Consecutive nodes of a flow, which are one node of a sheet.
struct Unit {
  std::uint32_t begin = 0, end = 0;
};

// "conv2d" of "conv2d_12" and "conv2d12".
std::string_view without_number(std::string_view title) {
  std::string_view name = title;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  while (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return name.empty() ? title : name;
}

bool is_operator(const FlowNode& node) {
  return node.kind == FlowNode::Kind::call || node.kind == FlowNode::Kind::light;
}

class Folder {
 public:
  Folder(const Flow& flow, std::size_t index, const SheetLimits& limits, std::vector<Sheet>& sheets)
      : flow_(flow),
        index_(index),
        limits_(limits),
        sheets_(sheets),
        edges_of_(flow.nodes.size()),
        shown_(flow.nodes.size()) {
    for (std::uint32_t e = 0; e < flow.edges.size(); ++e) {
      edges_of_[flow.edges[e].from].push_back(e);
      edges_of_[flow.edges[e].to].push_back(e);
    }
    levels_.emplace_back();
    for (std::uint32_t n = 0; n < flow.nodes.size(); ++n) levels_.back().push_back({n, n + 1});
    while (levels_.back().size() > limits.nodes) levels_.push_back(folded(levels_.back()));
  }

  // Adds the sheets of the folds, and fills the one of the flow.
  void run() {
    const std::size_t first = sheets_.size();
    const auto all = static_cast<std::uint32_t>(flow_.nodes.size());
    waiting_.push_back({index_, levels_.size() - 1, {0, all}});
    while (!waiting_.empty()) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      fill(next);
    }
    place_ports(index_);
    for (std::size_t s = first; s < sheets_.size(); ++s) place_ports(s);
  }

 private:
  struct Waiting {
    std::size_t sheet;
    // whose units are its nodes
    std::size_t level;
    Unit nodes;
  };

  // Groups units, each time at the place near the wanted size that the fewest tensors cross.
  std::vector<Unit> folded(const std::vector<Unit>& units) const {
    const std::vector<std::uint32_t> crossing = crossing_of(units);
    std::vector<Unit> groups;
    std::size_t begin = 0;
    while (begin < units.size()) {
      std::size_t end = units.size();
      if (units.size() - begin > limits_.fold + limits_.fold / 2) {
        end = begin + limits_.fold;
        const auto distance = [&](std::size_t at) {
          return at > begin + limits_.fold ? at - begin - limits_.fold : begin + limits_.fold - at;
        };
        for (std::size_t at = begin + limits_.fold / 2; at <= begin + limits_.fold * 3 / 2; ++at) {
          if (std::pair(crossing[at], distance(at)) < std::pair(crossing[end], distance(end)))
            end = at;
        }
      }
      groups.push_back({units[begin].begin, units[end - 1].end});
      begin = end;
    }
    return groups;
  }

  // Returns for each unit the number of nodes before it whose results it or a later one reads.
  std::vector<std::uint32_t> crossing_of(const std::vector<Unit>& units) const {
    std::vector<std::uint32_t> last(flow_.nodes.size());
    for (const FlowEdge& edge : flow_.edges) last[edge.from] = std::max(last[edge.from], edge.to);
    std::vector<std::int64_t> changes(units.size() + 1);
    for (std::uint32_t n = 0; n < flow_.nodes.size(); ++n) {
      if (last[n] <= n) continue;
      const std::size_t from = unit_of(units, n), to = unit_of(units, last[n]);
      if (from == to) continue;
      ++changes[from + 1];
      --changes[to + 1];
    }
    std::vector<std::uint32_t> crossing(units.size() + 1);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      sum += changes[i];
      crossing[i] = static_cast<std::uint32_t>(sum);
    }
    return crossing;
  }

  static std::size_t unit_of(std::span<const Unit> units, std::uint32_t node) {
    const auto after = std::ranges::upper_bound(units, node, {}, &Unit::begin);
    return static_cast<std::size_t>(after - units.begin() - 1);
  }

  // The units of a level that are within a range of nodes.
  std::span<const Unit> units_in(std::size_t level, const Unit& range) const {
    const std::vector<Unit>& all = levels_[level];
    const std::size_t first = unit_of(all, range.begin);
    const std::size_t last = range.end > range.begin ? unit_of(all, range.end - 1) + 1 : first;
    return std::span(all).subspan(first, last - first);
  }

  void fill(const Waiting& what) {
    if (flow_.nodes.empty()) return;
    const std::span<const Unit> units = units_in(what.level, what.nodes);
    std::vector<FlowNode> nodes;
    for (const Unit& unit : units) {
      if (unit.end - unit.begin == 1) {
        shown_[unit.begin] = {what.sheet, nodes.size()};
        nodes.push_back(flow_.nodes[unit.begin]);
        continue;
      }
      FlowNode fold = fold_of(unit);
      fold.sheet = sheets_.size();
      sheets_.push_back({.title = concat(fold.title, " from ", flow_.nodes[unit.begin].title),
                         .parent = what.sheet,
                         .flow = index_});
      // A unit of one node stays one on all levels below.
      waiting_.push_back({fold.sheet, what.level - 1, unit});
      nodes.push_back(std::move(fold));
    }
    sheets_[what.sheet].nodes = std::move(nodes);
    connect(what, units);
  }

  FlowNode fold_of(const Unit& unit) const {
    FlowNode fold{.kind = FlowNode::Kind::fold};
    std::map<std::string_view, std::size_t> counts;
    std::size_t operators = 0;
    for (std::uint32_t n = unit.begin; n < unit.end; ++n) {
      const FlowNode& node = flow_.nodes[n];
      if (is_operator(node)) {
        ++operators;
        ++counts[without_number(node.title)];
      }
      if (node.share < 0) continue;
      fold.share = std::max(fold.share, 0.0) + node.share;
      fold.ns += node.ns;
    }
    fold.count = unit.end - unit.begin;
    fold.title = concat(operators, operators == 1 ? " operator" : " operators");
    std::vector<std::pair<std::string_view, std::size_t>> most(counts.begin(), counts.end());
    std::ranges::stable_sort(most, std::greater(),
                             &std::pair<std::string_view, std::size_t>::second);
    constexpr std::size_t max_lines = 3;
    for (std::size_t i = 0; i < std::min(most.size(), max_lines); ++i)
      fold.lines.push_back(concat(most[i].first, " \u00d7 ", most[i].second));
    if (most.size() > max_lines)
      fold.lines.push_back(concat("and ", most.size() - max_lines, " more kinds"));
    return fold;
  }

  // Adds the edges of a sheet, and ports for those that leave it.
  void connect(const Waiting& what, std::span<const Unit> units) {
    Sheet& sheet = sheets_[what.sheet];
    std::map<std::pair<std::uint32_t, std::uint32_t>, FlowEdge> inner;
    // by node of the flow: those of a port
    std::map<std::uint32_t, std::vector<std::uint32_t>> from_outside, to_outside;
    const auto is_inside = [&](std::uint32_t n) {
      return n >= what.nodes.begin && n < what.nodes.end;
    };
    const auto own = [&](std::uint32_t n) { return static_cast<std::uint32_t>(unit_of(units, n)); };
    for (std::uint32_t n = what.nodes.begin; n < what.nodes.end; ++n) {
      for (const std::uint32_t e : edges_of_[n]) {
        const FlowEdge& edge = flow_.edges[e];
        if (!is_inside(edge.from)) {
          from_outside[edge.from].push_back(own(edge.to));
        } else if (!is_inside(edge.to)) {
          to_outside[edge.to].push_back(own(edge.from));
        } else if (edge.from == n && own(edge.from) != own(edge.to)) {
          FlowEdge made = edge;
          made.from = own(edge.from);
          made.to = own(edge.to);
          const auto [known, is_new] = inner.try_emplace({made.from, made.to}, made);
          if (!is_new) {
            known->second.is_control = known->second.is_control && edge.is_control;
            known->second.label.clear();
          }
        }
      }
    }
    // Ports of what comes from outside are before the nodes that read it.
    std::vector<FlowNode> ports;
    std::vector<FlowEdge> edges;
    add_ports(from_outside, "from ", ports, [&](std::uint32_t port, std::uint32_t unit) {
      edges.push_back({port, unit});
    });
    const auto offset = static_cast<std::uint32_t>(ports.size());
    for (FlowEdge& edge : edges) edge.to += offset;
    for (const auto& [ends, edge] : inner) {
      edges.push_back(edge);
      edges.back().from += offset;
      edges.back().to += offset;
    }
    sheet.nodes.insert(sheet.nodes.begin(), ports.begin(), ports.end());
    for (std::uint32_t n = what.nodes.begin; offset != 0 && n < what.nodes.end; ++n) {
      if (shown_[n].first == what.sheet) shown_[n].second += offset;
    }
    const auto begin = static_cast<std::uint32_t>(sheet.nodes.size());
    ports.clear();
    add_ports(to_outside, "to ", ports, [&](std::uint32_t port, std::uint32_t unit) {
      edges.push_back({unit + offset, begin + port});
    });
    sheet.nodes.insert(sheet.nodes.end(), ports.begin(), ports.end());
    std::ranges::sort(edges, {}, [](const FlowEdge& e) { return std::pair(e.from, e.to); });
    const auto same = [](const FlowEdge& a, const FlowEdge& b) {
      return a.from == b.from && a.to == b.to;
    };
    edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
    sheet.edges = std::move(edges);
  }

  template <class Connect>
  void add_ports(const std::map<std::uint32_t, std::vector<std::uint32_t>>& outside,
                 std::string_view word, std::vector<FlowNode>& ports, Connect connect) const {
    for (const auto& [node, units] : outside) {
      if (ports.size() < limits_.ports) {
        FlowNode port{.kind = FlowNode::Kind::port, .title = concat(word, flow_.nodes[node].title)};
        port.name = flow_.nodes[node].name;
        // until place_ports()
        port.there = node;
        ports.push_back(std::move(port));
      } else if (ports.size() == limits_.ports) {
        ports.push_back({.kind = FlowNode::Kind::port,
                         .title = concat(word, outside.size() - limits_.ports, " more")});
      }
      const auto port = static_cast<std::uint32_t>(ports.size() - 1);
      for (const std::uint32_t unit : units) connect(port, unit);
    }
  }

  void place_ports(std::size_t index) {
    for (FlowNode& node : sheets_[index].nodes) {
      if (node.kind == FlowNode::Kind::port && node.there != SIZE_MAX)
        std::tie(node.sheet, node.there) = shown_[node.there];
    }
  }

  const Flow& flow_;
  const std::size_t index_;
  const SheetLimits& limits_;
  std::vector<Sheet>& sheets_;
  // by node: indices of edges from and to it
  std::vector<std::vector<std::uint32_t>> edges_of_;
  // by node: the sheet that shows it, and its index there
  std::vector<std::pair<std::size_t, std::size_t>> shown_;
  // The first one has a unit for each node.
  std::vector<std::vector<Unit>> levels_;
  std::deque<Waiting> waiting_;
};

}  // namespace

std::vector<Sheet> sheets_of(const Drawing& drawing, const SheetLimits& limits) {
  std::vector<Sheet> sheets;
  for (std::size_t i = 0; i < drawing.flows.size(); ++i)
    sheets.push_back({.title = drawing.flows[i].title, .flow = i});
  for (std::size_t i = 0; i < drawing.flows.size(); ++i)
    Folder(drawing.flows[i], i, limits, sheets).run();
  return sheets;
}

}  // namespace gantry::cli
