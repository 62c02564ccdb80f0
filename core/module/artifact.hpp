// SPDX-License-Identifier: Apache-2.0
//
// One loaded file: everything that its modules share.
//
//     ModuleNode ... --artifact--> Artifact --> mapping, ELF, container, the runtime that loaded it
//
// A module that a plugin makes at run time has an artifact without a file.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/elf/elf_file.hpp"
#include "core/format/container.hpp"
#include "core/module/pin.hpp"
#include "core/tensor/object.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

class GlobalFunctions;
class TraceRecorder;

// Filled before its modules are shared; not changed afterwards. Destroyed with its last module: the
// members last first, the runtime at the end.
struct Artifact {
  // Keeps the runtime, and with it the plugins of the modules.
  Pin runtime;
  // of the runtime
  std::shared_ptr<const GlobalFunctions> globals;
  // of the runtime; NULL: calls are not recorded
  TraceRecorder* trace = nullptr;

  // NULL where the modules were made at run time; then the members below are empty, too
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<const ElfFile> elf;
  // of the file, without directories: "model.so"
  std::string name;
  Container container;
  // keeps the file's bytes: for loaders, which may retain it
  ObjectPtr pin;
  // Device numbers of the file's code that differ from the runtime's: (artifact's, runtime's).
  // Empty in nearly all files. See core/native/device_numbers.hpp.
  std::vector<std::pair<std::int32_t, std::int32_t>> device_numbers;
};

// The artifact of a file whose container is not read yet.
//
// made     [in]   with what belongs to the runtime
// returns  as ElfFile::parse(); exhausted
Result<std::shared_ptr<Artifact>> open_artifact(Artifact made,
                                                std::shared_ptr<const MappedFile> file);

}  // namespace gantry
