// SPDX-License-Identifier: Apache-2.0
#include "core/formats/memory_image.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/concat.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

template <class... Parts>
Failure refuse_address(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("AOT_METADATA");
}

}  // namespace

MemoryImage::MemoryImage(std::vector<MemoryRange> ranges, std::uint64_t base)
    : ranges_(std::move(ranges)), base_(base) {
  std::ranges::sort(ranges_, {}, &MemoryRange::address);
}

std::span<const std::uint8_t> MemoryImage::bytes_from(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &MemoryRange::address);
  if (after == ranges_.begin()) return {};
  const MemoryRange& range = *std::prev(after);
  const std::uint64_t into = address - range.address;
  if (into >= range.bytes.size()) return {};
  return range.bytes.subspan(into);
}

Result<std::span<const std::uint8_t>> MemoryImage::bytes(std::uint64_t address, std::uint64_t size,
                                                         std::string_view what) const {
  const std::span<const std::uint8_t> found = bytes_from(address);
  if (size <= found.size()) return found.first(size);
  const std::uint64_t at = relative(address);
  if (found.empty()) {
    return refuse_address(at, what, " are at ", Hex{at}, ", which is not in the library's memory");
  }
  return refuse_address(at, what, " at ", Hex{at}, " have ", ByteCount(size), ", ",
                        ByteCount(found.size()), " left in the library's memory");
}

Result<std::string_view> MemoryImage::text(std::uint64_t address, std::string_view what) const {
  const std::uint64_t at = relative(address);
  std::span<const std::uint8_t> found = bytes_from(address);
  if (found.empty()) {
    return refuse_address(at, what, " is at ", Hex{at}, ", which is not in the library's memory");
  }
  found = found.first(std::min<std::uint64_t>(found.size(), max_text_bytes));
  const auto end = std::ranges::find(found, std::uint8_t{0});
  if (end == found.end()) {
    return refuse_address(at, what, " at ", Hex{at}, " has no end in ", ByteCount(found.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(found.data()),
                              static_cast<std::size_t>(end - found.begin()));
  if (!is_utf8(text)) return refuse_address(at, what, " at ", Hex{at}, " is not UTF-8");
  return text;
}

}  // namespace gantry
