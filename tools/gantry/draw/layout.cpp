// SPDX-License-Identifier: Apache-2.0
//
// source   Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981:
//          layers, order of each layer by the neighbours' means. Positions are those nearest to the neighbours'
//          means that keep order and distance: least squares, by pooling (isotonic regression).
#include "tools/gantry/draw/layout.hpp"

#include <gantry/utf8.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gantry::cli {
namespace {

constexpr double node_gap = 22, edge_gap = 14, layer_gap = 42;
constexpr int order_rounds = 12, position_rounds = 24;
// Chains of nodes are straight, and so are long edges; where both cannot be, the edge bends.
constexpr double strong = 4, weak = 1;

// A node of the sheet, or a place of an edge in a layer that it passes.
struct Vertex {
  std::size_t layer = 0;
  double width = 0;
  bool is_bend = false;
  double x = 0;
  // in the layers above and below
  std::vector<std::uint32_t> above, below;
};

class Layering {
 public:
  explicit Layering(const Sheet& sheet) : sheet_(sheet) {}

  Placement run() {
    find_layers();
    add_edges();
    order();
    position();
    return result();
  }

 private:
  void find_layers() {
    const std::size_t count = sheet_.nodes.size();
    std::vector<std::vector<std::uint32_t>> after(count);
    std::vector<bool> has_before(count);
    for (const FlowEdge& edge : sheet_.edges) {
      if (edge.from >= edge.to) continue;
      after[edge.from].push_back(edge.to);
      has_before[edge.to] = true;
    }
    std::vector<std::size_t> layer(count);
    for (std::size_t n = 0; n < count; ++n) {
      for (const std::uint32_t next : after[n]) layer[next] = std::max(layer[next], layer[n] + 1);
    }
    // Inputs are above their first reader.
    for (std::size_t n = 0; n < count; ++n) {
      if (has_before[n] || after[n].empty()) continue;
      std::size_t first = SIZE_MAX;
      for (const std::uint32_t next : after[n]) first = std::min(first, layer[next]);
      layer[n] = first - 1;
    }
    boxes_.reserve(count);
    for (std::size_t n = 0; n < count; ++n) {
      boxes_.push_back(box_of(sheet_.nodes[n]));
      add_vertex(layer[n], boxes_[n].width, false);
    }
  }

  std::uint32_t add_vertex(std::size_t layer, double width, bool is_bend) {
    if (layers_.size() <= layer) layers_.resize(layer + 1);
    const auto index = static_cast<std::uint32_t>(vertices_.size());
    vertices_.push_back({layer, width, is_bend, 0, {}, {}});
    layers_[layer].push_back(index);
    return index;
  }

  // Edges pass a bend in each layer between their ends.
  void add_edges() {
    paths_.resize(sheet_.edges.size());
    for (std::size_t e = 0; e < sheet_.edges.size(); ++e) {
      std::uint32_t top = sheet_.edges[e].from, bottom = sheet_.edges[e].to;
      if (vertices_[top].layer > vertices_[bottom].layer) std::swap(top, bottom);
      std::vector<std::uint32_t>& path = paths_[e];
      path.push_back(top);
      for (std::size_t l = vertices_[top].layer + 1; l < vertices_[bottom].layer; ++l)
        path.push_back(add_vertex(l, 1, true));
      path.push_back(bottom);
      if (vertices_[top].layer == vertices_[bottom].layer) continue;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        vertices_[path[i]].below.push_back(path[i + 1]);
        vertices_[path[i + 1]].above.push_back(path[i]);
      }
    }
  }

  // Sorts the layers by the mean place of neighbours; keeps the order with the fewest crossings.
  void order() {
    place_.resize(vertices_.size());
    for (const auto& layer : layers_) number(layer);
    std::vector<std::vector<std::uint32_t>> best = layers_;
    std::uint64_t min_crossings = crossings();
    for (int round = 0; round < order_rounds && min_crossings != 0; ++round) {
      const bool is_down = round % 2 == 0;
      for (std::size_t i = 1; i < layers_.size(); ++i)
        sort_layer(is_down ? i : layers_.size() - 1 - i, is_down);
      const std::uint64_t now = crossings();
      if (now < min_crossings) {
        min_crossings = now;
        best = layers_;
      }
    }
    layers_ = std::move(best);
    for (const auto& layer : layers_) number(layer);
  }

