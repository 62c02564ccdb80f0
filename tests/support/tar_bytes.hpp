// SPDX-License-Identifier: Apache-2.0
//
// Builds tar archives, valid or not: header blocks and content.
#pragma once

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// Writes the checksum of a header block.
inline std::string with_checksum(std::string block) {
  block.replace(148, 8, "        ");
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned s, char c) {
    return s + static_cast<unsigned char>(c);
  });
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 7, std::string_view(text, 7));
  return block;
}

// A ustar header block: name, size in octal, type, checksum.
inline std::string tar_header(std::string_view name, std::string_view size, char type = '0',
                              std::string_view prefix = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block[156] = type;
  block.replace(257, 6, std::string_view("ustar\0", 6));
  block.replace(345, prefix.size(), prefix);
  return with_checksum(std::move(block));
}

// The content of a member with its padding.
inline std::string tar_block(std::string_view content) {
  std::string block(content);
  block.resize((block.size() + 511) / 512 * 512);
  return block;
}

// A regular file.
inline std::string tar_file(std::string_view name, std::string_view content) {
  char size[12];
  std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(content.size()));
  return tar_header(name, size) + tar_block(content);
}

inline std::vector<std::uint8_t> bytes_of_text(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace gantry::test
