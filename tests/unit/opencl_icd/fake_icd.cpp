// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/opencl_icd/fake_icd.hpp"

#include <CL/cl_icd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>

using gantry::opencl::test::FakeDriver;
using gantry::opencl::test::FakeIcd;

// Every object begins with a pointer to its driver's table, where the ICD loader finds the
// functions.
struct _cl_platform_id {
  const cl_icd_dispatch* table;
  FakeDriver* driver;
  cl_device_id device;
};
struct _cl_device_id {
  const cl_icd_dispatch* table;
  cl_platform_id platform;
  cl_device_type type;
};
struct _cl_context {
  const cl_icd_dispatch* table;
  FakeDriver* driver;
};

namespace {

FakeIcd icd;

// Commands run when a call waits for them, and not before they are flushed.
struct Queue {
  std::deque<std::function<void()>> waiting;
  std::uint64_t issued = 0;
  std::uint64_t flushed = 0;
  std::uint64_t done = 0;

  std::uint64_t add(std::function<void()> command) {
    waiting.push_back(std::move(command));
    ++icd.pending;
    return ++issued;
  }
  void run_until(std::uint64_t ticket) {
    while (done < std::min(ticket, flushed)) {
      const std::function<void()> command = std::move(waiting.front());
      waiting.pop_front();
      ++done;
      --icd.pending;
      command();
    }
  }
  void finish() {
    flushed = issued;
    run_until(issued);
  }
  ~Queue() { icd.pending -= static_cast<int>(waiting.size()); }
};

// Of a buffer: its own, a part of another's, or mapped from a descriptor.
struct Bytes {
  std::shared_ptr<void> owner;
  std::uint8_t* first;
  std::size_t count;

  std::uint8_t* data() const { return first; }
};

}  // namespace

struct _cl_command_queue {
  const cl_icd_dispatch* table;
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
};
struct _cl_mem {
  const cl_icd_dispatch* table;
  std::shared_ptr<Bytes> bytes;
  int references = 1;
};
struct _cl_program {
  const cl_icd_dispatch* table;
  cl_device_id device;
  // True after a kernel's first launch: only then there is a binary.
  std::shared_ptr<bool> has_run = std::make_shared<bool>(false);
  int references = 1;
};
struct _cl_kernel {
  const cl_icd_dispatch* table;
  std::shared_ptr<bool> has_run;
  cl_mem buffer = nullptr;
  cl_float value = 0;
};
struct _cl_event {
  const cl_icd_dispatch* table;
  std::shared_ptr<Queue> queue;
  std::uint64_t ticket = 0;
  int references = 1;
};

