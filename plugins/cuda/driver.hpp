// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver, opened at run time: its functions (driver.def) and what its numbers mean.
//
//     GANTRY_TRY(const std::unique_ptr<Driver> driver, Driver::open(""));
//     GANTRY_CHECK(driver->call(driver->mem_alloc, &address, size));   // "cuMemAlloc_v2: CUDA_ERROR_..."
#pragma once

#include "image.hpp"

#include <gantry/library.hpp>
#include <gantry/result.hpp>

#include <cuda.h>

#include <memory>
#include <string>
#include <string_view>

namespace gantry::cuda {

// One function of the driver, with the name that its errors carry.
template <class Signature>
struct Entry;
template <class... Parameters>
struct Entry<CUresult(Parameters...)> {
  CUresult (*function)(Parameters...) = nullptr;
  const char* name;
};

class Driver {
 public:
#define REQUIRED(field, symbol) Entry<decltype(::symbol)> field{nullptr, #symbol};
#define OPTIONAL(field, symbol) REQUIRED(field, symbol)
#include "driver.def"
#undef REQUIRED
#undef OPTIONAL

  // Opens the library, binds its functions and starts it.
  //
  // library  [in]   a path or soname; empty: libcuda.so.1 where the system has it, and two usual places
  // returns  UNAVAILABLE  no library (DRIVER_MISSING: names and reasons), functions missing (DRIVER_SYMBOL), or it does
  //                       not start (DRIVER_CALL)
  // costs    the first in a process up to seconds
  static Result<std::unique_ptr<Driver>> open(std::string_view library);

  // Devices it shows; 0 where it finds none.
  int device_count() const { return device_count_; }
  // 12040 is CUDA 12.4.
  int version() const { return version_; }
  // "12.4"
  std::string version_text() const;
  // The latest PTX language that it compiles; {0, 0} where that is not known here.
  Architecture latest_ptx() const;

  // Calls one function.
  //
  // returns  OK, or failed(); UNSUPPORTED where the driver lacks it
  template <class... Parameters, class... Arguments>
  Status call(const Entry<CUresult(Parameters...)>& entry, Arguments... arguments) const {
    if (entry.function == nullptr) return lacks(entry.name);
    const CUresult result = entry.function(arguments...);
    if (result == CUDA_SUCCESS) return {};
    return failed(entry.name, result);
  }

  // The error that a function's result stands for: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory", with
  // the number as native code.
  Error failed(const char* function, CUresult result) const;
  Error lacks(const char* function) const;

 private:
  Driver() = default;
  Status bind(const Library& library);

  int version_ = 0;
  int device_count_ = 0;
};

// Whose fault a result is.
Code code_of(CUresult result);

// Makes a context the thread's current one, and puts the earlier one back at the end: an application's own use of CUDA on
// the same thread is not disturbed.
class ContextScope {
 public:
  static Result<ContextScope> enter(const Driver& driver, CUcontext context) {
    GANTRY_CHECK(driver.call(driver.context_push, context));
    return ContextScope(driver);
  }
  ContextScope(ContextScope&& other) noexcept : driver_(std::exchange(other.driver_, nullptr)) {}
  ContextScope& operator=(ContextScope&&) = delete;
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (driver_ != nullptr) driver_->context_pop.function(&popped);
  }

 private:
  explicit ContextScope(const Driver& driver) : driver_(&driver) {}
  const Driver* driver_;
};

}  // namespace gantry::cuda
