// SPDX-License-Identifier: Apache-2.0
//
// The models of a Model Library Format archive (core/formats/mlf/MLF.md). The code of each is, in this order:
//
//     codegen/<model>.so           an artifact of its own, read where it is in the archive
//     codegen/host/lib, /src       linked with the system's compiler (core/base/toolchain); the graph, if
//                                  there is one, the parameters and the device modules of x_blobs are
//                                  in a container in memory
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/runtime/options.hpp"

#include <gantry/result.hpp>

#include <memory>

namespace gantry {

struct RuntimeState;

// Loads every model of an archive. Returns the root module of the only model, or a module that imports
// the root module of each (archive_module.hpp).
//
// origin   [in]   the file that was loaded: `file`, or what it was unpacked from
// returns  malformed    the archive or its metadata; reason ARCHIVE_MODEL: a member of the model does
//                       not exist
//          the failures of ElfFile::parse(), LinkCache::link() and load_artifact()
// costs    for each model a copy of the library's code in memory, or a link
Result<Ref<ModuleNode>> load_model_library(RuntimeState& state,
                                           const std::shared_ptr<const MappedFile>& file,
                                           const std::shared_ptr<const MappedFile>& origin,
                                           const LoadPermissions& options);

}  // namespace gantry