namespace {

template <class T>
cl_int answer(const T& value, size_t size, void* out, size_t* out_size) {
  if (out_size != nullptr) *out_size = sizeof value;
  if (out != nullptr && size >= sizeof value) std::memcpy(out, &value, sizeof value);
  return CL_SUCCESS;
}
cl_int answer_text(std::string_view text, size_t size, void* out, size_t* out_size) {
  if (out_size != nullptr) *out_size = text.size() + 1;
  if (out == nullptr) return CL_SUCCESS;
  if (size < text.size() + 1) return CL_INVALID_VALUE;
  std::memcpy(out, text.data(), text.size());
  static_cast<char*>(out)[text.size()] = 0;
  return CL_SUCCESS;
}

template <class Object>
cl_int CL_API_CALL release(Object* object) {
  delete object;
  return CL_SUCCESS;
}

cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what, size_t size,
                                 void* out, size_t* out_size) {
  switch (what) {
    case CL_PLATFORM_NAME:
      return answer_text(platform->driver->name, size, out, out_size);
    case CL_PLATFORM_VERSION:
      return answer_text(platform->driver->version, size, out, out_size);
    case CL_PLATFORM_PROFILE:
      return answer_text("FULL_PROFILE", size, out, out_size);
    case CL_PLATFORM_VENDOR:
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return answer_text("GANTRY", size, out, out_size);
    case CL_PLATFORM_EXTENSIONS:
      return answer_text("cl_khr_icd", size, out, out_size);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type types, cl_uint size,
                              cl_device_id* out, cl_uint* count) {
  if ((platform->device->type & types) == 0) return CL_DEVICE_NOT_FOUND;
  if (count != nullptr) *count = 1;
  if (out != nullptr && size != 0) *out = platform->device;
  return CL_SUCCESS;
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void* out,
                               size_t* out_size) {
  const FakeDriver& driver = *device->platform->driver;
  switch (what) {
    case CL_DEVICE_TYPE:
      return answer(driver.type != 0 ? driver.type : device->type, size, out, out_size);
    case CL_DEVICE_NAME:
      return answer_text(driver.device_name, size, out, out_size);
    case CL_DEVICE_VERSION:
      return answer_text(driver.device_version, size, out, out_size);
    case CL_DRIVER_VERSION:
      return answer_text(driver.driver_version, size, out, out_size);
    case CL_DEVICE_PLATFORM:
      return answer(device->platform, size, out, out_size);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return answer(driver.max_bytes, size, out, out_size);
    case CL_DEVICE_EXTENSIONS:
      return answer_text(driver.extensions, size, out, out_size);
    case CL_DEVICE_WARP_SIZE_NV:
      return answer(cl_uint{32}, size, out, out_size);
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD:
      return answer(cl_uint{64}, size, out, out_size);
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
      return answer(driver.pitch_alignment, size, out, out_size);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      return answer(cl_uint{1024}, size, out, out_size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return answer(size_t{256}, size, out, out_size);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
      return answer(driver.clock_mhz, size, out, out_size);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return answer(cl_uint{12}, size, out, out_size);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return answer(cl_ulong{48 << 10}, size, out, out_size);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
      return answer(cl_ulong{3 << 20}, size, out, out_size);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return answer(driver.memory_bytes, size, out, out_size);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return answer(cl_uint{3}, size, out, out_size);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      return answer(std::array<size_t, 3>{256, 128, 64}, size, out, out_size);
    case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
      if (driver.import_kinds.empty()) return CL_INVALID_VALUE;
      if (out_size != nullptr) *out_size = 4 * driver.import_kinds.size();
      if (out != nullptr) std::memcpy(out, driver.import_kinds.data(), size);
      return CL_SUCCESS;
    case CL_DEVICE_IL_VERSION:
      if (driver.il_version.empty()) return CL_INVALID_VALUE;
      return answer_text(driver.il_version, size, out, out_size);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_context CL_API_CALL create_context(const cl_context_properties*, cl_uint,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK*)(const char*, const void*, size_t, void*),
                                      void*, cl_int* error) {
  *error = icd.context_error;
  if (*error != CL_SUCCESS) return nullptr;
  ++icd.live;
  return new _cl_context{devices[0]->table, devices[0]->platform->driver};
}

cl_int CL_API_CALL release_context(cl_context context) {
  delete context;
  --icd.live;
  return CL_SUCCESS;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id,
                                          cl_command_queue_properties, cl_int* error) {
  *error = icd.queue_error;
  if (*error != CL_SUCCESS) return nullptr;
  ++icd.live;
  return new _cl_command_queue{context->table};
}
cl_int CL_API_CALL flush(cl_command_queue queue) {
  queue->queue->flushed = queue->queue->issued;
  return CL_SUCCESS;
}
cl_int CL_API_CALL finish(cl_command_queue queue) {
  queue->queue->finish();
  return CL_SUCCESS;
}
// Commands that were not flushed are lost.
cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  queue->queue->run_until(queue->queue->flushed);
  delete queue;
  --icd.live;
  return CL_SUCCESS;
}
cl_int enqueue(cl_command_queue queue, bool blocking, cl_event* event,
               std::function<void()> command) {
  if (icd.enqueue_error != CL_SUCCESS) return icd.enqueue_error;
  const std::uint64_t ticket = queue->queue->add(std::move(command));
  if (event != nullptr) *event = new _cl_event{queue->table, queue->queue, ticket};
  if (blocking) queue->queue->finish();
  return CL_SUCCESS;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags, size_t size, void*,
                                 cl_int* error) {
  *error = CL_SUCCESS;
  const auto own = std::make_shared<std::vector<std::uint8_t>>(size);
  return new _cl_mem{context->table, std::make_shared<Bytes>(Bytes{own, own->data(), size})};
}

cl_mem CL_API_CALL import_buffer(cl_context context, const cl_mem_properties* properties,
                                 cl_mem_flags, size_t size, void*, cl_int* error) {
  FakeDriver& driver = *context->driver;
  *error = driver.import_error;
  if (*error != CL_SUCCESS) return nullptr;
  // kind, descriptor, CL_DEVICE_HANDLE_LIST_KHR, device, its end, end
  driver.import_properties.assign(properties, properties + 5);
  const int descriptor = static_cast<int>(properties[1]);
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const std::shared_ptr<void> owner(mapped, [size, descriptor](void* first) {
    ::munmap(first, size);
    ::close(descriptor);
  });
  return new _cl_mem{context->table, std::make_shared<Bytes>(
                                         Bytes{owner, static_cast<std::uint8_t*>(mapped), size})};
}
cl_mem CL_API_CALL sub_buffer(cl_mem whole, cl_mem_flags, cl_buffer_create_type, const void* region,
                              cl_int* error) {
  const auto& part = *static_cast<const cl_buffer_region*>(region);
  *error = CL_SUCCESS;
  return new _cl_mem{
      whole->table,
      std::make_shared<Bytes>(Bytes{whole->bytes, whole->bytes->first + part.origin, part.size})};
}
cl_int CL_API_CALL buffer_info(cl_mem buffer, cl_mem_info, size_t size, void* out,
                               size_t* out_size) {
  return answer(buffer->bytes->count, size, out, out_size);
}
cl_int CL_API_CALL retain_buffer(cl_mem buffer) {
  ++buffer->references;
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_buffer(cl_mem buffer) {
  if (--buffer->references == 0) delete buffer;
  return CL_SUCCESS;
}
cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint, const cl_mem*, cl_uint, const cl_event*,
                           cl_event* event) {
  return enqueue(queue, false, event, [] { ++icd.drivers[0].acquired; });
}
cl_int CL_API_CALL hand_back(cl_command_queue queue, cl_uint, const cl_mem*, cl_uint,
                             const cl_event*, cl_event* event) {
  return enqueue(queue, false, event, [] { --icd.drivers[0].acquired; });
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void* out, cl_uint, const cl_event*,
                               cl_event* event) {
  return enqueue(queue, blocking != 0, event, [bytes = buffer->bytes, offset, size, out] {
    std::memcpy(out, bytes->data() + offset, size);
  });
}
cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, const void* from, cl_uint,
                                const cl_event*, cl_event* event) {
  return enqueue(queue, blocking != 0, event, [bytes = buffer->bytes, offset, size, from] {
    std::memcpy(bytes->data() + offset, from, size);
  });
}
cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                               size_t to_offset, size_t size, cl_uint, const cl_event*,
                               cl_event* event) {
  return enqueue(queue, false, event,
                 [source = from->bytes, target = to->bytes, from_offset, to_offset, size] {
                   std::memcpy(target->data() + to_offset, source->data() + from_offset, size);
                 });
}
cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(queue, false, event, [] {});
}
cl_int CL_API_CALL barrier(cl_command_queue queue, cl_uint count, const cl_event* events,
                           cl_event* event) {
  std::vector<std::pair<std::shared_ptr<Queue>, std::uint64_t>> awaited;
  for (cl_uint i = 0; i < count; ++i) awaited.emplace_back(events[i]->queue, events[i]->ticket);
  return enqueue(queue, false, event, [awaited] {
    for (const auto& [other, ticket] : awaited) other->run_until(ticket);
  });
}

