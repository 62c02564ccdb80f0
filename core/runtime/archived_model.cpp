// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/archived_model.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/runtime/graph_files.hpp"
#include "core/runtime/state.hpp"
#include "core/toolchain/link_cache.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry {
namespace {

// Returns the only model, or why the runtime cannot run it.
Result<const MlfModel*> only_model(const ModelLibrary& archive) {
  const std::vector<MlfModel>& models = archive.metadata.models;
  const auto refuse = [](const auto&... parts) {
    return unsupported(parts...).with_reason("ARCHIVE_MODEL");
  };
  if (models.size() != 1) {
    return refuse("the archive has ", models.size(), " models (",
                  join(
                      models, ", ", [](const MlfModel& model) { return quoted(model.name); },
                      max_listed_names),
                  "), this version runs archives of one");
  }
  const MlfModel& model = models.front();
  if (model.has_executor("aot") && !model.library) {
    return refuse("model ", quoted(model.name),
                  " is compiled ahead of time (executor \"aot\"), this version runs graphs; export "
                  "it with the graph executor");
  }
  return &model;
}

using File = std::shared_ptr<const MappedFile>;
using Opened = Result<std::shared_ptr<Artifact>>;

// The library is an artifact of its own.
Opened open_member(RuntimeState& state, const File& file, const ModelLibrary& archive,
                   const MlfFile& library) {
  const ArchiveMember* const member = archive.files.find(library.path);
  if (member == nullptr) {
    return malformed(no_offset, "x_library is ", quoted(library.path),
                     ", which the archive does not contain")
        .with_reason("ARCHIVE_MODEL");
  }
  GANTRY_TRY(File copy, state.links.keep(file->path(), library.sha256, member->content));
  return open_artifact(state.new_artifact(), std::move(copy));
}

// Links the objects, or else the sources.
Result<File> link_code(RuntimeState& state, const File& file, const ModelLibrary& archive,
                       const MlfModelFiles& files) {
  const std::vector<std::string>& names = files.objects.empty() ? files.sources : files.objects;
  std::vector<LinkInput> inputs;
  for (const std::string& name : names) inputs.push_back({name, archive.files.find(name)->content});
  if (inputs.empty()) {
    return malformed(no_offset, "the archive has no code in codegen/host/lib or codegen/host/src")
        .with_reason("ARCHIVE_MODEL");
  }
  const Span span(state.trace.get(), "link", "load");
  return state.links.link(file->path(), inputs);
}

// The library has the code, a container beside it has the graph.
Opened open_graph(RuntimeState& state, const File& file, const ModelLibrary& archive,
                  const MlfModel& model, const MlfModelFiles& files) {
  const ArchiveMember* const graph = archive.files.find(files.graph);
  if (graph == nullptr) {
    return malformed(no_offset, "the archive has no ", quoted(files.graph))
        .with_reason("ARCHIVE_MODEL");
  }
  GraphParts parts{.name = model.name, .text = as_text(graph->content), .has_library = true};
  const ArchiveMember* const parameters = archive.files.find(files.parameters);
  if (parameters != nullptr && !parameters->content.empty()) {
    parts.file = file.get();
    parts.params = parameters->content;
  }
  auto container = graph_container(file->path(), parts);
  if (!container.ok()) return std::move(container).failure().at("in ", files.parameters);
  GANTRY_TRY(File library, link_code(state, file, archive, files));
  return open_artifact(state.new_artifact(), std::move(library), std::move(*container));
}

Opened open_code(RuntimeState& state, const File& file, const ModelLibrary& archive) {
  GANTRY_TRY(const MlfModel* const model, only_model(archive));
  const MlfModelFiles& files = archive.model_files.front();
  if (model->library) return open_member(state, file, archive, *model->library);
  if (!model->is_operator()) return open_graph(state, file, archive, *model, files);
  GANTRY_TRY(File library, link_code(state, file, archive, files));
  return open_artifact(state.new_artifact(), std::move(library));
}

}  // namespace

Opened open_archived_model(RuntimeState& state, File file) {
  GANTRY_TRY(const ModelLibrary archive, open_model_library(file->bytes()));
  GANTRY_TRY(auto artifact, open_code(state, file, archive));
  artifact->name = file->path().filename().string();
  artifact->origin = std::move(file);
  return artifact;
}

}  // namespace gantry
