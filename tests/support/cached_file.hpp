// SPDX-License-Identifier: Apache-2.0
//
// What a file of a DiskCache contains.
#pragma once

#include "tests/support/files.hpp"

#include <gantry/byte_reader.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

struct CachedFile {
  std::string key, content;
};

// Precondition: the file is whole.
inline CachedFile read_cached_file(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  // content ; key ; u64 content size ; u64 key size ; magic ; u64 checksum
  ByteReader tail(std::span<const std::uint8_t>(bytes).last(32));
  const std::uint64_t content_size = tail.read_u64("content size").value();
  const std::uint64_t key_size = tail.read_u64("key size").value();
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {std::string(all.substr(content_size, key_size)),
          std::string(all.substr(0, content_size))};
}

}  // namespace gantry::test
