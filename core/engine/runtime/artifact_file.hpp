// SPDX-License-Identifier: Apache-2.0
//
// How a file of each kind becomes an artifact. The kind follows from the file's bytes.
//
//     shared library                      itself
//     object, ar archive, tar archive     linked with the system's compiler (core/base/toolchain)
//     bare container                      itself, without CPU code
//     Model Library Format archive        not here: load_archive.hpp loads its models
//     other kinds                         refused
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/engine/module/artifact.hpp"

#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace gantry {

struct RuntimeState;

// Opens the artifact of a file. Its container is not read yet, and no code of it runs; its compiler
// may.
//
// name     [in]   of the file in the error of another kind
// returns  the failures of ElfFile::parse() and LinkCache::link(); unsupported, reason FILE_KIND
// costs    that of a link if the file must be linked
Result<std::shared_ptr<Artifact>> open_artifact_file(RuntimeState& state,
                                                     std::shared_ptr<const MappedFile> file,
                                                     std::string_view name);

// Finds the container of an artifact.
Result<ContainerLocation> container_location(const Artifact& artifact);

// Reads a library or a bare container, and its container with the layouts of the runtime. Loads
// nothing.
//
// returns  errors of opening the file; malformed or unsupported from the ELF and container readers
Result<std::shared_ptr<const Artifact>> read_artifact(RuntimeState& state, const std::string& path);

}  // namespace gantry