  void number(const std::vector<std::uint32_t>& layer) {
    for (std::size_t i = 0; i < layer.size(); ++i) place_[layer[i]] = i;
  }

  void sort_layer(std::size_t index, bool is_down) {
    std::vector<std::uint32_t>& layer = layers_[index];
    std::vector<std::pair<double, std::uint32_t>> keys;
    for (const std::uint32_t v : layer) {
      const auto& others = is_down ? vertices_[v].above : vertices_[v].below;
      double sum = 0;
      for (const std::uint32_t other : others) sum += static_cast<double>(place_[other]);
      keys.emplace_back(others.empty() ? static_cast<double>(place_[v])
                                       : sum / static_cast<double>(others.size()),
                        v);
    }
    std::ranges::stable_sort(keys, {}, &std::pair<double, std::uint32_t>::first);
    for (std::size_t i = 0; i < keys.size(); ++i) layer[i] = keys[i].second;
    number(layer);
  }

  std::uint64_t crossings() const {
    std::uint64_t all = 0;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) all += crossings_below(l);
    return all;
  }

  // Counts pairs of edges in the opposite order, with a tree of sums.
  std::uint64_t crossings_below(std::size_t index) const {
    std::vector<std::size_t> ends;
    for (const std::uint32_t v : layers_[index]) {
      const std::size_t begin = ends.size();
      for (const std::uint32_t below : vertices_[v].below) ends.push_back(place_[below]);
      std::sort(ends.begin() + static_cast<std::ptrdiff_t>(begin), ends.end());
    }
    std::vector<std::uint64_t> sums(layers_[index + 1].size() + 1);
    std::uint64_t count = 0, added = 0;
    for (const std::size_t end : ends) {
      std::uint64_t not_after = 0;
      for (std::size_t i = end + 1; i != 0; i &= i - 1) not_after += sums[i];
      count += added - not_after;
      for (std::size_t i = end + 1; i < sums.size(); i += i & (~i + 1)) ++sums[i];
      ++added;
    }
    return count;
  }

  double distance(std::uint32_t left, std::uint32_t right) const {
    const Vertex &a = vertices_[left], &b = vertices_[right];
    return (a.width + b.width) / 2 + (a.is_bend && b.is_bend ? edge_gap : node_gap);
  }

  void position() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (std::size_t i = 0; i < layer.size(); ++i) {
        if (i != 0) x += distance(layer[i - 1], layer[i]);
        vertices_[layer[i]].x = x;
      }
      for (const std::uint32_t v : layer) vertices_[v].x -= x / 2;
    }
    for (int round = 0; round < position_rounds; ++round) {
      const bool is_down = round % 2 == 0;
      // First each layer is placed below the one above it.
      for (std::size_t i = 0; i < layers_.size(); ++i)
        move_layer(layers_[is_down ? i : layers_.size() - 1 - i], round > 0);
    }
  }

  // Moves the vertices of a layer to the means of their neighbours: of those above, or of all.
  void move_layer(const std::vector<std::uint32_t>& layer, bool has_below) {
    struct Pool {
      double mean, weight;
      std::size_t count;
    };
    std::vector<Pool> pools;
    std::vector<double> offsets;
    double offset = 0;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      const Vertex& vertex = vertices_[layer[i]];
      if (i != 0) offset += distance(layer[i - 1], layer[i]);
      offsets.push_back(offset);
      double sum = 0, weight = 0;
      const auto add = [&](const std::vector<std::uint32_t>& others) {
        for (const std::uint32_t other : others) {
          const double pull = vertices_[other].is_bend == vertex.is_bend ? strong : weak;
          sum += pull * vertices_[other].x;
          weight += pull;
        }
      };
      add(vertex.above);
      if (has_below || vertex.above.empty()) add(vertex.below);
      const double wanted = weight == 0 ? vertex.x : sum / weight;
      pools.push_back({wanted - offset, vertex.is_bend ? weak : strong, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
        const Pool last = pools.back();
        pools.pop_back();
        Pool& pool = pools.back();
        pool.mean =
            (pool.mean * pool.weight + last.mean * last.weight) / (pool.weight + last.weight);
        pool.weight += last.weight;
        pool.count += last.count;
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (std::size_t k = 0; k < pool.count; ++k, ++i)
        vertices_[layer[i]].x = pool.mean + offsets[i];
    }
  }

  Placement result() const {
    Placement out;
    std::vector<double> y(layers_.size()), half(layers_.size());
    double left = 0, right = 0, bottom = layout_margin;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (const std::uint32_t v : layers_[l]) {
        if (v < boxes_.size()) half[l] = std::max(half[l], boxes_[v].height / 2);
        left = std::min(left, vertices_[v].x - vertices_[v].width / 2);
        right = std::max(right, vertices_[v].x + vertices_[v].width / 2);
      }
      y[l] = bottom + half[l];
      bottom += 2 * half[l] + layer_gap;
    }
    const auto at = [&](std::uint32_t v) {
      return Point{vertices_[v].x - left + layout_margin, y[vertices_[v].layer]};
    };
    out.size = {right - left + 2 * layout_margin,
                std::max(bottom - layer_gap, layout_margin) + layout_margin};
    for (std::uint32_t n = 0; n < sheet_.nodes.size(); ++n) out.nodes.push_back(at(n));
    for (std::size_t e = 0; e < paths_.size(); ++e) out.edges.push_back(curve(e, at, half));
    return out;
  }

  // From box to box, vertical in each layer.
  template <class At>
  std::vector<Point> curve(std::size_t e, At at, const std::vector<double>& half) const {
    const std::vector<std::uint32_t>& path = paths_[e];
    if (vertices_[path.front()].layer == vertices_[path.back()].layer) return {};
    std::vector<Point> points;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      Point from = at(path[i]), to = at(path[i + 1]);
      const double reach = half[vertices_[path[i]].layer],
                   before = half[vertices_[path[i + 1]].layer];
      from.y += i == 0 ? boxes_[path[i]].height / 2 : reach;
      const bool is_last = i + 2 == path.size();
      to.y -= is_last ? boxes_[path[i + 1]].height / 2 : before;
      if (points.empty()) {
        points.push_back(from);
      } else {
        // straight through the layer
        const Point last = points.back();
        points.insert(points.end(), {last, from, from});
      }
      const double middle = (from.y + to.y) / 2;
      points.insert(points.end(), {{from.x, middle}, {to.x, middle}, to});
    }
    if (sheet_.edges[e].from != path.front()) std::ranges::reverse(points);
    return points;
  }

  const Sheet& sheet_;
  std::vector<Size> boxes_;
  // nodes, then bends
  std::vector<Vertex> vertices_;
  std::vector<std::vector<std::uint32_t>> layers_;
  // by edge: from the upper to the lower end
  std::vector<std::vector<std::uint32_t>> paths_;
  // by vertex: index in its layer
  std::vector<std::size_t> place_;
};

}  // namespace

Size box_of(const FlowNode& node) {
  std::size_t characters = count_characters(node.title);
  for (const std::string& line : node.lines)
    characters = std::max(characters, count_characters(line));
  std::size_t lines = node.lines.size();
  if (node.share >= 0) {
    ++lines;
    characters = std::max<std::size_t>(characters, node.places > 1 ? 30 : 16);
  }
  constexpr double padding = 10;
  return {std::ceil(static_cast<double>(characters) * character_width + 2 * padding),
          title_height + line_height * static_cast<double>(lines) + padding};
}

Placement place_layered(const Sheet& sheet) { return Layering(sheet).run(); }

}  // namespace gantry::cli
