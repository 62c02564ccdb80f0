// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <gantry/cuda_driver.hpp>

namespace gantry::cuda {

Status Driver::bind(const Library& library) {
  return library.bind({
#define REQUIRED(field, symbol) required(field.name, field.function),
#define OPTIONAL(field, symbol) optional(field.name, field.function),
#include "driver.def"
#undef REQUIRED
#undef OPTIONAL
  });
}

Result<std::unique_ptr<Driver>> Driver::open(std::string_view named) {
  GANTRY_TRY(const Library library, open_cuda_driver(std::string(named), "library of gantry.cuda"));
  std::unique_ptr<Driver> driver(new Driver);
  GANTRY_CHECK(driver->bind(library));
  const CUresult started = driver->init.function(0);
  // No GPU, or CUDA_VISIBLE_DEVICES hides all.
  if (started == CUDA_ERROR_NO_DEVICE) return driver;
  if (started != CUDA_SUCCESS) {
    return driver->failed(driver->init.name, started).at("while starting ", library.name());
  }
  GANTRY_CHECK(driver->call(driver->driver_get_version, &driver->version_));
  GANTRY_CHECK(driver->call(driver->device_get_count, &driver->device_count_));
  return driver;
}

std::string Driver::version_text() const {
  return concat(version_ / 1000, '.', version_ % 1000 / 10);
}

Architecture Driver::latest_ptx() const {
  const auto major = static_cast<std::uint32_t>(version_ / 1000);
  const auto minor = static_cast<std::uint32_t>(version_ % 1000 / 10);
  // From the release notes of the PTX ISA: each CUDA release adds a PTX version, except 12.6.
  if (major == 11 && minor <= 8) return {7, minor};
  if (major == 12 && minor <= 5) return {8, minor};
  if (major == 12 && minor <= 9) return {8, minor - 1};
  if (major == 13 && minor <= 1) return {9, minor};
  return {};
}

Error Driver::failed(const char* function, CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name.function(result, &name) != CUDA_SUCCESS || name == nullptr) name = "error";
  if (get_error_string.function(result, &text) != CUDA_SUCCESS || text == nullptr) {
    text = "unknown to the driver";
  }
  Error error =
      fail(code_of(result), function, ": ", name, " (", static_cast<int>(result), "), ", text)
          .with_reason(result == CUDA_ERROR_OUT_OF_MEMORY ? "DEVICE_MEMORY" : "DRIVER_CALL")
          .native("CUDA", result);
  if (error.code == Code::lost && result != CUDA_ERROR_ECC_UNCORRECTABLE)
    error.at("a kernel that ran before has failed; only a new process can use the device again");
  if (result == CUDA_ERROR_ECC_UNCORRECTABLE)
    error.at("memory of the device is damaged; only a new process can use it again");
  return error;
}

Error Driver::lacks(const char* function) const {
  return unsupported("the CUDA driver (", version_text(), ") has no ", function,
                     "; a newer driver has")
      .with_reason("DRIVER_SYMBOL");
}

Code code_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_TOO_MANY_PEERS:
      return Code::exhausted;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_CAPTURED_EVENT:
      return Code::invalid;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
      return Code::unsupported;
    // The driver returns these from all later calls for the context, which is the process's.
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return Code::lost;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
      return Code::malformed;
    default:
      return Code::unavailable;
  }
}

}  // namespace gantry::cuda
