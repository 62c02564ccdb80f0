// SPDX-License-Identifier: Apache-2.0
//
// A copy of bytes at an address that a test chooses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gantry::test {

// The byte at `offset` has an address that is `past` bytes above a multiple of 128.
class PlacedBytes {
 public:
  PlacedBytes(std::span<const std::uint8_t> bytes, std::uint64_t offset, std::uint64_t past)
      : memory_(bytes.size() + unit) {
    const auto found = reinterpret_cast<std::uintptr_t>(memory_.data()) + offset;
    const std::uint64_t moved = (past + unit - found % unit) % unit;
    bytes_ = std::span(memory_).subspan(moved, bytes.size());
    std::ranges::copy(bytes, bytes_.begin());
  }
  PlacedBytes(const PlacedBytes&) = delete;
  PlacedBytes& operator=(const PlacedBytes&) = delete;

  std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t unit = 128;
  std::vector<std::uint8_t> memory_;
  std::span<std::uint8_t> bytes_;
};

// The offset of a part of bytes. Precondition: it is there.
inline std::uint64_t offset_of(std::span<const std::uint8_t> bytes,
                               std::span<const std::uint8_t> part) {
  return static_cast<std::uint64_t>(std::ranges::search(bytes, part).begin() - bytes.begin());
}
inline std::uint64_t offset_of(std::span<const std::uint8_t> bytes,
                               const std::vector<float>& values) {
  return offset_of(
      bytes, {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)});
}

}  // namespace gantry::test
