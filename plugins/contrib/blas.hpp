// SPDX-License-Identifier: Apache-2.0
//
// The host's library of basic linear algebra, which is opened when it is first needed.
#pragma once

#include <cstdint>
#include <string_view>

namespace gantry::contrib {

// The functions that are used, with the numbers of cblas.h.
struct Blas {
  static constexpr int row_major = 101, plain = 111, transposed = 112;

  void (*sgemm)(int order, int transa, int transb, int m, int n, int k, float alpha, const float* a,
                int lda, const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  void (*dgemm)(int order, int transa, int transb, int m, int n, int k, double alpha,
                const double* a, int lda, const double* b, int ldb, double beta, double* c,
                int ldc) = nullptr;
  // "libopenblas.so.0"
  std::string_view name;
};

// Returns NULL if this host has no such library.
//
// thread   any
const Blas* blas();

}  // namespace gantry::contrib
