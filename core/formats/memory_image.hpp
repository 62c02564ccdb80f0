// SPDX-License-Identifier: Apache-2.0
//
// The memory of a compiled library, as ranges of addresses that can be read.
//
//     mapped library   absolute addresses, base = where the library is mapped
//     file             relative addresses, base = 0; relocated as the linker would
//
// Offsets and addresses in errors are relative to the base.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

struct MemoryRange {
  std::uint64_t address = 0;
  // Borrowed.
  std::span<const std::uint8_t> bytes;
};

class MemoryImage {
 public:
  // ranges   [in]   do not overlap; in any order
  explicit MemoryImage(std::vector<MemoryRange> ranges, std::uint64_t base = 0);

  // Returns the bytes from an address to the end of its range; empty if it is in none.
  //
  // costs    O(log ranges)
  std::span<const std::uint8_t> bytes_from(std::uint64_t address) const;
  // Returns `size` bytes.
  //
  // what     [in]   for errors: "input tensors"
  // returns  malformed  they are not inside one range
  Result<std::span<const std::uint8_t>> bytes(std::uint64_t address, std::uint64_t size,
                                              std::string_view what) const;
  // Returns the text up to its NUL.
  //
  // returns  malformed  the address is in no range; no NUL among the next max_text_bytes; the text is
  //                     not UTF-8
  Result<std::string_view> text(std::uint64_t address, std::string_view what) const;

  std::uint64_t relative(std::uint64_t address) const { return address - base_; }

  static constexpr std::uint64_t max_text_bytes = 4096;

 private:
  // sorted
  std::vector<MemoryRange> ranges_;
  std::uint64_t base_;
};

}  // namespace gantry