cl_device_id device_of(cl_context context);

cl_program from_il(const char* function, cl_context context, const void* il, size_t size,
                   cl_int* error) {
  FakeDriver& driver = *context->driver;
  driver.created_by = function;
  const auto* bytes = static_cast<const std::uint8_t*>(il);
  driver.il.assign(bytes, bytes + size);
  *error = driver.il_error;
  return *error == CL_SUCCESS ? new _cl_program{context->table, device_of(context)} : nullptr;
}
cl_program CL_API_CALL create_with_il(cl_context context, const void* il, size_t size,
                                      cl_int* error) {
  return from_il("clCreateProgramWithIL", context, il, size, error);
}
cl_program CL_API_CALL create_with_il_khr(cl_context context, const void* il, size_t size,
                                          cl_int* error) {
  return from_il("clCreateProgramWithILKHR", context, il, size, error);
}

cl_program CL_API_CALL create_with_source(cl_context context, cl_uint, const char**, const size_t*,
                                          cl_int* error) {
  context->driver->created_by = "clCreateProgramWithSource";
  *error = CL_SUCCESS;
  return new _cl_program{context->table, device_of(context)};
}
cl_program CL_API_CALL create_with_binary(cl_context context, cl_uint, const cl_device_id*,
                                          const size_t*, const unsigned char**, cl_int* status,
                                          cl_int* error) {
  context->driver->created_by = "clCreateProgramWithBinary";
  if (status != nullptr) *status = CL_SUCCESS;
  *error = CL_SUCCESS;
  return new _cl_program{context->table, device_of(context)};
}

