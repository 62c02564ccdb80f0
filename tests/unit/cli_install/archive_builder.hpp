// SPDX-License-Identifier: Apache-2.0
//
// Builds tar archives for tests.
#pragma once

#include "tests/support/gzip_bytes.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

class TarBuilder {
 public:
  // type  '0' file, '1' hard link, '5' directory
  TarBuilder& add(std::string_view name, std::string_view content, char type = '0',
                  const char* mode = "0000644") {
    return add_member(name, content, type, mode, "");
  }
  TarBuilder& add_link(std::string_view name, std::string_view target) {
    return add_member(name, "", '2', "0000777", target);
  }
  std::string text() const { return text_ + std::string(1024, '\0'); }

 private:
  TarBuilder& add_member(std::string_view name, std::string_view content, char type,
                         const char* mode, std::string_view target) {
    char header[512] = {};
    std::memcpy(header, name.data(), name.size());
    std::memcpy(header + 157, target.data(), target.size());
    std::memcpy(header + 100, mode, 7);
    std::snprintf(header + 124, 12, "%011zo", content.size());
    std::memset(header + 148, ' ', 8);
    header[156] = type;
    std::memcpy(header + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (const char each : header) sum += static_cast<unsigned char>(each);
    std::snprintf(header + 148, 8, "%06o", sum);
    text_.append(header, sizeof header).append(content);
    text_.append((512 - content.size() % 512) % 512, '\0');
    return *this;
  }

  std::string text_;
};

inline std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace gantry::test
