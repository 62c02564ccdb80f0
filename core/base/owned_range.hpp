// SPDX-License-Identifier: Apache-2.0
//
// To which file, plugin or artifact an address belongs: for handlers of signals and of exit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

// Longer ones are cut where they are found.
constexpr std::size_t max_range_title = 256;

enum class RangeKind : std::uint8_t {
  // a mapped file, whose pages can be lost
  file,
  // the library of a plugin or of an artifact
  plugin,
  artifact,
};

// Addresses that belong to a file or a library in the scope of the object. The list is
// process-wide, as signals are.
class OwnedRange {
 public:
  // title    [in]   "acme.npu 1.0.0", "model.so"; valid as long as the object
  // thread   any
  // costs    no allocation
  OwnedRange(RangeKind kind, std::span<const std::byte> addresses, std::string_view title) noexcept;
  ~OwnedRange();
  OwnedRange(const OwnedRange&) = delete;
  OwnedRange& operator=(const OwnedRange&) = delete;

 private:
  friend struct FoundRange;
  const RangeKind kind_;
  const std::span<const std::byte> addresses_;
  const std::string_view title_;
  OwnedRange* before_ = nullptr;
  OwnedRange* after_ = nullptr;
};

// A copy of the range that contains an address.
struct FoundRange {
  RangeKind kind = RangeKind::file;
  std::uintptr_t first = 0;
  char title[max_range_title] = {};

  // Finds the newest range. Async-signal-safe.
  //
  // returns  false: there is none, or another thread has changed the list for 100 ms
  bool find(std::uintptr_t address) noexcept;
};

// Returns the addresses of the library that contains one; empty if there is none.
std::span<const std::byte> library_at(const void* address) noexcept;

}  // namespace gantry
