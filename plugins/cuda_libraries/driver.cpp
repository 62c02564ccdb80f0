// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <gantry/cuda_driver.hpp>

namespace gantry::cuda_libraries {
namespace {

// CUresult of cuda.h.
constexpr int success = 0, out_of_memory = 2;
// After these the context, which is the process's, does no more work.
constexpr int lost_results[] = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719};

Code code_of(int result) {
  if (result == out_of_memory) return Code::exhausted;
  for (const int lost : lost_results) {
    if (result == lost) return Code::lost;
  }
  return Code::unavailable;
}

}  // namespace

Result<std::unique_ptr<const Driver>> Driver::open(const std::string& named) {
  GANTRY_TRY(const Library library, open_cuda_driver(named, "driver of the plugin"));
  auto driver = std::make_unique<Driver>();
  GANTRY_CHECK(library.bind({
      required("cuInit", driver->init),
      required("cuDeviceGetCount", driver->device_count),
      required("cuCtxPushCurrent_v2", driver->context_push),
      required("cuCtxPopCurrent_v2", driver->context_pop),
      required("cuCtxGetDevice", driver->context_device),
      required("cuDevicePrimaryCtxRetain", driver->primary_retain),
      required("cuDevicePrimaryCtxRelease_v2", driver->primary_release),
      required("cuStreamIsCapturing", driver->stream_is_capturing),
      required("cuGetErrorName", driver->error_name),
      required("cuModuleLoadDataEx", driver->module_load),
      required("cuModuleUnload", driver->module_unload),
      required("cuModuleGetFunction", driver->module_function),
      required("cuLaunchKernel", driver->launch_kernel),
  }));
  return std::unique_ptr<const Driver>(std::move(driver));
}

Status Driver::check_device() const {
  GANTRY_CHECK(check("cuInit", init(0)));
  int count = 0;
  GANTRY_CHECK(check("cuDeviceGetCount", device_count(&count)));
  if (count > 0) return {};
  return unavailable("the CUDA driver has no GPU").with_reason("DRIVER_CALL");
}

Status Driver::check(std::string_view function, int result) const {
  if (result == success) return {};
  const char* name = nullptr;
  if (error_name(result, &name) != success || name == nullptr) name = "error";
  return fail(code_of(result), function, ": ", name, " (", result, ')')
      .with_reason(result == out_of_memory ? "DEVICE_MEMORY" : "DRIVER_CALL")
      .native("CUDA", result);
}

Result<KeptContext> KeptContext::of_current(const Driver& driver) {
  int device = 0;
  void* context = nullptr;
  GANTRY_CHECK(driver.check("cuCtxGetDevice", driver.context_device(&device)));
  GANTRY_CHECK(driver.check("cuDevicePrimaryCtxRetain", driver.primary_retain(&context, device)));
  return KeptContext(driver, device, context);
}

}  // namespace gantry::cuda_libraries
