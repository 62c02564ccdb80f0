// SPDX-License-Identifier: Apache-2.0
//
// Artifacts with assembled Relay executables over the kernels of another artifact, and code that
// calls the kernels of a graph in their order.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/graph_json.hpp"
#include "core/writing/appended_container.hpp"
#include "core/writing/saved_container.hpp"
#include "tests/support/relay_assembler.hpp"

#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>

#include <dmlc/memory_io.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {

// Returns code whose function "main" has the inputs of a graph that are no parameters.
//
// factory      [in]   payload of a GraphExecutorFactory
// device_type  [in]   of all entries
// returns      malformed  the payload or its graph
inline Result<RelayAssembler> relay_of_graph(std::span<const std::uint8_t> factory,
                                             std::int32_t device_type) {
  ByteReader in(factory);
  GANTRY_TRY(const std::string_view text, in.read_string("graph"));
  GANTRY_TRY(const Graph graph, read_graph_json(text, 0));
  GANTRY_CHECK(in.read_u64("count"));
  GANTRY_TRY(const std::uint64_t count, in.read_count(8, "names"));
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::string_view name, in.read_string("name"));
    names.emplace_back(name);
  }
  RelayAssembler code;
  const std::int64_t device = device_type == 1 ? 0 : code.device(device_type);
  const auto on_device = [&](std::int64_t constant) {
    code.constants[static_cast<std::size_t>(constant)].device = device;
    return constant;
  };
  std::map<std::string, std::int64_t> constants;
  for (const std::string& name : names) {
    GANTRY_TRY(const ArrayRecord array, read_array_record(in, name));
    constants[name] = on_device(code.array(array.dtype, array.shape, array.data));
  }

  std::vector<std::string> params;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    if (!constants.contains(graph.input(i).name)) params.push_back(graph.input(i).name);
  }
  // Registers: parameters, one for each entry, one for each storage, and two more.
  const auto entry_count = static_cast<std::int64_t>(graph.entries.size());
  std::map<std::int64_t, std::int64_t> storage_bytes;
  for (const GraphEntry& entry : graph.entries) {
    std::int64_t& bytes = storage_bytes[entry.storage_id];
    bytes = std::max(bytes, static_cast<std::int64_t>(entry.bytes));
  }
  const auto first_entry = static_cast<std::int64_t>(params.size());
  const std::int64_t first_storage = first_entry + entry_count;
  const std::int64_t scratch = first_storage + static_cast<std::int64_t>(storage_bytes.size());
  const auto reg = [&](std::uint32_t entry) { return first_entry + std::int64_t{entry}; };
  const std::int64_t zero = code.integer(0);
  std::map<std::int64_t, std::int64_t> storages;
  std::map<std::string, std::int64_t> packed;
  for (const GraphNode& node : graph.nodes) {
    if (node.kind == GraphNodeKind::call && !packed.contains(node.function))
      packed[node.function] = code.packed(node.function);
  }
  code.function("main", params, scratch + 2);
  code.functions[0].param_devices.assign(params.size(), device);
  std::int64_t param = 0;
  for (const GraphNode& node : graph.nodes) {
    if (node.kind == GraphNodeKind::input) {
      const auto constant = constants.find(node.name);
      if (constant != constants.end()) {
        code.load_const(constant->second, reg(node.first_entry));
      } else {
        code.move(param++, reg(node.first_entry));
      }
      continue;
    }
    if (node.kind == GraphNodeKind::nop) {
      code.load_const(code.integers(graph.entries[node.first_entry].shape), scratch);
      code.reshape_tensor(reg(node.inputs[0]), scratch, reg(node.first_entry));
      continue;
    }
    RelayAssembler::Registers args;
    for (const std::uint32_t input : node.inputs) args.push_back(reg(input));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const GraphEntry& entry = graph.entries[node.first_entry + i];
      const auto next = first_storage + static_cast<std::int64_t>(storages.size());
      const auto [storage, is_new] = storages.emplace(entry.storage_id, next);
      if (is_new) {
        code.load_const(code.integer(storage_bytes[entry.storage_id]), scratch);
        code.alloc_storage(scratch, entry.dtype, device, storage->second);
      }
      code.load_const(zero, scratch + 1);
      code.alloc_tensor(storage->second, scratch + 1, entry.dtype, entry.shape,
                        reg(node.first_entry + i));
      args.push_back(reg(node.first_entry + i));
    }
    code.invoke_packed(packed[node.function], args, node.output_count);
  }
  RelayAssembler::Registers results;
  for (const GraphOutput& head : graph.heads) results.push_back(reg(head.entry));
  if (results.size() != 1) code.alloc_data(0, results, scratch);
  code.ret(results.size() == 1 ? results[0] : scratch);
  return code;
}

// Writes a copy of an artifact whose first module is the executable. The other modules stay.
//
// library  [in]   an artifact with a container and a root module that imports its CPU code
// code     [in]   RelayAssembler(const Container&)
template <class Assemble>
Status write_relay_artifact(const std::filesystem::path& library,
                            const std::filesystem::path& output, const Assemble& assemble) {
  GANTRY_TRY(const auto file, MappedFile::open(library));
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(file));
  GANTRY_TRY(const Container container, read_container(elf, PayloadLayouts::built_in()));
  GANTRY_TRY(std::vector<ContainerModule> modules, listed_modules(container, file));
  GANTRY_TRY(const RelayAssembler code, assemble(container));
  const RelayPayload payload = code.payload();
  modules[0].type_key = "VMExecutable";
  modules[0].write_payload = [&](Pieces& out) -> Status {
    out.Write(payload.bytes.bytes().data(), payload.bytes.size());
    return {};
  };
  GANTRY_TRY(const Generation form, form_of(container));
  GANTRY_TRY(const Pieces pieces, write_listed_container(modules, form));
  std::string bytes;
  dmlc::MemoryStringStream out(&bytes);
  GANTRY_CHECK(append_container(file, container.blob_symbol, pieces, out));
  std::ofstream(output, std::ios::binary) << bytes;
  return {};
}

// The same with the code of the artifact's own graph.
inline Status write_relay_artifact_of_graph(const std::filesystem::path& library,
                                            const std::filesystem::path& output,
                                            std::int32_t device_type) {
  return write_relay_artifact(library, output, [&](const Container& container) {
    return relay_of_graph(container.entries.at(0).payload, device_type);
  });
}

}  // namespace gantry::test
