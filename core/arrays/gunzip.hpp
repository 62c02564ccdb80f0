// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace gantry {

// True if the bytes begin as a gzip file does.
bool is_gzip(std::span<const std::uint8_t> bytes);

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

}  // namespace gantry
