// SPDX-License-Identifier: Apache-2.0
//
// Converts float32 to float16 on a GPU: cuRAND has no float16.
#pragma once

#include "driver.hpp"

#include <cstdint>

namespace gantry::cuda_libraries {

class HalfConversion {
 public:
  // The kernel, in PTX that every driver since CUDA 11 compiles.
  static constexpr const char* kernel = "gantry_halves_of_floats";
  static const char* ptx();

  // Loads the kernel into the current context.
  static Result<HalfConversion> create(const Driver& driver);
  HalfConversion(HalfConversion&& other) noexcept
      : driver_(other.driver_),
        module_(std::exchange(other.module_, nullptr)),
        function_(other.function_) {}
  HalfConversion& operator=(HalfConversion&&) = delete;
  ~HalfConversion() {
    if (module_ != nullptr) driver_->module_unload(module_);
  }

  // from     [in]   count float32
  // to       [out]  count float16, rounded to nearest
  Status run(const void* from, void* to, std::uint64_t count, void* stream) const;

 private:
  HalfConversion(const Driver& driver, void* module) : driver_(&driver), module_(module) {}
  const Driver* driver_;
  void* module_;
  void* function_ = nullptr;
};

}  // namespace gantry::cuda_libraries
