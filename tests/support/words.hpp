// SPDX-License-Identifier: Apache-2.0
//
// Builds byte strings in the format of containers: little-endian numbers, strings after their
// length.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::test {

class Words {
 public:
  Words& u8(std::uint8_t v) { return raw(&v, sizeof v); }
  Words& u16(std::uint16_t v) { return raw(&v, sizeof v); }
  Words& u32(std::uint32_t v) { return raw(&v, sizeof v); }
  Words& i32(std::int32_t v) { return raw(&v, sizeof v); }
  Words& u64(std::uint64_t v) { return raw(&v, sizeof v); }
  Words& i64(std::int64_t v) { return raw(&v, sizeof v); }
  // u64 count, then the numbers.
  Words& u64s(const std::vector<std::uint64_t>& all) {
    u64(all.size());
    for (const std::uint64_t v : all) u64(v);
    return *this;
  }
  // u64 length, then the bytes.
  Words& str(std::string_view text) { return u64(text.size()).raw(text.data(), text.size()); }
  Words& strs(const std::vector<std::string_view>& all) {
    u64(all.size());
    for (const std::string_view text : all) str(text);
    return *this;
  }
  Words& bytes(std::span<const std::uint8_t> all) { return raw(all.data(), all.size()); }
  Words& text(std::string_view all) { return raw(all.data(), all.size()); }
  Words& raw(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    if (size != 0) bytes_.insert(bytes_.end(), first, first + size);
    return *this;
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace gantry::test
