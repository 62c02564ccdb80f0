// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/fake_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>

namespace test = gantry::cuda::test;
using test::fake_driver;
using test::FakeDriver;
using test::FakeKernel;

struct CUctx_st {
  int gpu;
};
struct CUevent_st {
  CUctx_st* context;
  unsigned flags;
  CUstream_st* stream = nullptr;  // where it was recorded
  std::uint64_t ticket = 0;       // the commands of that stream that come before it
  std::uint64_t time_us = 0;
};
using Command = std::function<void()>;
struct CUstream_st {
  CUctx_st* context;
  unsigned flags;
  std::deque<Command> waiting;
  std::uint64_t issued = 0;
  std::uint64_t done = 0;
  bool captures = false;
  std::vector<Command> captured;
};
struct CUgraph_st {
  std::vector<Command> commands;
};
struct CUgraphExec_st {
  std::vector<Command> commands;
};
struct CUfunc_st {
  std::string name;
  const FakeKernel* kernel;
  int dynamic_shared_limit = 48 * 1024;
  CUctx_st* context;
};
struct CUmod_st {
  CUctx_st* context;
  std::string text;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

namespace {

struct Allocation {
  std::uint64_t size;
  int gpu;
};

std::recursive_mutex mutex;
std::map<int, std::pair<CUctx_st, int>> contexts;  // by GPU: and how often retained
std::map<CUdeviceptr, Allocation> memory;
std::map<char*, std::size_t> pinned;
std::set<CUstream_st*> streams;
std::set<CUevent_st*> events;
std::set<CUmod_st*> modules;
std::set<CUgraph_st*> graphs;
std::set<CUgraphExec_st*> executables;
std::uint64_t clock_us;
thread_local std::vector<CUctx_st*> stack;

using Lock = std::lock_guard<std::recursive_mutex>;

// Notes a call; what it returns is the call's result unless it is CUDA_SUCCESS.
CUresult enter(const char* function) {
  FakeDriver& fake = fake_driver();
  const std::size_t number = fake.calls.size();
  fake.calls.emplace_back(function);
  if (number != fake.fail_at && fake.fail_function != function) return CUDA_SUCCESS;
  fake.failed = function;
  return fake.fail_result;
}
#define ENTER(function)   \
  const Lock lock(mutex); \
  const CUresult faulty = enter(#function)
// For calls that give something back: they do, and may still return an error of earlier work.
#define CHECK_FAULT() \
  if (faulty != CUDA_SUCCESS) return faulty
#define CHECK_CONTEXT() \
  CHECK_FAULT();        \
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT
#define CHECK_STREAM(stream)                                        \
  CHECK_CONTEXT();                                                  \
  if (streams.count(stream) == 0) return CUDA_ERROR_INVALID_HANDLE; \
  if ((stream)->context != stack.back()) return CUDA_ERROR_INVALID_HANDLE

template <class Set>
void drop(Set& all) {
  for (auto* const one : all) delete one;
  all.clear();
}

template <class Set>
void describe(std::string& text, const Set& all, const char* what) {
  if (all.empty()) return;
  text += (text.empty() ? "" : ", ") + std::to_string(all.size()) + " " + what;
}

bool is_device_memory(CUdeviceptr at, std::size_t size) {
  auto found = memory.upper_bound(at);
  if (found == memory.begin()) return false;
  --found;
  const std::uint64_t offset = at - found->first;
  return offset <= found->second.size && size <= found->second.size - offset;
}
bool is_pinned(const void* at) {
  const auto* address = static_cast<const char*>(at);
  auto found = pinned.upper_bound(const_cast<char*>(address));
  if (found == pinned.begin()) return false;
  --found;
  return address < found->first + found->second;
}

void run_until(CUstream_st* stream, std::uint64_t ticket) {
  while (stream->done < ticket && !stream->waiting.empty()) {
    Command command = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    ++stream->done;
    command();
  }
}
void run_all(CUctx_st* context) {
  for (CUstream_st* const stream : std::set<CUstream_st*>(streams)) {
    if (stream->context == context) run_until(stream, stream->issued);
  }
}
void add(CUstream_st* stream, Command command) {
  if (stream->captures) {
    stream->captured.push_back(std::move(command));
    return;
  }
  ++stream->issued;
  stream->waiting.push_back(std::move(command));
}
bool is_capturing() {
  return std::any_of(streams.begin(), streams.end(), [](const auto* s) { return s->captures; });
}

CUresult add_copy(CUstream_st* stream, void* to, const void* from, std::size_t size, bool waits) {
  add(stream, [=] { std::memcpy(to, from, size); });
  if (waits && !stream->captures) run_until(stream, stream->issued);
  return CUDA_SUCCESS;
}
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

namespace gantry::cuda::test {

// As a program finds it that knows nothing of it, `gantry run` say: of a version that knows the golden artifacts' PTX.
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
  stack.clear();
  drop(streams);
  drop(events);
  drop(modules);
  drop(graphs);
  drop(executables);
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
  return text;
}

std::size_t FakeDriver::context_depth() const { return stack.size(); }

}  // namespace gantry::cuda::test

// ---- the driver ----------------------------------------------------------------------------------

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
  *device = 100 + ordinal;  // a handle, no index
  return CUDA_SUCCESS;
}
static test::FakeGpu& gpu_of(CUdevice device) {
  return fake_driver().gpus.at(static_cast<std::size_t>(device - 100));
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
  } else {
    *number = 10000 + attribute;
  }
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
CUresult cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  CHECK_CONTEXT();
  run_all(stack.back());
  return CUDA_SUCCESS;
}

