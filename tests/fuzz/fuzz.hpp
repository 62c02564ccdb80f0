// SPDX-License-Identifier: Apache-2.0
//
// Shared by all fuzz targets: the form of an entry point, claims that abort, and choices from an
// input.
//
//     extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
//       const Budget budget(size);    // budget.hpp: limits memory and time of this input
//       const auto parsed = parse({data, size});
//       if (!parsed.ok()) return expect_refusal(parsed.error(), size);
//       expect(parsed->count() == ..., "every module has a row");
//       return 0;
//     }
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gantry::fuzz {

// Aborts with the claim if `holds` is false: a finding, not a refusal.
void expect(bool holds, std::string_view claim);

// Expects that the refusal of an input has the code of a bad file, version or argument, a text, and
// an offset inside the input, if any. Returns 0, the result of an entry point.
int expect_refusal(const Error& error, std::uint64_t size);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Reads choices from the start of an input; returns zeros after its end.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t n = sizeof value < bytes_.size() ? sizeof value : bytes_.size();
    if (n != 0) std::memcpy(&value, bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
    return value;
  }
  // 0 to limit - 1.
  std::size_t below(std::size_t limit) { return take<std::uint8_t>() % limit; }
  std::span<const std::uint8_t> take_bytes(std::size_t size) {
    const auto taken = bytes_.first(size < bytes_.size() ? size : bytes_.size());
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::span<const std::uint8_t> rest() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace gantry::fuzz
