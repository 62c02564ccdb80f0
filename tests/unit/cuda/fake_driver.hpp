// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU: a library that exports what libcuda.so.1 exports, keeps device memory in host memory, runs
// the kernels of the golden artifacts as functions of the host, and fails on request.
//
//     FakeDriver& fake = fake_driver();          // the library's own, whoever opened it
//     fake.reset();
//     fake.fail_at = 7;                          // the eighth call fails, as CUDA_ERROR_UNKNOWN
//     ...
//     EXPECT_EQ(fake.live(), "");                // nothing is held
//
// Work in a stream runs when somebody waits for it, never earlier: what does not wait shows. Only copies from and to memory
// that is not page-locked wait by themselves, as in the real driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gantry::cuda::test {

struct FakeGpu {
  std::string name;
  int major = 0;
  int minor = 0;
  std::uint64_t memory = 0;
  int shared_memory_optin = 100 * 1024;
};

// What one launch was asked for.
struct FakeLaunch {
  std::string kernel;
  std::vector<unsigned> grid, block;
  unsigned shared_bytes = 0;
  CUstream stream = nullptr;
};

struct FakeDriver {
  // What it pretends.
  int version = 12040;
  CUresult init_result = CUDA_SUCCESS;
  std::vector<FakeGpu> gpus;
  bool free_fails_while_capturing = false;

  // The call of that number, from 0, fails; so does every call of that function.
  std::size_t fail_at = SIZE_MAX;
  std::string fail_function;
  CUresult fail_result = CUDA_ERROR_UNKNOWN;
  // the function that did
  std::string failed;

  // What happened, since reset().
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  std::size_t count_of(const std::string& function) const;

  // Two GPUs, sm_90 and sm_75, of CUDA 12.4; nothing fails, nothing happened, nothing is held.
  void reset();
  // What is held, in words: "1 stream, 2 allocations"; empty: nothing.
  std::string live() const;
  // Contexts on this thread's stack.
  std::size_t context_depth() const;
};

// Default visibility: one in the process.
[[gnu::visibility("default")]] FakeDriver& fake_driver();

// A kernel on the host: its parameters by their addresses, as cuLaunchKernel takes them, and the grid's x times the
// block's x.
struct FakeKernel {
  std::vector<std::size_t> parameter_bytes;
  std::function<void(void* const* parameters, unsigned grid_x, unsigned block_x)> run;
};
// NULL: not known; then its code has no such kernel.
const FakeKernel* fake_kernel(const std::string& name);

}  // namespace gantry::cuda::test
