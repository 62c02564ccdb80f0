// SPDX-License-Identifier: Apache-2.0
#include "core/pack/index.hpp"

#include <algorithm>

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

// The traversal that numbers the entries. A module is marked when it is pushed, so that it is
// pushed once.
class Walk {
 public:
  explicit Walk(std::span<const IndexNode> modules) : modules_(modules), seen_(modules.size()) {}

  ModuleIndex number() {
    // First the modules above the host code. Host modules found here are stored and expanded below.
    std::vector<std::size_t> boundary;
    seen_[0] = true;
    std::vector<std::size_t> stack = {0};
    while (!stack.empty()) {
      const std::size_t module = pop(stack);
      if (modules_[module].host_code) {
        boundary.push_back(module);
      } else {
        index_.entries.push_back({module});
        push_imports(module, stack);
      }
    }
    if (boundary.empty()) return std::move(index_);

    // Then one entry for all host code and the modules below it.
    const std::size_t library = index_.entries.size();
    index_.library = library;
    index_.entries.emplace_back();
    stack = std::move(boundary);
    while (!stack.empty()) {
      const std::size_t module = pop(stack);
      if (modules_[module].host_code) {
        index_.entries[library].push_back(module);
      } else {
        index_.entries.push_back({module});
      }
      push_imports(module, stack);
    }
    return std::move(index_);
  }

 private:
  static std::size_t pop(std::vector<std::size_t>& stack) {
    const std::size_t last = stack.back();
    stack.pop_back();
    return last;
  }
  void push_imports(std::size_t module, std::vector<std::size_t>& stack) {
    for (const std::size_t import : modules_[module].imports) {
      if (seen_[import]) continue;
      seen_[import] = true;
      stack.push_back(import);
    }
  }

  std::span<const IndexNode> modules_;
  std::vector<bool> seen_;
  ModuleIndex index_;
};

// Returns the entry of each module that is reachable from the root.
std::vector<std::size_t> entry_of_each(const ModuleIndex& index, std::size_t module_count) {
  std::vector<std::size_t> entry_of(module_count);
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    for (const std::size_t module : index.entries[e]) entry_of[module] = e;
  }
  return entry_of;
}

}  // namespace

Result<ModuleIndex> index_modules(std::span<const IndexNode> modules) {
  GANTRY_CHECK(check_imports(modules));
  ModuleIndex index = Walk(modules).number();
  const std::vector<std::size_t> entry_of = entry_of_each(index, modules.size());

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
      return invalid("entry ", e, " (module ", index.entries[e].front(), ") imports entry ",
                     children.front(), " (module ", index.entries[children.front()].front(),
                     "), an import must come after its importer")
          .with_reason("IMPORT_ORDER");
    }
    index.child.insert(index.child.end(), children.begin(), children.end());
    index.row_ptr.push_back(index.child.size());
  }
  return index;
}

}  // namespace gantry
