// SPDX-License-Identifier: Apache-2.0
#include "core/formats/kind/unpacked_file.hpp"

#include "core/formats/archive/tar_files.hpp"
#include "core/formats/arrays/gunzip.hpp"

#include <utility>

namespace gantry {

Result<std::shared_ptr<const MappedFile>> unpacked(std::shared_ptr<const MappedFile> file,
                                                   std::uint64_t limit) {
  const auto bytes = file->bytes();
  if (!is_gzip(bytes)) return file;
  const auto start = gunzip_start(bytes, tar_header_bytes);
  if (!start.ok() || !is_tar(*start)) return file;
  auto archive = gunzip_to_memory(bytes, file->path(), limit);
  if (archive.ok()) return archive;
  return std::move(archive).failure().at("in ", file->path().native(),
                                         ", a tar archive that gzip has compressed; gunzip checks "
                                         "and decompresses it");
}

Result<std::shared_ptr<const MappedFile>> open_unpacked(const std::filesystem::path& path) {
  GANTRY_TRY(auto file, MappedFile::open(path));
  return unpacked(std::move(file));
}

}  // namespace gantry
