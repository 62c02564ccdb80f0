// SPDX-License-Identifier: Apache-2.0
//
// A copy of a file in sealed memory, with a path that the system's loader has not seen, so that the
// opened copy has its own variables.
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
  //          unavailable  the kernel does not permit such files
  static Result<PrivateCopy> make(std::string_view name, std::span<const std::uint8_t> bytes);

  ~PrivateCopy();
  PrivateCopy(PrivateCopy&& other) noexcept;
  PrivateCopy& operator=(PrivateCopy&& other) noexcept;

  explicit operator bool() const { return descriptor_ >= 0; }
  // "/proc/self/fd/7"; valid as long as this object. The loader identifies libraries by their path,
  // so this object must outlive the opened library.
  std::string path() const;

 private:
  explicit PrivateCopy(int descriptor) : descriptor_(descriptor) {}
  // Changes the descriptor number if a library that was never unloaded still has the path of the
  // current one.
  Status avoid_known_paths();

  int descriptor_ = -1;
};

}  // namespace gantry
