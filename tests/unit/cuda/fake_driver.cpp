// SPDX-License-Identifier: Apache-2.0
//
// The fake driver's devices, contexts and memory.
#include "tests/unit/cuda/fake_state.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace test = gantry::cuda::test;
using namespace fake_state;
using test::fake_driver;

namespace gantry::cuda::test {

// The state for programs that do not configure the fake, such as `gantry run`: a driver version
// that supports the golden artifacts' PTX.
FakeDriver& fake_driver() {
  static FakeDriver fake = [] {
    FakeDriver made;
    made.reset();
    made.version = 13000;
    return made;
  }();
  return fake;
}

void FakeDriver::reset() {
  *this = {};
  gpus = {{"Fake H200", 9, 0, std::uint64_t{1} << 32}, {"Fake T4", 7, 5, std::uint64_t{1} << 31}};
  compiler_log = "line 1 of the log\n\nline 2 of the log\n";
  stack.clear();
  drop(streams);
  drop(events);
  drop(modules);
  drop(graphs);
  drop(executables);
  drop(pools);
  for (const auto* const external : externals) close(external->fd);
  drop(externals);
  for (const auto& [at, size] : registered) memory.erase(reinterpret_cast<CUdeviceptr>(at));
  registered.clear();
  for (const auto& [at, allocation] : memory) std::free(pointer(at));
  memory.clear();
  for (const auto& [at, size] : pinned) std::free(at);
  pinned.clear();
  contexts.clear();
}

std::size_t FakeDriver::count_of(const std::string& function) const {
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), function));
}

std::string FakeDriver::live() const {
  std::string text;
  for (const auto& [gpu, context] : contexts) {
    if (context.second != 0) text += text.empty() ? "a context" : ", a context";
  }
  describe(text, streams, "streams");
  describe(text, events, "events");
  describe(text, memory, "allocations");
  describe(text, pinned, "page-locked allocations");
  describe(text, modules, "modules");
  describe(text, graphs, "graphs");
  describe(text, executables, "executable graphs");
  describe(text, pools, "memory pools");
  describe(text, registered, "registered host memories");
  describe(text, externals, "external memories");
  return text;
}

std::size_t FakeDriver::context_depth() const { return stack.size(); }

}  // namespace gantry::cuda::test

