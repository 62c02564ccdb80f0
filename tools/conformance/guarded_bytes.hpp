// SPDX-License-Identifier: Apache-2.0
//
// A copy of bytes that ends at an unmapped page, so that a read beyond the end faults.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry::kit {

class GuardedBytes {
 public:
  enum class Access { read_only, writable };
  // before_the_end  [in]  bytes between the copy and the unmapped page
  explicit GuardedBytes(std::span<const std::uint8_t> bytes, std::size_t before_the_end = 0,
                        Access access = Access::read_only);
  // Unmaps the bytes.
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::span<const std::uint8_t> bytes() const { return {at_, size_}; }
  // Precondition: writable.
  std::uint8_t* data() const { return at_; }
  // Every later access faults; the addresses are used by nothing else.
  void revoke();

 private:
  std::uint8_t* base_;
  std::uint8_t* at_;
  std::size_t mapped_, size_;
};

}  // namespace gantry::kit
