// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"
#include "missing.hpp"

#include <gantry/device.hpp>
#include <gantry/message.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>

#include <algorithm>

namespace gantry::opencl {
namespace {

// CL_PLATFORM_NOT_FOUND_KHR, which the ICD loader returns.
constexpr cl_int no_platform = -1001;
// CL_CONTEXT_TERMINATED_KHR of cl_khr_terminate_context
constexpr cl_int context_terminated = -1121;

template <class T>
T device_number(cl_device_id device, cl_device_info what, T otherwise) {
  T number{};
  return clGetDeviceInfo(device, what, sizeof number, &number, nullptr) == CL_SUCCESS ? number
                                                                                      : otherwise;
}

// get      [in]   clGetPlatformInfo or clGetDeviceInfo
template <class Get, class Id>
std::string text_of(Get&& get, Id id, cl_uint what) {
  std::size_t size = 0;
  if (get(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, 0);
  if (get(id, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return Message(text.c_str()).text();
}

int rank_of(cl_device_id device) {
  const auto type = device_number<cl_device_type>(device, CL_DEVICE_TYPE, 0);
  if (type & CL_DEVICE_TYPE_GPU) return 0;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return 1;
  return type & CL_DEVICE_TYPE_CPU ? 2 : 3;
}

// Returns the driver's function for SPIR-V; NULL: there is none. The ICD loader calls functions
// through the driver's table without a check of its length, and the table of a driver older than
// OpenCL 2.1 ends before clCreateProgramWithIL.
clCreateProgramWithILKHR_fn create_from_il(const Platform& platform) {
  const int version = version_in(platform.version);
  if (version >= 210) return clCreateProgramWithIL;
  // The table ends before clGetExtensionFunctionAddressForPlatform.
  if (version < 120) return nullptr;
  return reinterpret_cast<clCreateProgramWithILKHR_fn>(
      clGetExtensionFunctionAddressForPlatform(platform.id, "clCreateProgramWithILKHR"));
}

// Finds the functions for external memory. clCreateBufferWithProperties is in the tables of drivers
// from OpenCL 3.0. It is looked up, so that the plugin loads with an older ICD loader.
void find_external_functions(Platform& platform) {
  platform.create_with_properties = reinterpret_cast<decltype(&clCreateBufferWithProperties)>(
      dlsym(RTLD_DEFAULT, "clCreateBufferWithProperties"));
  if (platform.create_with_properties == nullptr || version_in(platform.version) < 300) return;
  platform.acquire = reinterpret_cast<clEnqueueAcquireExternalMemObjectsKHR_fn>(
      clGetExtensionFunctionAddressForPlatform(platform.id,
                                               "clEnqueueAcquireExternalMemObjectsKHR"));
  platform.release = reinterpret_cast<clEnqueueReleaseExternalMemObjectsKHR_fn>(
      clGetExtensionFunctionAddressForPlatform(platform.id,
                                               "clEnqueueReleaseExternalMemObjectsKHR"));
}

void describe(Device& device) {
  device.name = device_text(device.id, CL_DEVICE_NAME);
  device.version = device_text(device.id, CL_DEVICE_VERSION);
  device.driver = device_text(device.id, CL_DRIVER_VERSION);
  device.max_bytes = device_number<cl_ulong>(device.id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0);
  device.alignment_bytes =
      std::max(device_number<cl_uint>(device.id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8) / 8, 1u);
  device.max_threads = device_number<std::size_t>(device.id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1);
}

}  // namespace

std::string error_name(cl_int error) {
  static constexpr std::pair<cl_int, std::string_view> names[] = {
      {-1, "CL_DEVICE_NOT_FOUND"},
      {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {-5, "CL_OUT_OF_RESOURCES"},
      {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
      {-8, "CL_MEM_COPY_OVERLAP"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {-30, "CL_INVALID_VALUE"},
      {-32, "CL_INVALID_PLATFORM"},
      {-33, "CL_INVALID_DEVICE"},
      {-34, "CL_INVALID_CONTEXT"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},
      {-38, "CL_INVALID_MEM_OBJECT"},
      {-42, "CL_INVALID_BINARY"},
      {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-44, "CL_INVALID_PROGRAM"},
      {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
      {-46, "CL_INVALID_KERNEL_NAME"},
      {-47, "CL_INVALID_KERNEL_DEFINITION"},
      {-48, "CL_INVALID_KERNEL"},
      {-49, "CL_INVALID_ARG_INDEX"},
      {-50, "CL_INVALID_ARG_VALUE"},
      {-51, "CL_INVALID_ARG_SIZE"},
      {-52, "CL_INVALID_KERNEL_ARGS"},
      {-53, "CL_INVALID_WORK_DIMENSION"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-55, "CL_INVALID_WORK_ITEM_SIZE"},
      {-57, "CL_INVALID_EVENT_WAIT_LIST"},
      {-58, "CL_INVALID_EVENT"},
      {-59, "CL_INVALID_OPERATION"},
      {-61, "CL_INVALID_BUFFER_SIZE"},
      {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
      {-64, "CL_INVALID_PROPERTY"},
      {no_platform, "CL_PLATFORM_NOT_FOUND_KHR"},
      {context_terminated, "CL_CONTEXT_TERMINATED_KHR"},
  };
  for (const auto& [known, name] : names) {
    if (known == error) return std::string(name);
  }
  return concat("OpenCL error ", error);
}

Error driver_error(cl_int error, std::string_view what) {
  // A new runtime creates another context.
  if (error == CL_DEVICE_NOT_AVAILABLE || error == context_terminated) {
    return lost(what, " fails: ", error_name(error),
                ", the device does not respond or was reset; a new runtime may use it again")
        .with_reason("DRIVER_CALL")
        .native("OPENCL", error);
  }
  const bool memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
                      error == CL_OUT_OF_HOST_MEMORY;
  return fail(memory ? Code::exhausted : Code::unavailable, what, " fails: ", error_name(error))
      .with_reason("DRIVER_CALL")
      .native("OPENCL", error);
}

std::string device_text(cl_device_id device, cl_device_info what) {
  return text_of(clGetDeviceInfo, device, what);
}

int version_in(std::string_view text) {
  constexpr std::string_view begin = "OpenCL ";
  const auto is_digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (!text.starts_with(begin) || text.size() < begin.size() + 3) return 0;
  if (!is_digit(7) || text[8] != '.' || !is_digit(9)) return 0;
  return 100 * (text[7] - '0') + 10 * (text[9] - '0');
}

// A driver may have the functions for another kind, and refuses the query without the extension.
bool Device::imports(cl_external_memory_handle_type_khr kind) const {
  if (platform->acquire == nullptr || platform->release == nullptr) return false;
  constexpr cl_device_info what = CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR;
  std::size_t size = 0;
  if (clGetDeviceInfo(id, what, 0, nullptr, &size) != CL_SUCCESS) return false;
  std::vector<cl_external_memory_handle_type_khr> kinds(size / sizeof kind);
  if (clGetDeviceInfo(id, what, size, kinds.data(), nullptr) != CL_SUCCESS) return false;
  return std::ranges::find(kinds, kind) != kinds.end();
}

std::string Device::spirv() const {
  if (platform->create_from_il == nullptr) return {};
  const std::string languages = device_text(id, CL_DEVICE_IL_VERSION);
  return languages.find("SPIR-V_") == std::string::npos ? std::string() : languages;
}

Driver::~Driver() {
  for (const auto& device : devices_) {
    if (const cl_command_queue queue = device->queue) {
      clFinish(queue);
      clReleaseCommandQueue(queue);
    }
  }
  for (const auto& platform : platforms_) {
    if (platform->context != nullptr) clReleaseContext(platform->context);
  }
}

Status Driver::start() {
  if (started_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return {};
  cl_uint platform_count = 0;
  const cl_int error = clGetPlatformIDs(0, nullptr, &platform_count);
  if (error == no_platform || (error == CL_SUCCESS && platform_count == 0)) return no_driver();
  if (error != CL_SUCCESS) return driver_error(error, "clGetPlatformIDs");
  std::vector<cl_platform_id> ids(platform_count);
  if (const cl_int failed = clGetPlatformIDs(platform_count, ids.data(), nullptr); failed != 0)
    return driver_error(failed, "clGetPlatformIDs");

  std::vector<std::unique_ptr<Platform>> platforms;
  std::vector<std::pair<cl_device_id, Platform*>> found;
  std::vector<EmptyPlatform> empty;
  for (const cl_platform_id id : ids) {
    auto platform = std::make_unique<Platform>();
    platform->id = id;
    platform->name = text_of(clGetPlatformInfo, id, CL_PLATFORM_NAME);
    cl_uint count = 0;
    cl_int failed = clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    platform->devices.resize(failed == CL_SUCCESS ? count : 0);
    if (!platform->devices.empty())
      failed = clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, count, platform->devices.data(), nullptr);
    if (failed != CL_SUCCESS || count == 0) {
      // Its hardware is absent.
      empty.push_back({platform->name, failed != CL_SUCCESS ? error_name(failed) : "0 devices"});
      continue;
    }
    platform->version = text_of(clGetPlatformInfo, id, CL_PLATFORM_VERSION);
    platform->create_from_il = create_from_il(*platform);
    find_external_functions(*platform);
    for (const cl_device_id device : platform->devices) found.emplace_back(device, platform.get());
    platforms.push_back(std::move(platform));
  }
  if (found.empty()) return no_device(empty);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return rank_of(a.first) < rank_of(b.first);
  });

  std::vector<std::unique_ptr<Device>> devices;
  for (const auto& [id, platform] : found) {
    auto device = std::make_unique<Device>();
    device->platform = platform;
    device->id = id;
    device->index = static_cast<std::int32_t>(devices.size());
    describe(*device);
    device->spans =
        std::make_unique<DeviceSpans<OwnedEvent>>(host_, concat("opencl:", device->index));
    devices.push_back(std::move(device));
  }
  platforms_ = std::move(platforms);
  devices_ = std::move(devices);
  started_.store(true, std::memory_order_release);
  return {};
}

Result<std::int32_t> Driver::count() {
  GANTRY_CHECK(start());
  return static_cast<std::int32_t>(devices_.size());
}

Result<Device*> Driver::device(std::int32_t index) {
  GANTRY_CHECK(start());
  const auto count = static_cast<std::int32_t>(devices_.size());
  if (index < 0 || index >= count) return no_such_device("opencl", index, count);
  return devices_[static_cast<std::size_t>(index)].get();
}

Result<cl_context> Driver::context(Device& device) {
  Platform& platform = *device.platform;
  const std::lock_guard lock(platform.mutex);
  if (platform.context == nullptr) {
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform.id), 0};
    cl_int error = CL_SUCCESS;
    const cl_context made =
        clCreateContext(properties, static_cast<cl_uint>(platform.devices.size()),
                        platform.devices.data(), nullptr, nullptr, &error);
    const std::string what = concat("clCreateContext of platform ", quoted(platform.name));
    // Not lost: another process may occupy it.
    if (error == CL_DEVICE_NOT_AVAILABLE)
      return unavailable(what, " fails: ", error_name(error))
          .with_reason("DRIVER_CALL")
          .native("OPENCL", error);
    if (error != CL_SUCCESS) return driver_error(error, what);
    platform.context = made;
  }
  return platform.context;
}

Result<cl_command_queue> Driver::new_queue(Device& device) {
  GANTRY_TRY(const cl_context context, this->context(device));
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue =
      clCreateCommandQueue(context, device.id, CL_QUEUE_PROFILING_ENABLE, &error);
  if (error != CL_SUCCESS)
    return driver_error(error, concat("clCreateCommandQueue on ", device.described()));
  return queue;
}

Result<cl_command_queue> Driver::queue(Device& device, void* stream) {
  if (stream != nullptr) return static_cast<cl_command_queue>(stream);
  if (const cl_command_queue made = device.queue.load(std::memory_order_acquire)) return made;
  const std::lock_guard lock(device.mutex);
  if (const cl_command_queue made = device.queue.load(std::memory_order_relaxed)) return made;
  GANTRY_TRY(const cl_command_queue queue, new_queue(device));
  device.queue.store(queue, std::memory_order_release);
  return queue;
}

}  // namespace gantry::opencl