CUresult cuInit(unsigned) {
  ENTER(cuInit);
  CHECK_FAULT();
  return fake_driver().init_result;
}
CUresult cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  CHECK_FAULT();
  *version = fake_driver().version;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  static const std::map<int, const char*> names{{1, "CUDA_ERROR_INVALID_VALUE"},
                                                {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {34, "CUDA_ERROR_STUB_LIBRARY"},
                                                {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                {218, "CUDA_ERROR_INVALID_PTX"},
                                                {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
                                                {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                {500, "CUDA_ERROR_NOT_FOUND"},
                                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(error);
  *text = found == names.end() ? nullptr : found->second;
  return found == names.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  const char* name = nullptr;
  const CUresult known = cuGetErrorName(error, &name);
  *text = known == CUDA_SUCCESS ? "what the driver says" : nullptr;
  return known;
}

CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  CHECK_FAULT();
  *count = static_cast<int>(fake_driver().gpus.size());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER(cuDeviceGet);
  CHECK_FAULT();
  if (ordinal < 0 || ordinal >= static_cast<int>(fake_driver().gpus.size())) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  // A handle, not an index.
  *device = 100 + ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  ENTER(cuDeviceGetName);
  CHECK_FAULT();
  const std::string& text = gpu_of(device).name;
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* number, CUdevice_attribute attribute, CUdevice device) {
  ENTER(cuDeviceGetAttribute);
  CHECK_FAULT();
  const test::FakeGpu& gpu = gpu_of(device);
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
    *number = gpu.major;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
    *number = gpu.minor;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) {
    *number = fake_driver().has_pools ? 1 : 0;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) {
    *number = fake_driver().uses_host_page_tables ? 1 : 0;
  } else if (attribute == static_cast<CUdevice_attribute>(134)) {
    if (test::fake_driver().version < 12020) return CUDA_ERROR_INVALID_VALUE;
    *number = index_of(device) - 1;
  } else {
    *number = 10000 + attribute;
  }
  return CUDA_SUCCESS;
}
#undef cuDeviceGetUuid
extern "C" CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER(cuDeviceGetUuid_v2);
  CHECK_FAULT();
  std::memset(uuid->bytes, 0xAB, sizeof uuid->bytes);
  uuid->bytes[15] = static_cast<char>(index_of(device));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* address, int size, CUdevice device) {
  ENTER(cuDeviceGetPCIBusId);
  CHECK_FAULT();
  std::snprintf(address, static_cast<std::size_t>(size), "0000:%02X:00.0", 0xA0 + index_of(device));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  ENTER(cuDeviceTotalMem_v2);
  CHECK_FAULT();
  *bytes = gpu_of(device).memory;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  CHECK_FAULT();
  auto& kept = contexts[device - 100];
  kept.first.gpu = device - 100;
  ++kept.second;
  *context = &kept.first;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  --contexts[device - 100].second;
  return faulty;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  ENTER(cuCtxPushCurrent_v2);
  CHECK_FAULT();
  stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  ENTER(cuCtxPopCurrent_v2);
  *context = stack.back();
  stack.pop_back();
  return faulty;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER(cuCtxGetDevice);
  CHECK_CONTEXT();
  *device = 100 + stack.back()->gpu;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  CHECK_CONTEXT();
  run_all(stack.back());
  return CUDA_SUCCESS;
}

static std::uint64_t used_bytes(int gpu) {
  std::uint64_t bytes = 0;
  for (const auto& [at, allocation] : memory) {
    if (allocation.gpu == gpu) bytes += allocation.size;
  }
  return bytes;
}
CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  CHECK_CONTEXT();
  *total = gpu_of(100 + stack.back()->gpu).memory;
  *available = *total - used_bytes(stack.back()->gpu);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* at, std::size_t size) {
  ENTER(cuMemAlloc_v2);
  CHECK_CONTEXT();
  const int gpu = stack.back()->gpu;
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > gpu_of(100 + gpu).memory - used_bytes(gpu)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t rounded = (size + 255) / 256 * 256;
  void* const made = std::aligned_alloc(256, rounded);
  std::memset(made, 0xcd, rounded);
  *at = reinterpret_cast<CUdeviceptr>(made);
  memory[*at] = {size, gpu};
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr at) {
  ENTER(cuMemFree_v2);
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (fake_driver().free_fails_while_capturing && is_capturing()) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (memory.erase(at) == 0) return CUDA_ERROR_INVALID_VALUE;
  run_all(stack.back());
  std::free(pointer(at));
  return faulty;
}
CUresult cuMemHostAlloc(void** at, std::size_t size, unsigned) {
  ENTER(cuMemHostAlloc);
  CHECK_CONTEXT();
  *at = std::malloc(size);
  pinned[static_cast<char*>(*at)] = size;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* at) {
  ENTER(cuMemFreeHost);
  if (pinned.erase(static_cast<char*>(at)) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(at);
  return faulty;
}
CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr at) {
  ENTER(cuPointerGetAttribute);
  CHECK_CONTEXT();
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !is_pinned(pointer(at))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *static_cast<CUmemorytype*>(out) = CU_MEMORYTYPE_HOST;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t size, CUstream stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  CHECK_STREAM(stream);
  if (!is_device_memory(to, size)) return CUDA_ERROR_INVALID_VALUE;
  return add_copy(stream, pointer(to), from, size, !is_pinned(from));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size, CUstream stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  CHECK_STREAM(stream);
  if (!is_device_memory(from, size)) return CUDA_ERROR_INVALID_VALUE;
  return add_copy(stream, to, pointer(from), size, !is_pinned(to));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  CHECK_STREAM(stream);
  if (!is_device_memory(to, size) || !is_device_memory(from, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return add_copy(stream, pointer(to), pointer(from), size, false);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, std::size_t size, CUstream stream) {
  ENTER(cuMemcpyPeerAsync);
  CHECK_STREAM(stream);
  const auto is_of = [&](CUdeviceptr at, CUcontext context) {
    return is_device_memory(at, size) &&
           std::prev(memory.upper_bound(at))->second.gpu == context->gpu;
  };
  if (!is_of(to, to_context) || !is_of(from, from_context)) return CUDA_ERROR_INVALID_VALUE;
  return add_copy(stream, pointer(to), pointer(from), size, false);
}

// Fills with `count` patterns, in stream order.
template <class Pattern>
static CUresult add_fill(CUdeviceptr to, Pattern pattern, std::size_t count, CUstream stream) {
  if (to % sizeof pattern != 0 || !is_device_memory(to, count * sizeof pattern)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  add(stream, [=] { std::fill_n(static_cast<Pattern*>(pointer(to)), count, pattern); });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char pattern, std::size_t count,
                         CUstream stream) {
  ENTER(cuMemsetD8Async);
  CHECK_STREAM(stream);
  return add_fill(to, pattern, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short pattern, std::size_t count,
                          CUstream stream) {
  ENTER(cuMemsetD16Async);
  CHECK_STREAM(stream);
  return add_fill(to, pattern, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned pattern, std::size_t count, CUstream stream) {
  ENTER(cuMemsetD32Async);
  CHECK_STREAM(stream);
  return add_fill(to, pattern, count, stream);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  ENTER(cuMemPoolCreate);
  CHECK_FAULT();
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pool = new CUmemPoolHandle_st{properties->location.id, 0};
  pools.insert(*pool);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  ENTER(cuMemPoolDestroy);
  if (pools.erase(pool) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete pool;
  return faulty;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  ENTER(cuMemPoolSetAttribute);
  CHECK_FAULT();
  if (pools.count(pool) == 0 || attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool->release_threshold = *static_cast<cuuint64_t*>(value);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  ENTER(cuMemPoolTrimTo);
  CHECK_FAULT();
  return pools.count(pool) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* at, std::size_t size, CUmemoryPool pool,
                                 CUstream stream) {
  ENTER(cuMemAllocFromPoolAsync);
  CHECK_STREAM(stream);
  if (stream->captures || pools.count(pool) == 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > gpu_of(100 + pool->gpu).memory - used_bytes(pool->gpu)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::size_t rounded = (size + 255) / 256 * 256;
  void* const made = std::aligned_alloc(256, rounded);
  std::memset(made, 0xcd, rounded);
  *at = reinterpret_cast<CUdeviceptr>(made);
  memory[*at] = {size, pool->gpu};
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream) {
  ENTER(cuMemFreeAsync);
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (streams.count(stream) == 0 || stream->captures || memory.count(at) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  add(stream, [at] {
    if (memory.erase(at) != 0) std::free(pointer(at));
  });
  return faulty;
}

CUresult cuMemHostRegister(void* at, std::size_t size, unsigned) {
  ENTER(cuMemHostRegister_v2);
  CHECK_CONTEXT();
  if (size == 0 || registered.count(static_cast<char*>(at)) != 0) return CUDA_ERROR_INVALID_VALUE;
  registered[static_cast<char*>(at)] = size;
  memory[reinterpret_cast<CUdeviceptr>(at)] = {size, stack.back()->gpu};
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* at) {
  ENTER(cuMemHostUnregister);
  if (registered.erase(static_cast<char*>(at)) == 0) return CUDA_ERROR_INVALID_VALUE;
  memory.erase(reinterpret_cast<CUdeviceptr>(at));
  return faulty;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* at, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  CHECK_CONTEXT();
  if (registered.count(static_cast<char*>(at)) == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(at);
  return CUDA_SUCCESS;
}
// Descriptors are those of a memfd, whose content is mapped privately: they stand for memory of
// another driver.
CUresult cuImportExternalMemory(CUexternalMemory* external,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  ENTER(cuImportExternalMemory);
  CHECK_CONTEXT();
  if (what->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return CUDA_ERROR_NOT_SUPPORTED;
  *external = new CUextMemory_st{what->handle.fd, what->size};
  externals.insert(*external);
  return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* at, CUexternalMemory external,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* part) {
  ENTER(cuExternalMemoryGetMappedBuffer);
  CHECK_CONTEXT();
  if (externals.count(external) == 0 || part->offset > external->size ||
      part->size > external->size - part->offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::size_t rounded = (part->size + 255) / 256 * 256;
  void* const made = std::aligned_alloc(256, rounded);
  if (pread(external->fd, made, part->size, static_cast<off_t>(part->offset)) !=
      static_cast<ssize_t>(part->size)) {
    std::free(made);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *at = reinterpret_cast<CUdeviceptr>(made);
  memory[*at] = {part->size, stack.back()->gpu};
  return CUDA_SUCCESS;
}
CUresult cuDestroyExternalMemory(CUexternalMemory external) {
  ENTER(cuDestroyExternalMemory);
  if (externals.erase(external) == 0) return CUDA_ERROR_INVALID_VALUE;
  close(external->fd);
  delete external;
  return faulty;
}
