// SPDX-License-Identifier: Apache-2.0
//
// One loaded file: the data that its modules share.
//
//     ModuleNode ... --artifact--> Artifact --> mapping, ELF, container, the runtime that loaded it
//
// A module that a plugin creates at run time has an artifact without a file.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/base/pin.hpp"
#include "core/engine/tensor/object.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

class GlobalFunctions;
class TraceRecorder;

// Immutable once its modules are shared. Destroyed with its last module, in reverse order of the
// members, so the runtime is released last.
struct Artifact {
  // Keeps the runtime alive, and with it the plugins of the modules.
  Pin runtime;
  // of the runtime
  std::shared_ptr<const GlobalFunctions> globals;
  // of the runtime; NULL: calls are not recorded
  TraceRecorder* trace = nullptr;

  // NULL if the modules were created at run time; the members below are then empty
  std::shared_ptr<const MappedFile> file;
  // The container, if it is not in `file`; else NULL.
  std::shared_ptr<const MappedFile> container_file;
  // The file that was loaded, if `file` was made from it; else NULL. Mapped as long as the artifact,
  // so that its identity is not reused.
  std::shared_ptr<const MappedFile> origin;
  // NULL: a bare container
  std::shared_ptr<const ElfFile> elf;
  // of the file that was loaded, without directories: "model.so"
  std::string name;
  Container container;
  // keeps the file's bytes alive; loaders may retain it
  ObjectPtr pin;
  // Device numbers of the file's code that differ from the runtime's: (artifact's, runtime's).
  // Empty in nearly all files. See core/engine/native/device_numbers.hpp.
  std::vector<std::pair<std::int32_t, std::int32_t>> device_numbers;
};

// Creates the artifact of a library. Its container is not read yet.
//
// made     [in]   with the members of the runtime set
// returns  as ElfFile::parse(); exhausted
Result<std::shared_ptr<Artifact>> open_artifact(Artifact made,
                                                std::shared_ptr<const MappedFile> file);
// The same with a container that is beside the library.
Result<std::shared_ptr<Artifact>> open_artifact(Artifact made,
                                                std::shared_ptr<const MappedFile> library,
                                                std::shared_ptr<const MappedFile> container);
// Creates the artifact of a file that is a container without a library.
//
// returns  exhausted
Result<std::shared_ptr<Artifact>> open_bare_artifact(Artifact made,
                                                     std::shared_ptr<const MappedFile> file);

}  // namespace gantry
