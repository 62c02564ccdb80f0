// SPDX-License-Identifier: Apache-2.0
//
// Describes Model Library Format archives to be written: of an artifact with a graph, or of another
// archive in a newer version. core/formats/mlf/MLF.md describes the format.
//
//     model.so ... -> graph, parameters, metadata, README.md, the library and its device payloads
//     model.tar    -> the same members under the names of the version, metadata with the memory that
//                     the graph requires
#pragma once

#include "core/formats/container.hpp"
#include "core/formats/mlf/model_library.hpp"
#include "core/writing/pieces.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry {

struct MlfExportOptions {
  // 5 or 7
  std::uint64_t version = max_mlf_version;
  // name of the only model of an archive; empty: as the archive names it
  std::string name;
  // "2026-11-20 13:35:47Z"; empty: that of the archive, or the beginning of 1970 for an artifact
  std::string export_datetime;
  // texts of the targets; empty: those of the archive; for an artifact those that its symbols and
  // type keys show
  std::vector<std::string> targets;
};

// An artifact that becomes a model of an archive.
struct MlfArtifact {
  std::shared_ptr<const MappedFile> library;
  // of the library
  Container container;
  // of the model; empty: as the artifact names it
  std::string name;
};

// Describes an archive of artifacts. The same artifacts and options give the same bytes.
//
// artifacts  [in]   at least one
// options    [in]   without a name
// returns    not_found    no module is a graph factory; lists the modules
//            invalid      a name cannot be part of a file name, or two models have one; version 5 and
//                         several models; another version than 5 and 7
//            malformed, unsupported  a graph or its parameters
// costs      digests the libraries; the parameters stay in the files
Result<Pieces> mlf_of_artifacts(std::span<const MlfArtifact> artifacts,
                                const MlfExportOptions& options);

// Describes an archive with the members of another.
//
// archive  [in]   of the bytes of `file`, without errors among its findings
// returns  invalid  as above; version 5 and several models; a name and several models; another name
//                   for ahead-of-time code; several models, one of them of operators; a member has a
//                   name that the version gives to another one
//          the failures of reading the graphs and parameters
Result<Pieces> mlf_of_archive(const std::shared_ptr<const MappedFile>& file,
                              const ModelLibrary& archive, const MlfExportOptions& options);

}  // namespace gantry
