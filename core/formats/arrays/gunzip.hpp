// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gantry {

// True if the bytes begin as a gzip file does.
bool is_gzip(std::span<const std::uint8_t> bytes);

// Returns a function that decompresses the next bytes into the start of a piece and returns their
// number, 0 at the end.
//
// bytes      [in]   valid while the function is called
// returns    exhausted; the function: malformed if the data are damaged or truncated
Result<std::function<Result<std::size_t>(std::span<std::uint8_t>)>> open_gzip(
    std::span<const std::uint8_t> bytes);

// Decompresses a gzip file into a file without a name, and maps that.
//
// directory  [in]   where the file is created; without a name, so nothing of it remains
// limit      [in]   bytes after decompression
// returns    malformed    the data are damaged, truncated, or exceed the limit
//            unavailable  no space, or a system error
// costs      one pass; 64 KiB of memory
// source     RFC 1952
Result<std::shared_ptr<const MappedFile>> gunzip(std::span<const std::uint8_t> bytes,
                                                 const std::filesystem::path& directory,
                                                 std::uint64_t limit);

// The same in memory.
//
// path       [in]   of the gzip file, for messages and MappedFile::path()
// returns    as gunzip(); exhausted: no memory or descriptor
Result<std::shared_ptr<const MappedFile>> gunzip_to_memory(std::span<const std::uint8_t> bytes,
                                                           const std::filesystem::path& path,
                                                           std::uint64_t limit);

// Decompresses the first `size` bytes, or all if there are fewer.
//
// returns    malformed    the data are damaged or truncated before that
Result<std::vector<std::uint8_t>> gunzip_start(std::span<const std::uint8_t> bytes,
                                               std::size_t size);

}  // namespace gantry
