// SPDX-License-Identifier: Apache-2.0
//
// A copy of a file in sealed memory, under a name that the system's loader has not seen: opened by
// it, the copy has variables of its own.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

class PrivateCopy {
 public:
  PrivateCopy() = default;
  // name     [in]   shown in /proc/<pid>/maps
  // returns  exhausted    no memory or descriptor
  //          unavailable  this kernel allows no such files
  static Result<PrivateCopy> make(std::string_view name, std::span<const std::uint8_t> bytes);

  ~PrivateCopy();
  PrivateCopy(PrivateCopy&& other) noexcept;
  PrivateCopy& operator=(PrivateCopy&& other) noexcept;

  explicit operator bool() const { return descriptor_ >= 0; }
  // "/proc/self/fd/7": good while this lives; the loader knows libraries by their path, so it must
  // live as long as the library is open.
  std::string path() const;

 private:
  explicit PrivateCopy(int descriptor) : descriptor_(descriptor) {}
  // Moves to another descriptor number where a library that was never unloaded still has this one's
  // path.
  Status avoid_known_paths();

  int descriptor_ = -1;
};

}  // namespace gantry
