// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_files.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/arrays/params.hpp"
#include "core/formats/graph_json.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

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

// Collects fields of a container.
class ContainerText {
 public:
  template <typename T>
  ContainerText& write(const T& field) {
    static_cast<dmlc::Stream&>(stream_).Write(field);
    return *this;
  }
  ContainerText& write(std::string_view text) { return write(std::string(text)); }
  ContainerText& append(std::span<const std::uint8_t> bytes) {
    stream_.Write(bytes.data(), bytes.size());
    return *this;
  }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()};
  }

 private:
  std::string text_;
  dmlc::MemoryStringStream stream_{&text_};
};

// The parameters of a file: their names, and the offset of their records, which end the file.
struct ParamRecords {
  std::vector<std::string_view> names;
  std::uint64_t at = 0;
};

Result<ParamRecords> read_records(std::span<const std::uint8_t> params) {
  // Checks every record.
  GANTRY_CHECK(read_params(params));
  ParamRecords records;
  ByteReader in(params);
  GANTRY_TRY(records.names, read_param_names(in));
  records.at = in.offset();
  return records;
}

Result<Ref<ModuleNode>> load_graph(RuntimeState& state, const ModelFiles& files,
                                   const LoadPermissions& options, Ref<ModuleNode> library) {
  GANTRY_TRY(const auto graph, MappedFile::open(files.graph));
  std::shared_ptr<const MappedFile> params;
  if (!files.params.empty()) {
    GANTRY_TRY(params, MappedFile::open(files.params));
  }
  ModelParts parts{.text = as_text(graph->bytes()), .file = params.get()};
  if (params != nullptr) parts.params = params->bytes();
  auto container = model_container(graph->path(), parts);
  if (!container.ok()) return std::move(container).failure().at("in ", files.params);
  GANTRY_TRY(auto artifact, open_bare_artifact(state.new_artifact(), std::move(*container)));
  // The graph and the library are of one exporter.
  const ExporterFacts facts = library->artifact->container.facts;
  GANTRY_TRY(Ref<ModuleNode> root, load_artifact(state, std::move(artifact), options, &facts));
  root->imports.push_back(std::move(library));
  return root;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> model_container(const fs::path& path,
                                                          const ModelParts& parts) {
  // The modules before the library: each imports the next one.
  std::vector<std::string_view> keys;
  if (!parts.text.empty()) keys = {graph_factory_key};
  if (parts.is_ahead_of_time) keys = {aot_factory_key, aot_metadata_key};
  ParamRecords records;
  if (!keys.empty() && parts.file != nullptr) {
    GANTRY_TRY(records, read_records(parts.params));
  }
  const auto data = parts.params.subspan(records.at);

  // The import tree: word i + 1 of `ends` is the end of row i.
  std::vector<std::uint64_t> ends{0}, imports;
  for (std::size_t i = 1; i <= keys.size(); ++i) {
    if (i < keys.size() || parts.has_library) imports.push_back(i);
    ends.push_back(imports.size());
  }
  if (parts.has_library) {
    for (std::size_t i = 0; i < parts.payloads.size(); ++i) imports.push_back(ends.size() + i);
    ends.push_back(imports.size());
  }
  ends.resize(ends.size() + parts.payloads.size(), imports.size());
  const std::uint64_t modules = ends.size() - 1;

  ContainerText after;
  if (!keys.empty()) after.write(parts.name);
  // These modules have no payload.
  for (std::size_t i = 1; i < keys.size(); ++i) after.write(keys[i]);
  if (parts.has_library) after.write(library_key);
  for (const ModelPayload& payload : parts.payloads) {
    after.write(payload.type_key).append(payload.bytes);
  }
  after.write(tree_key).write(ends).write(imports);

  // The entries: the modules and the tree.
  ContainerText before;
  before.write(modules + 1);
  if (!keys.empty()) {
    before.write(keys.front());
    if (!parts.is_ahead_of_time) before.write(parts.text);
    before.write(std::uint64_t{records.names.size()}).write(std::uint64_t{records.names.size()});
    for (const std::string_view name : records.names) before.write(name);
  }

  ContainerText whole;
  whole.write(std::uint64_t{before.bytes().size() + data.size() + after.bytes().size()});
  whole.append(before.bytes());
  if (data.empty()) return MappedFile::copy(path, whole.append(after.bytes()).bytes());
  return MappedFile::joined(path, whole.bytes(), *parts.file, data, after.bytes());
}

Result<Ref<ModuleNode>> load_graph_files(RuntimeState& state, const ModelFiles& files,
                                         const LoadPermissions& options) {
  GANTRY_TRY(Ref<ModuleNode> library, load_file(state, files.library, options));
  auto root = load_graph(state, files, options, std::move(library));
  if (root.ok() || root.error().reason == reason::no_plugin.tag) return root;
  return std::move(root).failure().at("while loading graph ", files.graph);
}

bool is_graph_json(std::span<const std::uint8_t> bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' && read_graph_json(text, 0).ok();
}

Result<ModelFiles> graph_files_beside(const fs::path& file, bool is_graph) {
  const auto beside = [&](std::string_view suffix) {
    return fs::path(file).replace_extension(suffix);
  };
  std::error_code failed;
  std::vector<std::string> missing;
  ModelFiles files{{}, is_graph ? file : beside(".json"), is_graph ? beside(".params") : file};
  for (const std::string_view suffix : {".so", ".o", ".tar"}) {
    if (files.library.empty() && fs::is_regular_file(beside(suffix), failed))
      files.library = beside(suffix);
  }
  if (files.library.empty())
    missing.push_back(concat(quoted(beside(".so").filename().native()), " (or .o, .tar)"));
  if (!fs::is_regular_file(files.graph, failed))
    missing.push_back(concat(quoted(beside(".json").filename().native())));
  if (!fs::is_regular_file(files.params, failed)) files.params.clear();
  if (missing.empty()) return files;
  return not_found(join(missing, " and "), missing.size() == 1 ? " is" : " are", " not beside it");
}

}  // namespace gantry