cl_int CL_API_CALL build_program(cl_program, cl_uint, const cl_device_id*, const char*,
                                 void(CL_CALLBACK*)(cl_program, void*), void*) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL retain_program(cl_program program) {
  ++program->references;
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_program(cl_program program) {
  if (--program->references == 0) delete program;
  return CL_SUCCESS;
}
cl_int CL_API_CALL program_info(cl_program program, cl_program_info what, size_t size, void* out,
                                size_t* out_size) {
  constexpr std::string_view binary = "binary";
  switch (what) {
    case CL_PROGRAM_NUM_DEVICES:
      return answer(cl_uint{1}, size, out, out_size);
    case CL_PROGRAM_DEVICES:
      return answer(program->device, size, out, out_size);
    case CL_PROGRAM_BINARY_SIZES:
      return answer(*program->has_run ? binary.size() : size_t{0}, size, out, out_size);
    case CL_PROGRAM_BINARIES:
      std::memcpy(*static_cast<unsigned char**>(out), binary.data(), binary.size());
      return CL_SUCCESS;
    default:
      return CL_INVALID_VALUE;
  }
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char*, cl_int* error) {
  *error = CL_SUCCESS;
  return new _cl_kernel{program->table, program->has_run};
}
cl_int CL_API_CALL kernel_info(cl_kernel, cl_kernel_info what, size_t size, void* out,
                               size_t* out_size) {
  return what == CL_KERNEL_NUM_ARGS ? answer(cl_uint{2}, size, out, out_size) : CL_INVALID_VALUE;
}
cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint i, size_t size, const void* value) {
  if (i == 0 && size == sizeof kernel->buffer)
    std::memcpy(&kernel->buffer, value, size);
  else if (i == 1 && size == sizeof kernel->value)
    std::memcpy(&kernel->value, value, size);
  else
    return CL_INVALID_ARG_INDEX;
  return CL_SUCCESS;
}
cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint, const size_t*,
                          const size_t* global, const size_t*, cl_uint, const cl_event*,
                          cl_event* event) {
  return enqueue(queue, false, event,
                 [has_run = kernel->has_run, bytes = kernel->buffer->bytes, value = kernel->value,
                  count = global[0]] {
                   for (size_t i = 0; i < count; ++i) std::memcpy(bytes->data() + 4 * i, &value, 4);
                   *has_run = true;
                 });
}
cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  for (cl_uint i = 0; i < count; ++i) {
    Queue& queue = *events[i]->queue;
    queue.flushed = queue.issued;
    queue.run_until(events[i]->ticket);
  }
  return CL_SUCCESS;
}
cl_int CL_API_CALL event_info(cl_event event, cl_event_info, size_t size, void* out,
                              size_t* out_size) {
  const bool is_done = event->queue->done >= event->ticket;
  return answer(cl_int{is_done ? CL_COMPLETE : CL_SUBMITTED}, size, out, out_size);
}
// The time of a command is its number.
cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info, size_t size, void* out,
                                  size_t* out_size) {
  if (event->queue->done < event->ticket) return CL_PROFILING_INFO_NOT_AVAILABLE;
  return answer(cl_ulong{event->ticket}, size, out, out_size);
}
cl_int CL_API_CALL retain_event(cl_event event) {
  ++event->references;
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_event(cl_event event) {
  if (--event->references == 0) delete event;
  return CL_SUCCESS;
}

void* extension(cl_platform_id platform, const char* name) {
  const std::string_view wanted(name);
  if (wanted == "clGetPlatformInfo") return reinterpret_cast<void*>(&platform_info);
  if (wanted == "clCreateProgramWithILKHR" && platform != nullptr &&
      platform->driver->has_extension)
    return reinterpret_cast<void*>(&create_with_il_khr);
  if (platform == nullptr || !platform->driver->has_external_memory) return nullptr;
  if (wanted == "clEnqueueAcquireExternalMemObjectsKHR") return reinterpret_cast<void*>(&acquire);
  if (wanted == "clEnqueueReleaseExternalMemObjectsKHR") return reinterpret_cast<void*>(&hand_back);
  return nullptr;
}
void* CL_API_CALL extension_of(cl_platform_id platform, const char* name) {
  return extension(platform, name);
}

cl_icd_dispatch make_table(bool is_2_1) {
  cl_icd_dispatch table{};
  table.clGetPlatformInfo = platform_info;
  table.clGetDeviceIDs = device_ids;
  table.clGetDeviceInfo = device_info;
  table.clCreateContext = create_context;
  table.clReleaseContext = release_context;
  table.clCreateCommandQueue = create_queue;
  table.clReleaseCommandQueue = release_queue;
  table.clFinish = finish;
  table.clFlush = flush;
  table.clCreateBuffer = create_buffer;
  table.clRetainMemObject = retain_buffer;
  table.clReleaseMemObject = release_buffer;
  table.clGetMemObjectInfo = buffer_info;
  table.clCreateSubBuffer = sub_buffer;
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueCopyBuffer = copy_buffer;
  table.clEnqueueMarkerWithWaitList = marker;
  table.clEnqueueBarrierWithWaitList = barrier;
  table.clCreateProgramWithSource = create_with_source;
  table.clCreateProgramWithBinary = create_with_binary;
  table.clBuildProgram = build_program;
  table.clRetainProgram = retain_program;
  table.clReleaseProgram = release_program;
  table.clGetProgramInfo = program_info;
  table.clCreateKernel = create_kernel;
  table.clReleaseKernel = release<_cl_kernel>;
  table.clGetKernelInfo = kernel_info;
  table.clSetKernelArg = set_argument;
  table.clEnqueueNDRangeKernel = launch;
  table.clWaitForEvents = wait_for_events;
  table.clGetEventInfo = event_info;
  table.clGetEventProfilingInfo = profiling_info;
  table.clRetainEvent = retain_event;
  table.clReleaseEvent = release_event;
  table.clGetExtensionFunctionAddressForPlatform = extension_of;
  // A real OpenCL 1.2 driver's table ends before this entry. A call of the null entry ends the
  // process.
  if (is_2_1) {
    table.clCreateProgramWithIL = create_with_il;
    table.clCreateBufferWithProperties = import_buffer;
  }
  return table;
}

const cl_icd_dispatch table_2_1 = make_table(true);
const cl_icd_dispatch table_1_2 = make_table(false);
_cl_platform_id platforms[3];
_cl_device_id devices[3];

cl_device_id device_of(cl_context context) {
  return &devices[context->driver - icd.drivers.data()];
}

void make_platforms() {
  constexpr cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                      CL_DEVICE_TYPE_CPU};
  icd.reset();
  for (size_t i = 0; i < 3; ++i) {
    const cl_icd_dispatch* table = i == 0 ? &table_2_1 : &table_1_2;
    platforms[i] = {table, &icd.drivers[i], &devices[i]};
    devices[i] = {table, &platforms[i], types[i]};
  }
}

}  // namespace

#define FAKE_EXPORT extern "C" [[gnu::visibility("default")]]

FAKE_EXPORT FakeIcd* gantry_fake_icd();
FAKE_EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint size, cl_platform_id* out,
                                                      cl_uint* count);

FakeIcd* gantry_fake_icd() { return &icd; }

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint size, cl_platform_id* out, cl_uint* count) {
  if (platforms[0].table == nullptr) make_platforms();
  if (count != nullptr) *count = 3;
  for (cl_uint i = 0; out != nullptr && i < size && i < 3; ++i) out[i] = &platforms[i];
  return CL_SUCCESS;
}

FAKE_EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return extension(nullptr, name);
}
