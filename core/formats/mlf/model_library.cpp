// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/model_library.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry {
namespace {

constexpr std::uint64_t max_metadata_bytes = std::uint64_t{16} << 20;

}  // namespace

Result<ModelLibrary> read_model_library(std::span<const std::uint8_t> bytes, Findings& findings) {
  ModelLibrary archive;
  GANTRY_TRY(archive.files, TarFiles::read(bytes));
  const ArchiveMember* metadata = archive.files.find(metadata_file);
  if (metadata == nullptr) {
    const std::vector<std::string_view> names = archive.files.names_below("");
    return not_found("archive has no ", metadata_file, "; its members are ",
                     names.empty() ? "none" : join(names, ", ", in_quotes, max_listed_names));
  }
  if (metadata->size > max_metadata_bytes) {
    return malformed(metadata->at, metadata_file, " has ", metadata->size, " bytes, limit is ",
                     max_metadata_bytes);
  }
  GANTRY_TRY(archive.metadata, read_mlf_metadata(as_text(metadata->content), findings));
  for (const MlfModel& model : archive.metadata.models) {
    if (!is_model_name(model.name)) {
      findings.error(metadata_file, "names a model ", quoted(model.name),
                     ", expected letters, digits, \"_\", \"-\" and \".\"");
    }
    archive.model_files.push_back(files_of(model, archive.metadata.version, archive.files));
    for (const MlfRepeatedNumber& repeated : archive.model_files.back().repeated) {
      findings.error(repeated.member, "has the number of ", quoted(repeated.first),
                     ", expected a number for each file of code");
    }
  }
  return archive;
}

Result<ModelLibrary> open_model_library(std::span<const std::uint8_t> bytes) {
  Findings findings;
  GANTRY_TRY(ModelLibrary archive, read_model_library(bytes, findings));
  if (const Finding* error = findings.first_error()) {
    return malformed(no_offset, error->path, " ", error->text,
                     findings.errors() == 1 ? "" : "; gantry mlf validate lists all errors");
  }
  return archive;
}

}  // namespace gantry
