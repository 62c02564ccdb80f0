// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS, cuBLASLt, cuDNN and cuRAND without NVIDIA's libraries: one library that exports what the plugin uses of
// them, computes in the streams of the fake driver, and fails on request.
//
//     FakeLibraries& fake = fake_libraries();    // the library's only instance
//     fake.reset();
//     fake.failing["cublasGemmEx"] = 15;         // CUBLAS_STATUS_NOT_SUPPORTED
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gantry::cuda_libraries::test {

// A product as the library got it: column-major.
struct FakeProduct {
  std::string function;
  int op_a, op_b;
  std::int64_t m, n, k;
  int input, output, compute;
  std::int64_t lda, ldb, ldc, a_step, b_step, c_step, count;
  void* stream;
  const void* workspace;
  std::size_t workspace_bytes;
  // cublasLtEpilogue_t
  int epilogue = 1;
  const void* bias = nullptr;
};

// A convolution, a gradient or a softmax as cuDNN got it.
struct FakeCudnnCall {
  std::string function;
  int algorithm, mode, groups, math;
  // cudnnDataType_t of the sums, of x and of y
  int compute, x, y;
  void* stream;
  const void* workspace;
  std::size_t workspace_bytes;
};

// An algorithm of the convolutions of cuDNN.
struct FakeAlgorithm {
  int number, status;
  std::size_t workspace_bytes;
};

struct FakeLibraries {
  // These functions return the status.
  std::map<std::string, int, std::less<>> failing;
  // What the heuristic of cuBLASLt chooses; not more than it may.
  std::size_t chosen_workspace = 4096;
  int choices = 1;
  // Those of cuDNN, the fastest first. It has no others.
  std::vector<FakeAlgorithm> algorithms{{1, 0, 4096}, {0, 0, 0}};

  // Calls since reset(), and the products among them.
  std::vector<std::string> calls;
  std::vector<FakeProduct> products;
  std::vector<FakeCudnnCall> cudnn_calls;
  // of each call that generates numbers
  std::vector<void*> generator_streams;
  std::vector<unsigned long long> seeds;
  // Handles, generators and descriptors that exist.
  int live = 0;
  // Violations of the libraries' rules.
  std::vector<std::string> faults;

  std::size_t count_of(const std::string& function) const;
  void reset();
};

// Default visibility, so that the process has one instance.
[[gnu::visibility("default")]] FakeLibraries& fake_libraries();

}  // namespace gantry::cuda_libraries::test
