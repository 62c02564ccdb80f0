// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/graph_files.hpp"

#include "core/arrays/params.hpp"
#include "core/base/text.hpp"
#include "core/runtime/load.hpp"
#include "core/runtime/state.hpp"

#include <gantry/join.hpp>
#include <gantry/param_names.hpp>
#include <gantry/quoted.hpp>

#include <dmlc/io.h>
#include <dmlc/memory_io.h>

#include <string>
#include <system_error>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view factory_key = "GraphExecutorFactory";
// The name under which TVM's exporter puts graphs; it is the name of the factory's function.
constexpr std::string_view default_name = "default";

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string number(std::uint64_t value) {
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  static_cast<dmlc::Stream&>(stream).Write(value);
  return bytes;
}

// The parameters of a file: their names, and the offset of their records, which end the file.
struct ParamRecords {
  std::vector<std::string_view> names;
  std::uint64_t at = 0;
};

Result<ParamRecords> read_records(const MappedFile& file) {
  // Checks every record.
  GANTRY_CHECK(read_params(file.bytes()));
  ParamRecords records;
  ByteReader in(file.bytes());
  GANTRY_TRY(records.names, read_param_names(in));
  records.at = in.offset();
  return records;
}

Result<Ref<ModuleNode>> load_graph(RuntimeState& state, const GraphFiles& files,
                                   const LoadOptions& options, Ref<ModuleNode> library) {
  GANTRY_TRY(const auto graph, MappedFile::open(files.graph));
  std::shared_ptr<const MappedFile> params;
  if (!files.params.empty()) {
    GANTRY_TRY(params, MappedFile::open(files.params));
  }
  auto container = graph_container(*graph, params.get());
  if (!container.ok()) return std::move(container).failure().at("in ", files.params);
  GANTRY_TRY(auto artifact, open_bare_artifact(state.new_artifact(), std::move(*container)));
  // The graph and the library are of one exporter.
  const ExporterFacts facts = library->artifact->container.facts;
  GANTRY_TRY(Ref<ModuleNode> root, load_artifact(state, std::move(artifact), options, &facts));
  root->imports.push_back(std::move(library));
  return root;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> graph_container(const MappedFile& graph,
                                                          const MappedFile* params) {
  ParamRecords records;
  if (params != nullptr) {
    GANTRY_TRY(records, read_records(*params));
  }
  std::string payload;
  {
    dmlc::MemoryStringStream stream(&payload);
    dmlc::Stream& out = stream;
    out.Write(std::string(as_text(graph.bytes())));
    out.Write(static_cast<std::uint64_t>(records.names.size()));
    out.Write(static_cast<std::uint64_t>(records.names.size()));
    for (const std::string_view name : records.names) out.Write(std::string(name));
  }
  const std::string after = number(default_name.size()) + std::string(default_name);
  const std::uint64_t record_bytes = params != nullptr ? params->bytes().size() - records.at : 0;

  std::string before;
  // The tree has two rows, 0 and 0, and no edge.
  for (const std::uint64_t word : {2, 0, 0, 0}) before += number(word);
  before += number(factory_key.size()) + std::string(factory_key);
  before += number(payload.size() + record_bytes + after.size()) + payload;
  before = number(before.size() + record_bytes + after.size()) + before;
  if (params == nullptr) return MappedFile::copy(graph.path(), bytes_of(before + after));
  return MappedFile::joined(graph.path(), bytes_of(before), *params, records.at, bytes_of(after));
}

Result<Ref<ModuleNode>> load_graph_files(RuntimeState& state, const GraphFiles& files,
                                         const LoadOptions& options) {
  GANTRY_TRY(Ref<ModuleNode> library, load_file(state, files.library, options));
  auto root = load_graph(state, files, options, std::move(library));
  if (root.ok() || root.error().reason == "NO_PLUGIN") return root;
  return std::move(root).failure().at("while loading graph ", files.graph);
}

Result<GraphFiles> graph_files_beside(const fs::path& file) {
  const auto beside = [&](std::string_view suffix) {
    return fs::path(file).replace_extension(suffix);
  };
  std::error_code failed;
  std::vector<std::string> missing;
  GraphFiles files{{}, beside(".json"), beside(".params")};
  for (const std::string_view suffix : {".so", ".o", ".tar"}) {
    if (files.library.empty() && fs::is_regular_file(beside(suffix), failed))
      files.library = beside(suffix);
  }
  if (files.library.empty()) missing.push_back(beside(".so").filename());
  if (!fs::is_regular_file(files.graph, failed)) missing.push_back(beside(".json").filename());
  if (!fs::is_regular_file(files.params, failed)) files.params.clear();
  if (missing.empty()) return files;
  return not_found(join(missing, " and ", in_quotes), missing.size() == 1 ? " is" : " are",
                   " not beside it");
}

}  // namespace gantry
