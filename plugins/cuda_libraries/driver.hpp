// SPDX-License-Identifier: Apache-2.0
//
// What this plugin uses of NVIDIA's driver, declared here so that no header of NVIDIA's is needed. Devices,
// streams and memory are those of the device's plugin.
#pragma once

#include <gantry/library.hpp>
#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <utility>

namespace gantry::cuda_libraries {

class Driver {
 public:
  // returns  UNAVAILABLE  no driver (DRIVER_MISSING); functions are missing (DRIVER_SYMBOL)
  static Result<std::unique_ptr<const Driver>> open(const std::string& library);

  // returns  UNAVAILABLE  the driver does not start, or has no GPU (DRIVER_CALL)
  Status check_device() const;
  // returns  the error of a failed function: "cuLaunchKernel: CUDA_ERROR_UNKNOWN (999)"
  Status check(std::string_view function, int result) const;

  // CUresult, CUcontext, CUdevice, CUstream, CUmodule and CUfunction of cuda.h.
  int (*init)(unsigned flags) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*context_push)(void* context) = nullptr;
  int (*context_pop)(void** context) = nullptr;
  int (*context_device)(int* device) = nullptr;
  int (*primary_retain)(void** context, int device) = nullptr;
  int (*primary_release)(int device) = nullptr;
  int (*stream_is_capturing)(void* stream, int* status) = nullptr;
  int (*error_name)(int result, const char** name) = nullptr;
  int (*module_load)(void** module, const void* image, unsigned count, int* options,
                     void** values) = nullptr;
  int (*module_unload)(void* module) = nullptr;
  int (*module_function)(void** function, void* module, const char* name) = nullptr;
  int (*launch_kernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       void* stream, void** parameters, void** extra) = nullptr;
};

// Makes a context current for the thread, and restores the previous one at the end of the scope.
class CurrentContext {
 public:
  static Result<CurrentContext> enter(const Driver& driver, void* context) {
    GANTRY_CHECK(driver.check("cuCtxPushCurrent_v2", driver.context_push(context)));
    return CurrentContext(driver);
  }
  CurrentContext(CurrentContext&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)) {}
  CurrentContext& operator=(CurrentContext&&) = delete;
  ~CurrentContext() {
    void* popped = nullptr;
    if (driver_ != nullptr) driver_->context_pop(&popped);
  }

 private:
  explicit CurrentContext(const Driver& driver) : driver_(&driver) {}
  const Driver* driver_;
};

// Keeps the current primary context alive: handles of libraries may be released after the device's plugin
// has released its own reference.
class KeptContext {
 public:
  static Result<KeptContext> of_current(const Driver& driver);
  KeptContext(KeptContext&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        device_(other.device_),
        context_(other.context_) {}
  KeptContext& operator=(KeptContext&&) = delete;
  ~KeptContext() {
    if (driver_ != nullptr) driver_->primary_release(device_);
  }

  Result<CurrentContext> enter() const { return CurrentContext::enter(*driver_, context_); }

 private:
  KeptContext(const Driver& driver, int device, void* context)
      : driver_(&driver), device_(device), context_(context) {}
  const Driver* driver_;
  int device_;
  void* context_;
};

}  // namespace gantry::cuda_libraries