// ---- memory --------------------------------------------------------------------------------------

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

// ---- streams and events --------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  ENTER(cuStreamCreate);
  CHECK_CONTEXT();
  *stream = new CUstream_st{stack.back(), flags, {}, 0, 0, false, {}};
  streams.insert(*stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  ENTER(cuStreamDestroy_v2);
  if (streams.count(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
  run_until(stream, stream->issued);
  for (CUevent_st* const event : events) {
    if (event->stream == stream) event->stream = nullptr;
  }
  streams.erase(stream);
  delete stream;
  return faulty;
}
CUresult cuStreamSynchronize(CUstream stream) {
  ENTER(cuStreamSynchronize);
  CHECK_STREAM(stream);
  if (stream->captures) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  run_until(stream, stream->issued);
  return CUDA_SUCCESS;
}
static void wait_for(CUevent_st* event) {
  if (event->stream != nullptr) run_until(event->stream, event->ticket);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ENTER(cuStreamWaitEvent);
  CHECK_STREAM(stream);
  if (events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  add(stream, [other = event->stream, ticket = event->ticket] {
    if (other != nullptr && streams.count(other) != 0) run_until(other, ticket);
  });
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  ENTER(cuStreamIsCapturing);
  CHECK_STREAM(stream);
  *status = stream->captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  ENTER(cuLaunchHostFunc);
  CHECK_STREAM(stream);
  add(stream, [=] { function(data); });
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ENTER(cuEventCreate);
  CHECK_CONTEXT();
  *event = new CUevent_st{stack.back(), flags};
  events.insert(*event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  ENTER(cuEventDestroy_v2);
  if (events.erase(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return faulty;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER(cuEventRecord);
  CHECK_STREAM(stream);
  if (events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  add(stream, [event] {
    if (events.count(event) != 0) event->time_us = clock_us += 250;
  });
  event->stream = stream;
  event->ticket = stream->issued;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  ENTER(cuEventSynchronize);
  CHECK_CONTEXT();
  if (events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  wait_for(event);
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  ENTER(cuEventElapsedTime);
  CHECK_CONTEXT();
  *milliseconds = static_cast<float>(stop->time_us - start->time_us) / 1000;
  return CUDA_SUCCESS;
}

// ---- captured graphs -----------------------------------------------------------------------------

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  ENTER(cuStreamBeginCapture_v2);
  CHECK_STREAM(stream);
  if (stream->captures) return CUDA_ERROR_ILLEGAL_STATE;
  stream->captures = true;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  ENTER(cuStreamEndCapture);
  if (streams.count(stream) == 0 || !stream->captures) return CUDA_ERROR_ILLEGAL_STATE;
  stream->captures = false;
  std::vector<Command> commands = std::move(stream->captured);
  stream->captured.clear();
  CHECK_FAULT();  // a capture that fails is over, and there is no graph
  *graph = new CUgraph_st{std::move(commands)};
  graphs.insert(*graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  CHECK_CONTEXT();
  *executable = new CUgraphExec_st{graph->commands};
  executables.insert(*executable);
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  ENTER(cuGraphLaunch);
  CHECK_STREAM(stream);
  if (executables.count(executable) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (const Command& command : executable->commands) add(stream, command);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  ENTER(cuGraphDestroy);
  if (graphs.erase(graph) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete graph;
  return faulty;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  ENTER(cuGraphExecDestroy);
  if (executables.erase(executable) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete executable;
  return faulty;
}

// ---- modules and launches ------------------------------------------------------------------------

static void write_log(unsigned count, CUjit_option* options, void** values, const char* text) {
  for (unsigned i = 0; i + 1 < count; ++i) {
    if (options[i] != CU_JIT_ERROR_LOG_BUFFER) continue;
    std::strncpy(static_cast<char*>(values[i]), text, reinterpret_cast<std::size_t>(values[i + 1]));
  }
}
// Reads PTX up to its NUL, as the driver does, and takes every binary.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  ENTER(cuModuleLoadDataEx);
  if (faulty != CUDA_SUCCESS) {
    write_log(count, options, values, "line 1 of the log\n\nline 2 of the log\n");
    return faulty;
  }
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const char* const bytes = static_cast<const char*>(image);
  std::string text;
  if (bytes[0] != 0x7f && bytes[0] != 'P') {
    text = bytes;
    int major = 0;
    int minor = 0;
    const std::size_t at = text.find(".version ");
    std::sscanf(text.c_str() + at, ".version %d.%d", &major, &minor);
    if (1000 * major + 10 * minor > fake_driver().version - 4000) {
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (text.find("syntax error") != std::string::npos) {
      write_log(count, options, values,
                "ptxas application ptx input, line 4; error   : Parsing error near 'syntax'\n"
                "ptxas fatal   : Ptx assembly aborted due to errors");
      return CUDA_ERROR_INVALID_PTX;
    }
  }
  *module = new CUmod_st{stack.back(), text, {}};
  modules.insert(*module);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  ENTER(cuModuleUnload);
  if (modules.erase(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete module;
  return faulty;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ENTER(cuModuleGetFunction);
  CHECK_CONTEXT();
  const FakeKernel* const kernel = test::fake_kernel(name);
  const bool is_there =
      module->text.empty() || module->text.find(std::string(".entry ") + name) != std::string::npos;
  if (kernel == nullptr || !is_there) return CUDA_ERROR_NOT_FOUND;
  auto& made = module->functions[name];
  if (made == nullptr) {
    made.reset(new CUfunc_st{name, kernel, 48 * 1024, module->context});
  }
  *function = made.get();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* number, CUfunction_attribute attribute, CUfunction function) {
  ENTER(cuFuncGetAttribute);
  CHECK_CONTEXT();
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  *number = function->dynamic_shared_limit;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int number) {
  ENTER(cuFuncSetAttribute);
  CHECK_CONTEXT();
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      number > gpu_of(100 + function->context->gpu).shared_memory_optin) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->dynamic_shared_limit = number;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void**) {
  ENTER(cuLaunchKernel);
  CHECK_STREAM(stream);
  if (function->context != stack.back()) return CUDA_ERROR_INVALID_HANDLE;
  if (block_x * block_y * block_z > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (shared_bytes > static_cast<unsigned>(function->dynamic_shared_limit)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  fake_driver().launches.push_back({function->name,
                                    {grid_x, grid_y, grid_z},
                                    {block_x, block_y, block_z},
                                    shared_bytes,
                                    stream});
  // Parameters are copied at the launch.
  const FakeKernel* const kernel = function->kernel;
  std::vector<std::vector<char>> kept;
  for (std::size_t i = 0; i < kernel->parameter_bytes.size(); ++i) {
    const char* const from = static_cast<const char*>(parameters[i]);
    kept.emplace_back(from, from + kernel->parameter_bytes[i]);
  }
  add(stream, [kernel, kept, grid_x, block_x] {
    std::vector<void*> addresses;
    for (const auto& parameter : kept) addresses.push_back(const_cast<char*>(parameter.data()));
    kernel->run(addresses.data(), grid_x, block_x);
  });
  return CUDA_SUCCESS;
}
