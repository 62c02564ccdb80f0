// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/mlf_file.hpp"

#include "core/formats/kind/file_kind.hpp"
#include "core/formats/kind/unpacked_file.hpp"
#include "tools/gantry/option_checks.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cli {

void add_mlf_file(CLI::App& command, MlfFileOptions& options) {
  command.add_option("FILE", options.file, "the archive, a tar file")
      ->required()
      ->check(not_empty());
  command.add_flag("--json", options.json, "print one JSON document");
}

Result<std::shared_ptr<const MappedFile>> open_mlf_file(const std::string& path) {
  GANTRY_TRY(auto file, open_unpacked(path));
  const FileKind kind = kind_of(file->bytes());
  if (kind == FileKind::tar || kind == FileKind::model_library) return file;
  return malformed(
      no_offset, quoted(path), " is ",
      kind == FileKind::unknown ? first_bytes_text(file->bytes()) : std::string(words_for(kind)),
      ", expected a tar archive with metadata.json");
}

}  // namespace gantry::cli
