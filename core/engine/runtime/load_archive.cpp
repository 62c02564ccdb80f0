// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/load_archive.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/cpu_requirement.hpp"
#include "core/engine/runtime/link_cache.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/mlf/model_container.hpp"
#include "core/formats/mlf/model_library.hpp"

#include <gantry/quoted.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

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
  GANTRY_TRY(File part, MappedFile::part_of(file, file->path() / member->name, member->content));
  auto opened = open_artifact(state.new_artifact(), std::move(part));
  if (!opened.ok()) return std::move(opened).failure().at("in ", quoted(member->name));
  return opened;
}

// Sources are compiled for this host, whatever target they were generated for.
void warn_of_other_cpu(const RuntimeState& state, const File& file, const MlfModel& model) {
  for (const MlfTarget& target : model.targets) {
    if (const auto unmet = unmet_in_target(target.text, host_has_feature))
      state.log.warning(Message(file->path().filename().native(), ": ", to_text(*unmet)));
  }
}

// Links the objects, or else the sources.
Result<File> link_code(RuntimeState& state, const File& file, const ModelLibrary& archive,
                       const MlfModel& model, const MlfModelFiles& files) {
  if (!files.objects.empty()) warn_of_other_cpu(state, file, model);
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

// Returns the payloads of the device modules.
Result<std::vector<ModelPayload>> payloads_of(const ModelLibrary& archive, const MlfModel& model) {
  std::vector<ModelPayload> payloads;
  for (const MlfFile& blob : model.blobs) {
    const ArchiveMember* const member = archive.files.find(blob.path);
    if (member == nullptr) {
      return malformed(no_offset, "x_blobs has ", quoted(blob.path),
                       ", which the archive does not contain")
          .with_reason("ARCHIVE_MODEL");
    }
    if (const std::string digest = hex_text(sha256(member->content)); digest != blob.sha256) {
      return malformed(no_offset, quoted(blob.path), " has the SHA-256 digest ", digest,
                       ", x_blobs states ", quoted(blob.sha256));
    }
    payloads.push_back({blob.type_key, member->content});
  }
  return payloads;
}

// The library has the code, a container beside it has the graph and the device modules. A model that
// is compiled ahead of time has no graph.
Opened open_parts(RuntimeState& state, const File& file, const ModelLibrary& archive,
                  const MlfModel& model, const MlfModelFiles& files) {
  ModelParts parts{.name = model.name, .has_library = true};
  parts.is_ahead_of_time = !model.is_operator() && model.has_executor("aot");
  if (!model.is_operator() && !parts.is_ahead_of_time) {
    const ArchiveMember* const graph = archive.files.find(files.graph);
    if (graph == nullptr || graph->content.empty()) {
      return malformed(no_offset, graph == nullptr ? "the archive has no " : "there is nothing in ",
                       quoted(files.graph))
          .with_reason("ARCHIVE_MODEL");
    }
    parts.text = as_text(graph->content);
  }
  if (!model.is_operator()) {
    const ArchiveMember* const parameters = archive.files.find(files.parameters);
    if (parameters != nullptr && !parameters->content.empty()) {
      parts.file = file.get();
      parts.params = parameters->content;
    }
  }
  GANTRY_TRY(parts.payloads, payloads_of(archive, model));
  if (model.is_operator() && parts.payloads.empty()) {
    GANTRY_TRY(File library, link_code(state, file, archive, model, files));
    return open_artifact(state.new_artifact(), std::move(library));
  }
  auto container = model_container(file->path(), parts);
  if (!container.ok()) return std::move(container).failure().at("in ", files.parameters);
  GANTRY_TRY(File library, link_code(state, file, archive, model, files));
  return open_artifact(state.new_artifact(), std::move(library), std::move(*container));
}

Opened open_model(RuntimeState& state, const File& file, const ModelLibrary& archive,
                  std::size_t index) {
  const MlfModel& model = archive.metadata.models[index];
  if (model.library) return open_member(state, file, archive, *model.library);
  return open_parts(state, file, archive, model, archive.model_files[index]);
}

}  // namespace

Result<Ref<ModuleNode>> load_model_library(RuntimeState& state, const File& file,
                                           const File& origin, const LoadPermissions& options) {
  GANTRY_TRY(const ModelLibrary archive, open_model_library(file->bytes()));
  const std::vector<MlfModel>& models = archive.metadata.models;
  const std::string name = file->path().filename().native();
  std::vector<ArchivedModel> loaded;
  for (std::size_t i = 0; i < models.size(); ++i) {
    auto load = [&]() -> Result<Ref<ModuleNode>> {
      GANTRY_TRY(auto artifact, open_model(state, file, archive, i));
      artifact->name =
          models.size() == 1 ? name : concat("model ", quoted(models[i].name), " of ", name);
      artifact->origin = origin;
      return load_artifact(state, std::move(artifact), options);
    };
    auto root = load();
    if (models.size() == 1) return root;
    if (!root.ok()) {
      // Its first line names the file.
      if (root.error().reason == reason::no_plugin.tag) return root;
      return std::move(root).failure().at("in model ", quoted(models[i].name));
    }
    loaded.push_back({models[i].name, std::move(*root)});
  }
  auto artifact = std::make_shared<Artifact>(state.new_artifact());
  artifact->name = name;
  artifact->origin = origin;
  return new_archive_module(std::move(artifact), std::move(loaded));
}

}  // namespace gantry
