// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_container.hpp"

#include "core/base/near_name.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/carrying_stream.hpp"
#include "core/writing/converted_payload.hpp"
#include "core/writing/index.hpp"
#include "core/writing/saved_container.hpp"

#include <gantry/join.hpp>

#include <algorithm>

namespace gantry {
namespace {

std::string_view words_for(Dialect dialect) {
  constexpr std::string_view words[] = {"the packed dialect (TVMValue)",
                                        "the ffi dialect (TVMFFIAny) of v0.21",
                                        "the ffi dialect (TVMFFIAny)", "an unknown dialect"};
  return words[static_cast<std::size_t>(dialect)];
}

bool is_host_module(const EditedModule& edited) { return edited.module.type_key.empty(); }

// For each module, those that it leads to.
using Edges = std::vector<std::vector<std::size_t>>;

Edges imports_of(const std::vector<EditedModule>& modules) {
  Edges imports;
  for (const EditedModule& each : modules) imports.push_back(each.module.imports);
  return imports;
}

Edges importers_of(const std::vector<EditedModule>& modules) {
  Edges importers(modules.size());
  for (std::size_t m = 0; m < modules.size(); ++m) {
    for (const std::size_t import : modules[m].module.imports) importers[import].push_back(m);
  }
  return importers;
}

// The modules to which those lead for which `is_start` is true, with them.
//
// costs    O(modules + edges)
template <class IsStart>
std::vector<bool> reached_from(const std::vector<EditedModule>& modules, const Edges& edges,
                               IsStart is_start) {
  std::vector<bool> seen(modules.size());
  std::vector<std::size_t> next;
  const auto visit = [&](std::size_t m) {
    if (!seen[m]) next.push_back(m);
    seen[m] = true;
  };
  for (std::size_t m = 0; m < modules.size(); ++m) {
    if (is_start(modules[m])) visit(m);
  }
  while (!next.empty()) {
    const std::size_t m = next.back();
    next.pop_back();
    for (const std::size_t reached : edges[m]) visit(reached);
  }
  return seen;
}

// CPU code up to v0.7 searches functions from the root, later CPU code from itself.
void warn_of_look_up(const std::vector<EditedModule>& modules, std::vector<Message>& warnings) {
  if (std::ranges::none_of(modules, is_host_module)) return;
  const std::vector<bool> below = reached_from(modules, imports_of(modules), is_host_module);
  // A module above the CPU code, for example an executor, has no functions for it.
  const std::vector<bool> above = reached_from(modules, importers_of(modules), is_host_module);
  std::vector<std::string> lost;
  for (std::size_t m = 0; m < modules.size(); ++m) {
    if (!below[m] && !above[m]) lost.push_back(name_of_module(m, modules[m].module.type_key));
  }
  if (lost.empty()) return;
  warnings.push_back(Message(
      "CPU code finds functions of modules that it does not import only up to v0.7; no longer: ",
      join(lost, ", ", std::identity(), max_listed_names)));
}

// True if the modules can be listed as they are in G3 and later.
bool is_ordered(const std::vector<EditedModule>& modules) {
  for (std::size_t m = 0; m < modules.size(); ++m) {
    const std::vector<std::size_t>& imports = modules[m].module.imports;
    if (std::ranges::any_of(imports, [&](std::size_t import) { return import <= m; })) return false;
  }
  return std::ranges::count_if(modules, is_host_module) <= 1;
}

// Numbers the modules as exporters since v0.8 do.
Result<std::vector<EditedModule>> numbered_again(std::vector<EditedModule> modules) {
  std::vector<IndexNode> nodes;
  for (const EditedModule& each : modules)
    nodes.push_back({each.module.type_key, each.module.imports});
  GANTRY_TRY(const ModuleIndex index, index_merged(nodes));
  const std::vector<bool> reached =
      reached_from(modules, imports_of(modules),
                   [&](const EditedModule& each) { return &each == &modules.front(); });
  for (std::size_t m = 0; m < modules.size(); ++m) {
    if (reached[m]) continue;
    return invalid("module ", name_of_module(m, modules[m].module.type_key),
                   " is imported by no module, so that it has no place in the new order; drop it");
  }
  std::vector<EditedModule> all;
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    EditedModule& converted = all.emplace_back(std::move(modules[index.entries[e].front()]));
    converted.module.imports.assign(
        index.child.begin() + static_cast<std::ptrdiff_t>(index.row_ptr[e]),
        index.child.begin() + static_cast<std::ptrdiff_t>(index.row_ptr[e + 1]));
  }
  return all;
}

}  // namespace

Result<std::vector<EditedModule>> converted_modules(std::vector<EditedModule> modules,
                                                    const Container& container,
                                                    const std::shared_ptr<const MappedFile>& file,
                                                    const PayloadLayouts& layouts, Generation to,
                                                    std::vector<Message>& warnings) {
  GANTRY_TRY(const Generation from, form_of(container));
  const GenerationFacts& form = generation_facts(to);
  const ExporterFacts& facts = container.facts;
  if (std::ranges::any_of(modules, is_host_module) && facts.dialect != form.dialect) {
    return unsupported("CPU code has ", words_for(facts.dialect), ", ", form.name, " (",
                       form.releases, ") requires ", words_for(form.dialect));
  }
  // A bare container of layout one may be that of G4.
  const bool is_proven = facts.argument_tags == generation_facts(facts.generation).proven_tags;
  const bool is_same = is_proven && have_same_payloads(from, to);
  for (EditedModule& each : modules) {
    if (is_host_module(each) || !each.entry) continue;
    const Entry& entry = container.entries[*each.entry];
    if (from != to) {
      GANTRY_TRY(each.module.type_key, converted_type_key(entry.type_key, to));
    }
    // Containers of v0.7 are often read as those of G3, so that its form proves no markers.
    const bool is_marked_text =
        form.has_opencl_markers && conversion_of(entry.type_key) == PayloadConversion::opencl_text;
    if (is_same && !is_marked_text) continue;
    each.module.write_payload = [file, facts, &entry, &layouts, to](Pieces& out) -> Status {
      CarryingStream stream(file, out);
      return write_converted_payload(entry.type_key, entry.payload, facts, layouts, to, stream);
    };
  }
  if (form.order != EntryOrder::merged) return modules;
  if (generation_facts(facts.generation).searches_from_root) warn_of_look_up(modules, warnings);
  if (!is_ordered(modules)) return numbered_again(std::move(modules));
  for (EditedModule& each : modules) {
    std::vector<std::size_t>& imports = each.module.imports;
    std::ranges::sort(imports);
    imports.erase(std::unique(imports.begin(), imports.end()), imports.end());
  }
  return modules;
}

}  // namespace gantry
