// SPDX-License-Identifier: Apache-2.0
#include "core/writing/container.hpp"

#include "core/formats/entry.hpp"
#include "core/formats/limits.hpp"

namespace gantry {
namespace {

Status check_key(std::string_view key) {
  if (key == library_key || key == tree_key) {
    return invalid("type key \"", key, "\" is reserved by the container");
  }
  if (key.size() > limits::type_key_bytes) {
    return invalid("type key has ", key.size(), " bytes, maximum is ", limits::type_key_bytes);
  }
  for (const char c : key) {
    if (c < 0x20 || c > 0x7e) {
      return invalid("type key has byte ", Hex{static_cast<std::uint8_t>(c)},
                     ", it must be printable ASCII");
    }
  }
  return {};
}

bool is_cpu_code(const ContainerModule& module) { return module.type_key.empty(); }

// Appends a payload, in layout two after its length.
Status write_payload(const ContainerModule& module, bool has_length, Pieces& out) {
  if (!has_length) return module.write_payload(out);
  Pieces payload(out.offset() + sizeof(std::uint64_t));
  GANTRY_CHECK(module.write_payload(payload));
  out.Write<std::uint64_t>(payload.size());
  out.append(std::move(payload));
  return {};
}

Status write_entries(std::span<const ContainerModule> modules, const ModuleIndex& index,
                     bool have_lengths, Pieces& out) {
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    const ContainerModule& module = modules[index.entries[e].front()];
    if (is_cpu_code(module)) {
      out.write_text(library_key);
      continue;
    }
    GANTRY_CHECK(check_key(module.type_key));
    out.write_text(module.type_key);
    if (Status written = write_payload(module, have_lengths, out); !written.ok()) {
      return std::move(written).failure().at("while writing entry ", e, " \"", module.type_key,
                                             "\"");
    }
  }
  return {};
}

Status write_layout_one(std::span<const ContainerModule> modules, const ModuleIndex& index,
                        Pieces& out) {
  out.Write<std::uint64_t>(index.entries.size() + 1);
  GANTRY_CHECK(write_entries(modules, index, false, out));
  out.write_text(tree_key);
  out.Write(index.row_ptr);
  out.Write(index.child);
  return {};
}

// Layout one without a tree: the root is not written, and imports every entry.
Status write_flat(std::span<const ContainerModule> modules, ModuleIndex index, Pieces& out) {
  bool is_flat = is_cpu_code(modules.front()) && index.child.size() + 1 == modules.size();
  for (std::size_t m = 1; is_flat && m < modules.size(); ++m) {
    is_flat = !is_cpu_code(modules[m]) && index.child[m - 1] == m && modules[m].imports.empty();
  }
  if (!is_flat) {
    return invalid(
        "container of G1 has no import tree: its root must be CPU code that imports all other "
        "modules in order, and these may import nothing");
  }
  index.entries.erase(index.entries.begin());
  out.Write<std::uint64_t>(index.entries.size());
  return write_entries(modules, index, false, out);
}

Status write_layout_two(std::span<const ContainerModule> modules, const ModuleIndex& index,
                        Pieces& out) {
  out.Write(index.row_ptr);
  out.Write(index.child);
  return write_entries(modules, index, true, out);
}

Status write_body(std::span<const ContainerModule> modules, const ModuleIndex& index,
                  Generation form, Pieces& out) {
  const GenerationFacts& facts = generation_facts(form);
  if (facts.written_as != form) {
    return bug("containers of generation ", facts.name, " are not written");
  }
  if (facts.layout == ContainerLayout::two) return write_layout_two(modules, index, out);
  if (facts.order == EntryOrder::listed) return write_flat(modules, index, out);
  return write_layout_one(modules, index, out);
}

Pieces with_length(Pieces body) {
  Pieces container;
  container.Write<std::uint64_t>(body.size());
  container.append(std::move(body));
  return container;
}

std::vector<IndexNode> nodes_of(std::span<const ContainerModule> modules) {
  std::vector<IndexNode> nodes;
  for (const ContainerModule& module : modules) nodes.push_back({module.type_key, module.imports});
  return nodes;
}

Result<ModuleIndex> numbered(std::span<const IndexNode> nodes, Generation form) {
  switch (generation_facts(form).order) {
    case EntryOrder::listed:
      return index_listed(nodes);
    case EntryOrder::separate:
      return index_separate(nodes);
    case EntryOrder::merged:
      break;
  }
  return index_merged(nodes);
}

}  // namespace

Result<Pieces> write_container(std::span<const ContainerModule> modules, Generation form) {
  GANTRY_TRY(const ModuleIndex index, numbered(nodes_of(modules), form));
  Pieces body(sizeof(std::uint64_t));
  const bool is_one = generation_facts(form).layout == ContainerLayout::one;
  if (is_one && is_cpu_code(modules.front()) && modules.front().imports.empty()) {
    body.Write<std::uint64_t>(0);
  } else {
    GANTRY_CHECK(write_body(modules, index, form, body));
  }
  return with_length(std::move(body));
}

Result<Pieces> write_listed_container(std::span<const ContainerModule> modules, Generation form) {
  GANTRY_TRY(const ModuleIndex index, index_listed(nodes_of(modules)));
  Pieces body(sizeof(std::uint64_t));
  GANTRY_CHECK(write_body(modules, index, form, body));
  return with_length(std::move(body));
}

}  // namespace gantry
