// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/import_graph.hpp"

#include "tools/gantry/common/escape.hpp"

#include <gantry/result.hpp>

#include <deque>

namespace gantry::cli {
namespace {

constexpr std::size_t deepest = 20;  // levels printed before a part is continued at the margin

class TextWriter {
 public:
  explicit TextWriter(const std::vector<ImportNode>& nodes)
      : nodes_(nodes), state_(nodes.size(), State::fresh) {}

  std::string run() {
    for (std::size_t root = 0; root < nodes_.size(); ++root) {
      if (state_[root] != State::fresh) continue;
      out_ += concat(label(root), root == 0 ? "" : " (nothing above imports it)", "\n");
      write_below(root);
      while (!delayed_.empty()) {
        const std::size_t node = delayed_.front();
        delayed_.pop_front();
        out_ += concat("... ", label(node), "\n");
        write_below(node);
      }
    }
    return std::move(out_);
  }

 private:
  enum class State : unsigned char { fresh, delayed, printed };
  struct Level {
    std::size_t node;
    std::size_t next = 0;  // place in its imports
  };

  std::string label(std::size_t node) const {
    return concat("[", node, "] ", escaped(nodes_[node].name));
  }

  // The imports of a node whose own line is written.
  void write_below(std::size_t top) {
    state_[top] = State::printed;
    std::vector<Level> levels{{top}};
    while (!levels.empty()) {
      Level& level = levels.back();
      const auto& imports = nodes_[level.node].imports;
      if (level.next == imports.size()) {
        levels.pop_back();
        continue;
      }
      const std::size_t node = imports[level.next++];
      for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
        out_ += levels[i].next == nodes_[levels[i].node].imports.size() ? "   " : "|  ";
      }
      out_ += concat(level.next == imports.size() ? "`- " : "|- ", label(node));
      write_state_and_enter(node, levels);
    }
  }

  void write_state_and_enter(std::size_t node, std::vector<Level>& levels) {
    if (state_[node] != State::fresh) {
      out_ += state_[node] == State::printed ? " (above)\n" : " (below)\n";
    } else if (levels.size() < deepest || nodes_[node].imports.empty()) {
      out_ += "\n";
      state_[node] = State::printed;
      levels.push_back({node});
    } else {
      out_ += " (continued below)\n";
      state_[node] = State::delayed;
      delayed_.push_back(node);
    }
  }

  const std::vector<ImportNode>& nodes_;
  std::vector<State> state_;
  std::deque<std::size_t> delayed_;
  std::string out_;
};

}  // namespace

std::string import_text(const std::vector<ImportNode>& nodes) { return TextWriter(nodes).run(); }

std::string import_dot(const std::vector<ImportNode>& nodes) {
  std::string out = "digraph imports {\n  node [shape=box];\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out += concat("  m", i, " [label=\"", i, ": ", dot_text(nodes[i].name), "\"];\n");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::size_t import : nodes[i].imports)
      out += concat("  m", i, " -> m", import, ";\n");
  }
  return out + "}\n";
}

std::string import_mermaid(const std::vector<ImportNode>& nodes) {
  std::string out = "graph TD\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out += concat("  m", i, "[\"", i, ": ", mermaid_text(nodes[i].name), "\"]\n");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::size_t import : nodes[i].imports)
      out += concat("  m", i, " --> m", import, "\n");
  }
  return out;
}

}  // namespace gantry::cli
