// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_files.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/mlf/model_container.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;

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
  root->ext_devs |= library->ext_devs.load();
  root->imports.push_back(std::move(library));
  return root;
}

}  // namespace

Result<Ref<ModuleNode>> load_graph_files(RuntimeState& state, const ModelFiles& files,
                                         const LoadPermissions& options) {
  GANTRY_TRY(Ref<ModuleNode> library, load_file(state, files.library, options));
  auto root = load_graph(state, files, options, std::move(library));
  if (root.ok() || root.error().reason == reason::no_plugin.tag) return root;
  return std::move(root).failure().at("while loading graph ", files.graph);
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
