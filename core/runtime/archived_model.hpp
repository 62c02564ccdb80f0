// SPDX-License-Identifier: Apache-2.0
//
// The model of a Model Library Format archive (core/mlf/MLF.md). Its code is, in this order:
//
//     codegen/<model>.so           an artifact of its own, copied to the cache
//     codegen/host/lib, /src       linked with the system's compiler (core/toolchain); the graph and
//                                  the parameters are copied to a container in memory
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/mlf/model_library.hpp"
#include "core/module/artifact.hpp"

#include <gantry/result.hpp>

#include <memory>

namespace gantry {

struct RuntimeState;

// Opens the artifact of the only model.
//
// returns  unsupported, reason ARCHIVE_MODEL  an archive of several models or of a model that is
//                       compiled ahead of time
//          malformed    the archive or its metadata; reason ARCHIVE_MODEL: a member of the model does
//                       not exist
//          the failures of ElfFile::parse() and LinkCache::link()
// costs    a copy of the library, or a link
Result<std::shared_ptr<Artifact>> open_archived_model(RuntimeState& state,
                                                      std::shared_ptr<const MappedFile> file);

}  // namespace gantry
