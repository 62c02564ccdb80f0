// SPDX-License-Identifier: Apache-2.0
//
// Internal state of the fake driver, and the code at the beginning of all its functions.
#pragma once

#include "tests/unit/cuda/fake_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>

struct CUctx_st {
  int gpu;
};
struct CUevent_st {
  CUctx_st* context;
  unsigned flags;
  // The stream in which it was recorded.
  CUstream_st* stream = nullptr;
  // Number of the stream's earlier commands.
  std::uint64_t ticket = 0;
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
  const gantry::cuda::test::FakeKernel* kernel;
  // of a block
  unsigned max_threads;
  int dynamic_shared_limit = 48 * 1024;
  CUctx_st* context;
};
struct CUmod_st {
  CUctx_st* context;
  std::string text;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct CUmemPoolHandle_st {
  int gpu;
  std::uint64_t release_threshold;
};

struct CUextMemory_st {
  int fd;
  std::uint64_t size;
};

namespace fake_state {

struct Allocation {
  std::uint64_t size;
  int gpu;
};

inline std::recursive_mutex mutex;
// Indexed by GPU, with reference counts.
inline std::map<int, std::pair<CUctx_st, int>> contexts;
inline std::map<CUdeviceptr, Allocation> memory;
inline std::map<char*, std::size_t> pinned;
inline std::map<char*, std::size_t> registered;
inline std::set<CUstream_st*> streams;
inline std::set<CUevent_st*> events;
inline std::set<CUmod_st*> modules;
inline std::set<CUgraph_st*> graphs;
inline std::set<CUgraphExec_st*> executables;
inline std::set<CUmemPoolHandle_st*> pools;
inline std::set<CUextMemory_st*> externals;
inline std::uint64_t clock_us;
inline thread_local std::vector<CUctx_st*> stack;

using Lock = std::lock_guard<std::recursive_mutex>;

// Records a call. If the result is not CUDA_SUCCESS, the call must return it.
inline CUresult enter(const char* function) {
  gantry::cuda::test::FakeDriver& fake = gantry::cuda::test::fake_driver();
  const std::size_t number = fake.calls.size();
  fake.calls.emplace_back(function);
  if (number != fake.fail_at && fake.fail_function != function) return CUDA_SUCCESS;
  fake.failed = function;
  return fake.fail_result;
}
#define ENTER(function)   \
  const Lock lock(mutex); \
  const CUresult faulty = enter(#function)
// For calls that release an object: they release it and may still return an error of earlier work.
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
inline void drop(Set& all) {
  for (auto* const one : all) delete one;
  all.clear();
}

template <class Set>
inline void describe(std::string& text, const Set& all, const char* what) {
  if (all.empty()) return;
  text += (text.empty() ? "" : ", ") + std::to_string(all.size()) + " " + what;
}

inline bool is_device_memory(CUdeviceptr at, std::size_t size) {
  auto found = memory.upper_bound(at);
  if (found == memory.begin()) return false;
  --found;
  const std::uint64_t offset = at - found->first;
  return offset <= found->second.size && size <= found->second.size - offset;
}
inline bool is_pinned(const void* at) {
  const auto* address = static_cast<const char*>(at);
  auto found = pinned.upper_bound(const_cast<char*>(address));
  if (found == pinned.begin()) return false;
  --found;
  return address < found->first + found->second;
}

inline void run_until(CUstream_st* stream, std::uint64_t ticket) {
  while (stream->done < ticket && !stream->waiting.empty()) {
    Command command = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    ++stream->done;
    command();
  }
}
inline void run_all(CUctx_st* context) {
  for (CUstream_st* const stream : std::set<CUstream_st*>(streams)) {
    if (stream->context == context) run_until(stream, stream->issued);
  }
}
inline void add(CUstream_st* stream, Command command) {
  if (stream->captures) {
    stream->captured.push_back(std::move(command));
    return;
  }
  ++stream->issued;
  stream->waiting.push_back(std::move(command));
}
inline bool is_capturing() {
  return std::any_of(streams.begin(), streams.end(), [](const auto* s) { return s->captures; });
}

inline CUresult add_copy(CUstream_st* stream, void* to, const void* from, std::size_t size,
                         bool waits) {
  add(stream, [=] { std::memcpy(to, from, size); });
  if (waits && !stream->captures) run_until(stream, stream->issued);
  return CUDA_SUCCESS;
}
inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Handles of devices differ from their indices.
inline int index_of(CUdevice device) { return device - 100; }

inline gantry::cuda::test::FakeGpu& gpu_of(CUdevice device) {
  return gantry::cuda::test::fake_driver().gpus.at(static_cast<std::size_t>(index_of(device)));
}

}  // namespace fake_state
