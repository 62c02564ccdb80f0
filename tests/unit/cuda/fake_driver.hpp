// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU: a library that exports what libcuda.so.1 exports, keeps device
// memory in host memory, runs the kernels of the golden artifacts as functions of the host, and
// fails on request.
//
//     FakeDriver& fake = fake_driver();          // the library's only instance
//     fake.reset();
//     fake.fail_at = 7;                          // the eighth call returns CUDA_ERROR_UNKNOWN
//     ...
//     EXPECT_EQ(fake.live(), "");                // nothing is held
//
// Work in a stream runs only when a call waits for it, which detects missing waits. Copies of
// memory that is not page-locked wait by themselves, as in the real driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cuda::test {

struct FakeGpu {
  std::string name;
  int major = 0;
  int minor = 0;
  std::uint64_t memory = 0;
  int shared_memory_optin = 100 * 1024;
};

// The parameters of a launch.
struct FakeLaunch {
  std::string kernel;
  std::vector<unsigned> grid, block;
  std::size_t parameter_count = 0;
  unsigned shared_bytes = 0;
  CUstream stream = nullptr;
};

struct FakeDriver {
  // Simulated properties.
  int version = 12040;
  CUresult init_result = CUDA_SUCCESS;
  std::vector<FakeGpu> gpus;
  bool free_fails_while_capturing = false;
  bool has_pools = true;
  bool uses_host_page_tables = false;
  // cuEventQuery runs one command of the event's stream.
  bool queries_run_work = true;
  // What the compiler reports if cuModuleLoadDataEx fails on request.
  std::string compiler_log;

  // The call with this number, from 0, fails, and every call of this function.
  std::size_t fail_at = SIZE_MAX;
  std::string fail_function;
  CUresult fail_result = CUDA_ERROR_UNKNOWN;
  // The function that failed.
  std::string failed;

  // Calls and launches since reset().
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  // The arguments of cuTensorMapEncodeTiled after the map.
  std::vector<std::vector<std::uint64_t>> tensor_maps;
  std::size_t count_of(const std::string& function) const;

  // Restores the initial state: CUDA 12.4 with two GPUs, sm_90 and sm_75, no failures, no history.
  void reset();
  // Returns the live objects: "1 stream, 2 allocations"; empty: none.
  std::string live() const;
  // Contexts on this thread's stack.
  std::size_t context_depth() const;
};

// Default visibility, so that the process has one instance.
[[gnu::visibility("default")]] FakeDriver& fake_driver();

// A kernel as a host function: addresses of its parameters as for cuLaunchKernel, and the number of
// threads along x.
struct FakeKernel {
  std::vector<std::size_t> parameter_bytes;
  std::function<void(void* const* parameters, unsigned grid_x, unsigned block_x)> run;
};
// Returns a kernel by name; NULL: unknown, the code does not contain it.
//
// parameter_count  [in]  that its PTX declares; 0: any
const FakeKernel* fake_kernel(const std::string& name, std::size_t parameter_count);
// Those of the golden Relax executables.
std::vector<std::pair<std::string, FakeKernel>> cnn_kernels();
// Those of gantry.cuda itself, which sort and add up.
std::vector<std::pair<std::string, FakeKernel>> sort_kernels();

}  // namespace gantry::cuda::test
