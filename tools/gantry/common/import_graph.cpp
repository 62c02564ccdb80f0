// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/import_graph.hpp"

#include "tools/gantry/common/escape.hpp"

#include "core/base/text.hpp"

#include <deque>
#include <string>
#include <vector>

namespace gantry::cli {
namespace {

// levels that are printed before a branch is continued at the margin
constexpr std::size_t max_levels = 20;

class TextWriter {
 public:
  TextWriter(const ImportGraph& graph, const TextSink& sink)
      : graph_(graph), sink_(sink), state_(graph.size, State::fresh) {}

  void run() {
    for (std::size_t root = 0; root < graph_.size; ++root) {
      if (state_[root] != State::fresh) continue;
      sink_(text_line(label(root), root == 0 ? "" : " (nothing above imports it)"));
      write_below(root);
      while (!delayed_.empty()) {
        const std::size_t node = delayed_.front();
        delayed_.pop_front();
        sink_(text_line("... ", label(node)));
        write_below(node);
      }
    }
  }

 private:
  enum class State : unsigned char { fresh, delayed, printed };
  struct Level {
    std::size_t node;
    // index of its next import to print
    std::size_t next = 0;
  };

  std::string label(std::size_t node) const {
    return concat("[", node, "] ", escaped(graph_.name(node)));
  }

  // Writes the imports of a node, whose own line is already written.
  void write_below(std::size_t top) {
    state_[top] = State::printed;
    std::vector<Level> levels{{top}};
    while (!levels.empty()) {
      Level& level = levels.back();
      const auto imports = graph_.imports(level.node);
      if (level.next == imports.size()) {
        levels.pop_back();
        continue;
      }
      const std::size_t node = imports[level.next++];
      std::string line;
      for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
        line += levels[i].next == graph_.imports(levels[i].node).size() ? "   " : "|  ";
      }
      line += level.next == imports.size() ? "`- " : "|- ";
      sink_(text_line(line, label(node), state_and_enter(node, levels)));
    }
  }

  // Returns the end of an import's line, and enters the import if its imports are not written yet.
  std::string_view state_and_enter(std::size_t node, std::vector<Level>& levels) {
    if (state_[node] != State::fresh) {
      return state_[node] == State::printed ? " (above)" : " (below)";
    }
    if (levels.size() < max_levels || graph_.imports(node).empty()) {
      state_[node] = State::printed;
      levels.push_back({node});
      return "";
    }
    state_[node] = State::delayed;
    delayed_.push_back(node);
    return " (continued below)";
  }

  const ImportGraph& graph_;
  const TextSink& sink_;
  std::vector<State> state_;
  std::deque<std::size_t> delayed_;
};

}  // namespace

void write_import_text(const ImportGraph& graph, const TextSink& sink) {
  TextWriter(graph, sink).run();
}

void write_import_dot(const ImportGraph& graph, const TextSink& sink) {
  sink("digraph imports {\n");
  sink("  node [shape=box];\n");
  for (std::size_t i = 0; i < graph.size; ++i) {
    sink(concat("  m", i, " [label=\"", i, ": ", dot_text(graph.name(i)), "\"];\n"));
  }
  for (std::size_t i = 0; i < graph.size; ++i) {
    for (const std::uint64_t import : graph.imports(i)) {
      sink(concat("  m", i, " -> m", import, ";\n"));
    }
  }
  sink("}\n");
}

void write_import_mermaid(const ImportGraph& graph, const TextSink& sink) {
  sink("graph TD\n");
  for (std::size_t i = 0; i < graph.size; ++i) {
    sink(concat("  m", i, "[\"", i, ": ", mermaid_text(graph.name(i)), "\"]\n"));
  }
  for (std::size_t i = 0; i < graph.size; ++i) {
    for (const std::uint64_t import : graph.imports(i)) {
      sink(concat("  m", i, " --> m", import, "\n"));
    }
  }
}

}  // namespace gantry::cli
