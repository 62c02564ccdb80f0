// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/artifact_file.hpp"

#include "core/base/near_name.hpp"
#include "core/engine/runtime/link_cache.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "core/formats/elf/elf_types.hpp"
#include "core/formats/kind/file_kind.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gantry {
namespace {

using File = std::shared_ptr<const MappedFile>;
using Opened = Result<std::shared_ptr<Artifact>>;

Opened link_inputs(RuntimeState& state, File file, std::span<const LinkInput> inputs) {
  const Span span(state.trace.get(), "link", "load");
  GANTRY_TRY(File library, state.links.link(file->path(), inputs));
  GANTRY_TRY(auto artifact, open_artifact(state.new_artifact(), std::move(library)));
  artifact->name = file->path().filename().string();
  artifact->origin = std::move(file);
  return artifact;
}

Opened open_object(RuntimeState& state, File file) {
  const LinkInput input{file->path().filename().string(), file->bytes()};
  return link_inputs(state, std::move(file), {&input, 1});
}

Opened link_members(RuntimeState& state, File file, const std::vector<ArchiveMember>& members) {
  std::vector<LinkInput> inputs;
  for (const ArchiveMember& member : members) {
    LinkInput input{member.name, member.content};
    if (member.special.empty() && is_link_input(input)) inputs.push_back(std::move(input));
  }
  if (!inputs.empty()) return link_inputs(state, std::move(file), inputs);
  return unsupported(
             file->path().native(), " is ", words_for(kind_of(file->bytes())),
             " without an object file or a C source, it has ",
             members.empty()
                 ? "no members"
                 : join(
                       members, ", ", [](const ArchiveMember& m) { return concat(quoted(m.name)); },
                       max_listed_names))
      .with_reason("FILE_KIND");
}

Opened open_ar(RuntimeState& state, File file) {
  GANTRY_TRY(const std::vector<ArchiveMember> members, read_ar_members(file->bytes()));
  return link_members(state, std::move(file), members);
}
Opened open_tar(RuntimeState& state, File file) {
  GANTRY_TRY(const TarFiles files, TarFiles::read(file->bytes()));
  std::vector<ArchiveMember> members;
  for (const auto& [name, member] : files.all()) members.push_back(member);
  return link_members(state, std::move(file), members);
}

Opened open_container(RuntimeState& state, File file) {
  return open_bare_artifact(state.new_artifact(), std::move(file));
}

struct KindLoader {
  FileKind kind;
  Opened (*open)(RuntimeState&, File);
};

// Other ELF files are opened as a library, which refuses them with a text that depends on their bytes.
constexpr KindLoader kind_loaders[] = {
    {FileKind::object, open_object},
    {FileKind::archive, open_ar},
    {FileKind::tar, open_tar},
    {FileKind::container, open_container},
};

}  // namespace

Opened open_artifact_file(RuntimeState& state, File file, std::string_view name) {
  const std::span<const std::uint8_t> bytes = file->bytes();
  const auto* const found = std::ranges::find(kind_loaders, kind_of(bytes), &KindLoader::kind);
  if (found != std::end(kind_loaders)) return found->open(state, std::move(file));
  if (!has_elf_magic(bytes)) return not_an_artifact(name, bytes);
  return open_artifact(state.new_artifact(), std::move(file));
}

Result<ContainerLocation> container_location(const Artifact& artifact) {
  if (artifact.elf == nullptr) return bare_location(artifact.file->bytes());
  GANTRY_TRY(ContainerLocation location, locate_container(*artifact.elf));
  if (artifact.container_file == nullptr) return location;
  // The code was linked from what TVM before 0.19 writes, which need not show its dialect.
  ContainerLocation beside = bare_location(artifact.container_file->bytes());
  beside.context_symbol = location.context_symbol;
  beside.symbols.context = location.symbols.context;
  beside.symbols.dialect = Dialect::packed;
  beside.symbols.family = ContainerSymbols::Family::legacy;
  return beside;
}

Result<std::shared_ptr<const Artifact>> read_artifact(RuntimeState& state,
                                                      const std::string& path) {
  GANTRY_TRY(File file, MappedFile::open(path));
  const bool is_bare = kind_of(file->bytes()) == FileKind::container;
  GANTRY_TRY(auto artifact, is_bare ? open_container(state, std::move(file))
                                    : open_artifact(state.new_artifact(), std::move(file)));
  GANTRY_TRY(const ContainerLocation location, container_location(*artifact));
  GANTRY_TRY(artifact->container, read_container(location, state.layouts));
  return std::shared_ptr<const Artifact>(std::move(artifact));
}

}  // namespace gantry
