// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/artifact.hpp"

namespace gantry {

Result<std::shared_ptr<Artifact>> open_artifact(Artifact made,
                                                std::shared_ptr<const MappedFile> file) {
  GANTRY_TRY(ElfFile elf, ElfFile::parse(file));
  made.elf = std::make_shared<const ElfFile>(std::move(elf));
  return open_bare_artifact(std::move(made), std::move(file));
}

Result<std::shared_ptr<Artifact>> open_artifact(Artifact made,
                                                std::shared_ptr<const MappedFile> library,
                                                std::shared_ptr<const MappedFile> container) {
  GANTRY_TRY(auto artifact, open_artifact(std::move(made), std::move(library)));
  GANTRY_TRY(artifact->pin,
             new_pin(std::make_shared<std::pair<Pin, Pin>>(artifact->file, container)));
  artifact->container_file = std::move(container);
  return artifact;
}

Result<std::shared_ptr<Artifact>> open_bare_artifact(Artifact made,
                                                     std::shared_ptr<const MappedFile> file) {
  GANTRY_TRY(made.pin, new_pin(file));
  made.name = file->path().filename().string();
  made.file = std::move(file);
  return std::make_shared<Artifact>(std::move(made));
}

}  // namespace gantry
