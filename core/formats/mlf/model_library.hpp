// SPDX-License-Identifier: Apache-2.0
//
// A Model Library Format archive: a tar archive with metadata.json. The entry point of this
// component:
//
//     Findings findings;
//     GANTRY_TRY(const ModelLibrary archive, read_model_library(bytes, findings));
//     validate(archive, findings);
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "core/formats/mlf/findings.hpp"
#include "core/formats/mlf/metadata.hpp"
#include "core/formats/mlf/model_files.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

struct ModelLibrary {
  TarFiles files;
  MlfMetadata metadata;
  // of the models in metadata, in their order
  std::vector<MlfModelFiles> model_files;
};

// Reads the names of all members, and metadata.json.
//
// bytes     [in]   the archive
// findings  [out]  as read_mlf_metadata(), names of models that cannot be part of a file name, and
//                  code whose number another file of the model has
// returns   not_found  no metadata.json; the failures of TarFiles::read() and read_mlf_metadata()
// lifetime  the contents of members view `bytes`
// costs     O(members log members + metadata); metadata.json may have 16 MiB
Result<ModelLibrary> read_model_library(std::span<const std::uint8_t> bytes, Findings& findings);

// Reads an archive to be used: as read_model_library(), but the first error among the findings is
// returned.
//
// returns   malformed  a finding is an error
Result<ModelLibrary> open_model_library(std::span<const std::uint8_t> bytes);

// Checks that metadata and members match: each file exists and is valid, parameters are inputs of
// the graph and have their types, the graph's functions are defined, the memory is what the graph
// requires, styles, executors and targets are known. MLF.md lists all findings.
//
// file      [in]  whose bytes the archive views; NULL: they are in memory
// costs     reads every member that belongs to a model: parses graphs and symbol tables, and digests
//           the files of our extension, of which a few MiB of `file` are in memory at once; does not
//           read the data of parameters
void validate(const ModelLibrary& archive, Findings& findings, const MappedFile* file = nullptr);

}  // namespace gantry
