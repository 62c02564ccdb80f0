// SPDX-License-Identifier: Apache-2.0
//
// Opens tar archives that gzip has compressed, as TVM's export_library("model.tar") writes them.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace gantry {

// Of a tar archive in a gzip file, after decompression. A gzip file can expand to the thousandfold.
constexpr std::uint64_t max_unpacked_bytes = std::uint64_t{1} << 30;

// The tar archive in a gzip file, decompressed into memory, with the path of the file; any other file
// as it is, damaged gzip data among them.
//
// limit    [in]   bytes after decompression
// returns  malformed    the data are damaged behind the first member's header, or exceed the limit
//          exhausted    no memory or descriptor
Result<std::shared_ptr<const MappedFile>> unpacked(std::shared_ptr<const MappedFile> file,
                                                   std::uint64_t limit = max_unpacked_bytes);

// Opens a file as MappedFile::open(), then unpacked().
Result<std::shared_ptr<const MappedFile>> open_unpacked(const std::filesystem::path& path);

}  // namespace gantry
