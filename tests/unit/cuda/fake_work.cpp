// SPDX-License-Identifier: Apache-2.0
//
// The fake driver's streams, events, graphs, modules and launches.
#include "tests/unit/cuda/fake_state.hpp"

namespace test = gantry::cuda::test;
using namespace fake_state;
using test::fake_driver;
using test::FakeKernel;

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
CUresult cuEventQuery(CUevent event) {
  ENTER(cuEventQuery);
  CHECK_CONTEXT();
  if (events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (event->stream == nullptr || event->stream->done >= event->ticket) return CUDA_SUCCESS;
  // Nothing else runs the work of a stream for which nobody waits.
  if (fake_driver().queries_run_work) run_until(event->stream, event->stream->done + 1);
  return CUDA_ERROR_NOT_READY;
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned) {
  ENTER(cuStreamAddCallback);
  CHECK_STREAM(stream);
  if (stream->captures) return CUDA_ERROR_NOT_SUPPORTED;
  add(stream, [=] { function(stream, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  ENTER(cuEventElapsedTime);
  CHECK_CONTEXT();
  if (((start->flags | stop->flags) & CU_EVENT_DISABLE_TIMING) != 0)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = static_cast<float>(stop->time_us - start->time_us) / 1000;
  return CUDA_SUCCESS;
}

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
  // A failed capture ends without a graph.
  CHECK_FAULT();
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

static void write_log(unsigned count, CUjit_option* options, void** values, const char* text) {
  for (unsigned i = 0; i + 1 < count; ++i) {
    if (options[i] != CU_JIT_ERROR_LOG_BUFFER) continue;
    std::strncpy(static_cast<char*>(values[i]), text, reinterpret_cast<std::size_t>(values[i + 1]));
  }
}
// Reads PTX up to its NUL, like the driver, and accepts every binary.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  ENTER(cuModuleLoadDataEx);
  if (faulty != CUDA_SUCCESS) {
    write_log(count, options, values, fake_driver().compiler_log.c_str());
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
// What PTX declares about a kernel.
struct PtxEntry {
  bool is_there = false;
  std::size_t parameter_count = 0;
  unsigned max_threads = 1024;
};
static PtxEntry ptx_entry(const std::string& text, const std::string& kernel) {
  PtxEntry entry;
  const std::size_t at = text.find(".entry " + kernel + "(");
  if (at == std::string::npos) return entry;
  entry.is_there = true;
  const std::string head = text.substr(at, text.find('{', at) - at);
  for (std::size_t i = 0; (i = head.find(".param ", i)) != std::string::npos; ++i)
    ++entry.parameter_count;
  unsigned x = 0, y = 0, z = 0;
  const std::size_t bounds = head.find(".maxntid ");
  if (bounds != std::string::npos &&
      std::sscanf(head.c_str() + bounds, ".maxntid %u, %u, %u", &x, &y, &z) == 3)
    entry.max_threads = x * y * z;
  return entry;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ENTER(cuModuleGetFunction);
  CHECK_CONTEXT();
  PtxEntry entry;
  if (!module->text.empty()) {
    entry = ptx_entry(module->text, name);
    if (!entry.is_there) return CUDA_ERROR_NOT_FOUND;
  }
  const FakeKernel* const kernel = test::fake_kernel(name, entry.parameter_count);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  auto& made = module->functions[name];
  if (made == nullptr) {
    made.reset(new CUfunc_st{name, kernel, entry.max_threads, 48 * 1024, module->context});
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
  if (block_x * block_y * block_z > function->max_threads) return CUDA_ERROR_INVALID_VALUE;
  // A launch without blocks fails, too.
  if (grid_x * grid_y * grid_z * block_x * block_y * block_z == 0) return CUDA_ERROR_INVALID_VALUE;
  if (shared_bytes > static_cast<unsigned>(function->dynamic_shared_limit)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  fake_driver().launches.push_back({function->name,
                                    {grid_x, grid_y, grid_z},
                                    {block_x, block_y, block_z},
                                    function->kernel->parameter_bytes.size(),
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
// Checks what the driver checks, and writes the arguments into the map.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* data, const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  ENTER(cuTensorMapEncodeTiled);
  CHECK_FAULT();
  if (rank == 0 || rank > 5 || reinterpret_cast<std::uintptr_t>(map) % 64 != 0 ||
      reinterpret_cast<std::uintptr_t>(data) % 16 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(type), rank,
                                 reinterpret_cast<std::uint64_t>(data)};
  all.insert(all.end(), extents, extents + rank);
  all.insert(all.end(), strides, strides + rank - 1);
  all.insert(all.end(), box, box + rank);
  all.insert(all.end(), steps, steps + rank);
  for (const std::uint64_t mode :
       {static_cast<std::uint64_t>(interleave), static_cast<std::uint64_t>(swizzle),
        static_cast<std::uint64_t>(promotion), static_cast<std::uint64_t>(fill)})
    all.push_back(mode);
  fake_driver().tensor_maps.push_back(std::move(all));
  std::memset(map, 0x5a, sizeof *map);
  return CUDA_SUCCESS;
}
