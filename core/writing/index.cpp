// SPDX-License-Identifier: Apache-2.0
#include "core/writing/index.hpp"

#include "core/formats/type_key.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace gantry {
namespace {

Status check_imports(std::span<const IndexNode> modules) {
  if (modules.empty()) return invalid("module graph is empty, minimum is the root");
  for (std::size_t m = 0; m < modules.size(); ++m) {
    for (const std::size_t import : modules[m].imports) {
      if (import >= modules.size()) {
        return invalid("module ", m, " imports module ", import, ", module count is ",
                       modules.size());
      }
    }
  }
  return {};
}

// `module 2 "cuda"`
std::string subject_of(std::span<const IndexNode> modules, std::size_t module) {
  return concat("module ", name_of_module(module, modules[module].type_key));
}

// Refuses modules below the root that import each other. Does not recurse.
//
// costs    O(modules + imports)
Status check_acyclic(std::span<const IndexNode> modules) {
  enum class State : std::uint8_t { new_one, open, done };
  std::vector<State> states(modules.size(), State::new_one);
  // the modules from the root to the current one, each with the number of its imports visited
  std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};
  states[0] = State::open;
  while (!path.empty()) {
    const std::size_t module = path.back().first;
    const std::size_t visited = path.back().second++;
    if (visited == modules[module].imports.size()) {
      states[module] = State::done;
      path.pop_back();
      continue;
    }
    const std::size_t import = modules[module].imports[visited];
    if (states[import] == State::open) {
      return invalid(subject_of(modules, module), " imports ",
                     import == module ? std::string("itself")
                                      : concat(subject_of(modules, import),
                                               ", which imports it, directly or through others"))
          .with_reason("IMPORT_CYCLE");
    }
    if (states[import] == State::done) continue;
    states[import] = State::open;
    path.emplace_back(import, 0);
  }
  return {};
}

// The modules that are still to be numbered. A module is marked when it is pushed, so that it is
// pushed once.
class Walk {
 public:
  explicit Walk(std::span<const IndexNode> modules) : modules_(modules), seen_(modules.size()) {
    seen_[0] = true;
  }

  bool done() const { return stack_.empty(); }
  std::size_t pop() {
    const std::size_t last = stack_.back();
    stack_.pop_back();
    return last;
  }
  void push_imports(std::size_t module) {
    for (const std::size_t import : modules_[module].imports) {
      if (seen_[import]) continue;
      seen_[import] = true;
      stack_.push_back(import);
    }
  }
  void push_all(std::vector<std::size_t> modules) { stack_ = std::move(modules); }

 private:
  std::span<const IndexNode> modules_;
  std::vector<bool> seen_;
  std::vector<std::size_t> stack_ = {0};
};

using Entries = std::vector<std::vector<std::size_t>>;

Entries number_separately(std::span<const IndexNode> modules) {
  Entries entries;
  for (Walk walk(modules); !walk.done();) {
    entries.push_back({walk.pop()});
    walk.push_imports(entries.back().front());
  }
  return entries;
}

Entries number_merged(std::span<const IndexNode> modules) {
  Entries entries;
  // First the modules above the CPU code. Host modules found here are stored and expanded below.
  std::vector<std::size_t> boundary;
  Walk walk(modules);
  while (!walk.done()) {
    const std::size_t module = walk.pop();
    if (modules[module].cpu_code()) {
      boundary.push_back(module);
    } else {
      entries.push_back({module});
      walk.push_imports(module);
    }
  }
  if (boundary.empty()) return entries;

  // Then one entry for all CPU code and the modules below it.
  const std::size_t library = entries.size();
  entries.emplace_back();
  walk.push_all(std::move(boundary));
  while (!walk.done()) {
    const std::size_t module = walk.pop();
    if (modules[module].cpu_code()) {
      entries[library].push_back(module);
    } else {
      entries.push_back({module});
    }
    walk.push_imports(module);
  }
  return entries;
}

// Returns the entry of each module that is reachable from the root.
std::vector<std::size_t> entry_of_each(const Entries& entries, std::size_t module_count) {
  std::vector<std::size_t> entry_of(module_count);
  for (std::size_t e = 0; e < entries.size(); ++e) {
    for (const std::size_t module : entries[e]) entry_of[module] = e;
  }
  return entry_of;
}

// The index of entries that are one module each, with the imports in the order of the modules.
ModuleIndex index_of(std::span<const IndexNode> modules, Entries entries) {
  ModuleIndex index;
  index.entries = std::move(entries);
  const std::vector<std::size_t> entry_of = entry_of_each(index.entries, modules.size());
  index.row_ptr.push_back(0);
  for (const std::vector<std::size_t>& entry : index.entries) {
    for (const std::size_t import : modules[entry.front()].imports) {
      index.child.push_back(entry_of[import]);
    }
    index.row_ptr.push_back(index.child.size());
  }
  return index;
}

// The error for an entry with a child that precedes it.
Failure precedes(std::span<const IndexNode> modules, const ModuleIndex& index, std::size_t entry,
                 std::size_t child) {
  const std::vector<std::size_t>& children = index.entries[child];
  for (const std::size_t module : index.entries[entry]) {
    for (const std::size_t import : modules[module].imports) {
      if (std::ranges::find(children, import) == children.end()) continue;
      return invalid(subject_of(modules, module), " is entry ", entry, " and imports ",
                     subject_of(modules, import), ", entry ", child,
                     "; an import must come after its importer, so the modules cannot be merged "
                     "without creating a cycle; generation G2 can contain them")
          .with_reason("IMPORT_ORDER");
    }
  }
  return bug("entry ", entry, " imports no module of entry ", child);
}

}  // namespace

std::string name_of_module(std::size_t index, std::string_view type_key) {
  return concat(index, " ", quoted(type_key.empty() ? library_key : type_key));
}

Result<ModuleIndex> index_merged(std::span<const IndexNode> modules) {
  GANTRY_CHECK(check_imports(modules));
  GANTRY_CHECK(check_acyclic(modules));
  ModuleIndex index;
  index.entries = number_merged(modules);
  const std::vector<std::size_t> entry_of = entry_of_each(index.entries, modules.size());
  index.row_ptr.push_back(0);
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    std::vector<std::uint64_t> children;
    for (const std::size_t module : index.entries[e]) {
      for (const std::size_t import : modules[module].imports) {
        if (entry_of[import] != e) children.push_back(entry_of[import]);
      }
    }
    std::sort(children.begin(), children.end());
    children.erase(std::unique(children.begin(), children.end()), children.end());
    if (!children.empty() && children.front() < e) {
      return precedes(modules, index, e, children.front());
    }
    index.child.insert(index.child.end(), children.begin(), children.end());
    index.row_ptr.push_back(index.child.size());
  }
  return index;
}

Result<ModuleIndex> index_separate(std::span<const IndexNode> modules) {
  GANTRY_CHECK(check_imports(modules));
  GANTRY_CHECK(check_acyclic(modules));
  return index_of(modules, number_separately(modules));
}

Result<ModuleIndex> index_listed(std::span<const IndexNode> modules) {
  GANTRY_CHECK(check_imports(modules));
  GANTRY_CHECK(check_acyclic(modules));
  Entries entries;
  for (std::size_t m = 0; m < modules.size(); ++m) entries.push_back({m});
  return index_of(modules, std::move(entries));
}

}  // namespace gantry
