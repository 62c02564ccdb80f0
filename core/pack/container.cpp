// SPDX-License-Identifier: Apache-2.0
#include "core/pack/container.hpp"

#include "core/format/entry.hpp"
#include "core/format/limits.hpp"

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

bool is_host_code(const ContainerModule& module) { return module.type_key.empty(); }

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
    if (is_host_code(module)) {
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
  if (is_host_code(modules.front()) && modules.front().imports.empty()) {
    out.Write<std::uint64_t>(0);
    return {};
  }
  out.Write<std::uint64_t>(index.entries.size() + 1);
  GANTRY_CHECK(write_entries(modules, index, false, out));
  out.write_text(tree_key);
  out.Write(index.row_ptr);
  out.Write(index.child);
  return {};
}

Status write_layout_two(std::span<const ContainerModule> modules, const ModuleIndex& index,
                        Pieces& out) {
  out.Write(index.row_ptr);
  out.Write(index.child);
  return write_entries(modules, index, true, out);
}

}  // namespace

Result<Pieces> write_container(std::span<const ContainerModule> modules, ContainerForm form) {
  std::vector<IndexNode> nodes;
  for (const ContainerModule& module : modules) nodes.push_back({module.type_key, module.imports});
  GANTRY_TRY(const ModuleIndex index,
             form == ContainerForm::g2 ? index_separate(nodes) : index_merged(nodes));

  Pieces body(sizeof(std::uint64_t));
  GANTRY_CHECK(form == ContainerForm::g5 ? write_layout_two(modules, index, body)
                                         : write_layout_one(modules, index, body));
  Pieces container;
  container.Write<std::uint64_t>(body.size());
  container.append(std::move(body));
  return container;
}

}  // namespace gantry
