// SPDX-License-Identifier: Apache-2.0
//
// Properties of a device, as the driver reports them.
#include "device.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace gantry::opencl {
namespace {

template <class T>
std::optional<std::int64_t> number(const Device& device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device.id, what, sizeof value, &value, nullptr) != CL_SUCCESS)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Returns "3.0" for "OpenCL 3.0 PoCL ..."; the OpenCL specification defines the prefix.
std::string version_number(const Device& device) {
  const std::string_view version(device.version);
  const std::size_t begin = version.find(' ');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(version.find(' ', begin + 1), version.size());
  return std::string(version.substr(begin + 1, end - begin - 1));
}

// Threads that run in lockstep. OpenCL defines it per kernel, vendor extensions define it per
// device; 1 without such an extension, which is the value that compilers assume.
std::int64_t warp_size(const Device& device) {
  const std::string extensions = device_text(device.id, CL_DEVICE_EXTENSIONS);
  std::optional<std::int64_t> size;
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    size = number<cl_uint>(device, CL_DEVICE_WARP_SIZE_NV);
  } else if (extensions.find("cl_amd_device_attribute_query") != std::string::npos) {
    size = number<cl_uint>(device, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  }
  return size.value_or(1);
}

std::string thread_dimensions(const Device& device) {
  std::array<std::size_t, 3> max{1, 1, 1};
  cl_uint count = 0;
  clGetDeviceInfo(device.id, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, sizeof count, &count, nullptr);
  std::vector<std::size_t> sizes(count);
  if (clGetDeviceInfo(device.id, CL_DEVICE_MAX_WORK_ITEM_SIZES, count * sizeof(std::size_t),
                      sizes.data(), nullptr) == CL_SUCCESS) {
    for (std::size_t i = 0; i < max.size() && i < sizes.size(); ++i) max[i] = sizes[i];
  }
  return concat('[', max[0], ", ", max[1], ", ", max[2], ']');
}

// None if the driver does not report the text.
Attribute text(std::string value) {
  return value.empty() ? Attribute() : Attribute(std::move(value));
}

}  // namespace

Attribute DeviceFunctions::attribute(std::int32_t kind) const {
  switch (kind) {
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return device.max_threads;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return warp_size(device);
    case GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
    case GANTRY_ATTRIBUTE_MAX_CLOCK_RATE: {
      const auto mhz = number<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
      return mhz ? Attribute(*mhz * 1000) : Attribute();
    }
    case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
    case GANTRY_ATTRIBUTE_API_VERSION: {
      const int version = version_in(device.version);
      return version != 0 ? Attribute(version) : Attribute();
    }
    case GANTRY_ATTRIBUTE_L2_CACHE_SIZE:
      return number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    case GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT: {
      const auto pixels = number<cl_uint>(device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
      // 0: the device cannot create images from buffers.
      return pixels && *pixels > 0 ? Attribute(*pixels) : Attribute();
    }
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      return device.allocated_bytes.load();
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      return text(version_number(device));
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return text(device.name);
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      return thread_dimensions(device);
    case GANTRY_ATTRIBUTE_DRIVER_VERSION:
      return text(device.driver);
    default:
      return {};
  }
}

}  // namespace gantry::opencl
