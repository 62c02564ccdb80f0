// SPDX-License-Identifier: Apache-2.0
//
// The platforms and devices of the OpenCL drivers, enumerated by the first call; contexts and
// queues, created on first use.
//
//     platform 0 (PoCL)      one context ---- device opencl:0, its default queue
//                                        \--- device opencl:1, ...
//
// Devices of one platform share a context, so that buffers can be copied between them. Order: GPUs,
// accelerators, CPUs, others; within each kind, the order in which the platforms list them.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <gantry/device_loss.hpp>
#include <gantry/device_spans.hpp>
#include <gantry/notices.hpp>
#include <gantry/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::opencl {

// kDLOpenCL of DLPack.
constexpr std::int32_t device_type = 4;

// Owns one reference to an object of the driver.
template <class T, cl_int(CL_API_CALL* Release)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) Release(object_);
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};
using OwnedProgram = Owned<cl_program, clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, clReleaseKernel>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;
using OwnedBuffer = Owned<cl_mem, clReleaseMemObject>;

// Returns "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for a number without a name.
std::string error_name(cl_int error);

// Returns the error of a failed driver call, with the driver's number.
//
// what     [in]   "clCreateBuffer of 64 bytes on opencl:0"
// returns  EXHAUSTED    out of memory or resources (DRIVER_CALL)
//          UNAVAILABLE  other errors (DRIVER_CALL)
Error driver_error(cl_int error, std::string_view what);

// Returns a text property of a device; empty: the driver does not report it.
std::string device_text(cl_device_id device, cl_device_info what);

// Returns 210 for "OpenCL 2.1 PoCL ...", the number format of CL_TARGET_OPENCL_VERSION; 0 for text
// without the prefix that the OpenCL specification defines.
int version_in(std::string_view text);

struct Platform {
  cl_platform_id id = nullptr;
  std::string name, version;
  // From OpenCL 2.1 or the extension cl_khr_il_program; NULL: the driver has neither.
  clCreateProgramWithILKHR_fn create_from_il = nullptr;
  // Import descriptors, with cl_khr_external_memory; NULL: the driver does not have it.
  decltype(&clCreateBufferWithProperties) create_with_properties = nullptr;
  clEnqueueAcquireExternalMemObjectsKHR_fn acquire = nullptr;
  clEnqueueReleaseExternalMemObjectsKHR_fn release = nullptr;
  std::vector<cl_device_id> devices;
  std::mutex mutex;
  cl_context context = nullptr;
};

struct Device {
  Platform* platform = nullptr;
  cl_device_id id = nullptr;
  std::int32_t index = 0;
  std::string name, version, driver;
  // Limit of one allocation.
  std::uint64_t max_bytes = 0;
  // Required alignment of a sub-buffer's offset.
  std::uint64_t alignment_bytes = 1;
  // Limit of one work-group.
  std::size_t max_threads = 0;
  std::atomic<std::int64_t> allocated_bytes{0};
  DeviceLoss loss;
  Notices notices;
  std::mutex mutex;
  std::atomic<cl_command_queue> queue{nullptr};
  // Marked by their events, by stream of the ABI. Set when the device is found.
  std::unique_ptr<DeviceSpans<OwnedEvent>> spans;

  // Returns whether clCreateBufferWithProperties imports this kind of descriptor.
  bool imports(cl_external_memory_handle_type_khr kind) const;
  // Returns the SPIR-V versions that the device accepts: "SPIR-V_1.0 SPIR-V_1.2"; empty: none.
  std::string spirv() const;
  // "pthread-..., OpenCL 3.0 ..., driver 3.1", of which binaries depend.
  std::string identity() const { return concat(name, ", ", version, ", driver ", driver); }
  // "opencl:0 (pthread-...)"
  std::string described() const { return concat("opencl:", index, " (", name, ")"); }
};

class Driver {
 public:
  explicit Driver(Host host) : host_(host) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  // returns  UNAVAILABLE  no driver starts; the text names the searched directory
  //                       (DRIVER_MISSING)
  // costs    the first call starts the drivers: up to seconds
  Result<std::int32_t> count();
  // returns  INVALID  index is not below count()
  Result<Device*> device(std::int32_t index);
  Result<cl_context> context(Device& device);
  // stream   [in]   a queue of that device; NULL: its default queue
  Result<cl_command_queue> queue(Device& device, void* stream);
  // Creates an in-order queue with profiling; the caller owns it.
  Result<cl_command_queue> new_queue(Device& device);

 private:
  Status start();

  Host host_;
  std::mutex mutex_;
  std::atomic<bool> started_{false};
  std::vector<std::unique_ptr<Platform>> platforms_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace gantry::opencl
