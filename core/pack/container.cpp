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

Status write_entries(std::span<const ContainerModule> modules, const ModuleIndex& index,
                     Pieces& out) {
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    if (index.library == e) {
      out.write_text(library_key);
      continue;
    }
    const ContainerModule& module = modules[index.entries[e].front()];
    GANTRY_CHECK(check_key(module.type_key));
    out.write_text(module.type_key);
    if (Status written = module.write_payload(out); !written.ok()) {
      return std::move(written).failure().at("while writing entry ", e, " \"", module.type_key,
                                             "\"");
    }
  }
  return {};
}

}  // namespace

Result<Pieces> write_container(std::span<const ContainerModule> modules) {
  std::vector<IndexNode> nodes;
  for (const ContainerModule& module : modules) {
    nodes.push_back({module.type_key.empty(), module.imports});
  }
  GANTRY_TRY(const ModuleIndex index, index_modules(nodes));

  Pieces body(sizeof(std::uint64_t));
  if (nodes.front().host_code && nodes.front().imports.empty()) {
    body.Write<std::uint64_t>(0);
  } else {
    body.Write<std::uint64_t>(index.entries.size() + 1);
    GANTRY_CHECK(write_entries(modules, index, body));
    body.write_text(tree_key);
    body.Write(index.row_ptr);
    body.Write(index.child);
  }

  Pieces container;
  container.Write<std::uint64_t>(body.size());
  container.append(std::move(body));
  return container;
}

}  // namespace gantry
