// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fopenmp.
#include "tests/bench/gomp.hpp"

#include "tests/bench/suite.hpp"

#include "core/engine/native/packed/tvm_abi.hpp"

#include <omp.h>

#include <atomic>
#include <cstdlib>

namespace gantry::bench {
namespace {

constexpr int kThreads = 2;
constexpr std::size_t kAlignment = 64;

int launch(ParallelTask task, void* closure, int) {
  std::atomic<int> failed{0};
#pragma omp parallel num_threads(kThreads)
  {
    ParallelEnv env{nullptr, kThreads};
    if (task(omp_get_thread_num(), &env, closure) != 0) failed = -1;
  }
  return failed;
}

int barrier(int, ParallelEnv*) {
#pragma omp barrier
  return 0;
}

void* alloc_workspace(int, int, std::uint64_t bytes, int, int) {
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

int free_workspace(int, int, void* data) {
  std::free(data);
  return 0;
}

template <class F>
void set(const std::filesystem::path& library, const char* variable, F* function) {
  *static_cast<F**>(symbol_of(library, variable)) = function;
}

}  // namespace

void run_on_gomp(const std::filesystem::path& library) {
  set(library, "__TVMBackendParallelLaunch", launch);
  const auto set_if_there = [&](const char* variable, auto* function) {
    try {
      set(library, variable, function);
    } catch (const Failed&) {
      // The library does not use it.
    }
  };
  set_if_there("__TVMBackendParallelBarrier", barrier);
  set_if_there("__TVMBackendAllocWorkspace", alloc_workspace);
  set_if_there("__TVMBackendFreeWorkspace", free_workspace);
}

}  // namespace gantry::bench
