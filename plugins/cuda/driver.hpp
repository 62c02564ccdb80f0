// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver, opened at run time: its functions (driver.def) and the meaning of its results.
//
//     GANTRY_TRY(const std::unique_ptr<Driver> driver, Driver::open(""));
//     GANTRY_CHECK(driver->call(driver->mem_alloc, &address, size));
#pragma once

#include "image.hpp"

#include <gantry/library.hpp>
#include <gantry/result.hpp>

#include <cuda.h>

#include <memory>
#include <string>
#include <string_view>

namespace gantry::cuda {

// A function of the driver and its name, which error texts contain.
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

  // Opens the library, looks up its functions and initializes the driver.
  //
  // library  [in]   a path or soname; empty: libcuda.so.1, searched as driver.cpp describes
  // returns  UNAVAILABLE  no library, the text lists names and reasons (DRIVER_MISSING);
  //                       functions are missing (DRIVER_SYMBOL); the initialization fails
  //                       (DRIVER_CALL)
  // costs    the first call in a process up to seconds
  static Result<std::unique_ptr<Driver>> open(std::string_view library);

  // Number of visible devices; may be 0.
  int device_count() const { return device_count_; }
  // 12040 is CUDA 12.4.
  int version() const { return version_; }
  // "12.4"
  std::string version_text() const;
  // The latest PTX version that the driver compiles; {0, 0}: unknown.
  Architecture latest_ptx() const;

  // Calls one function.
  //
  // returns  UNSUPPORTED  the driver lacks the function (DRIVER_SYMBOL)
  //          others       see failed()
  template <class... Parameters, class... Arguments>
  Status call(const Entry<CUresult(Parameters...)>& entry, Arguments... arguments) const {
    if (entry.function == nullptr) return lacks(entry.name);
    const CUresult result = entry.function(arguments...);
    if (result == CUDA_SUCCESS) return {};
    return failed(entry.name, result);
  }

  // Returns the error of a failed function: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), out of
  // memory", with the number as native code.
  Error failed(const char* function, CUresult result) const;
  Error lacks(const char* function) const;

 private:
  Driver() = default;
  Status bind(const Library& library);

  int version_ = 0;
  int device_count_ = 0;
};

// Returns the code of a driver result.
Code code_of(CUresult result);

// Makes a context current for the thread and restores the previous one at the end of the scope, so
// that an application's own use of CUDA on the same thread is not affected.
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
