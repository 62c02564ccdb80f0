// SPDX-License-Identifier: Apache-2.0
//
// The side of gantry, see beside.hpp.
#include "beside.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/embed.hpp>

#include <algorithm>
#include <cstdio>
#include <span>

namespace gantry::bench {
namespace {

Status check_calls(Runtime& runtime, const Function& axpy2) {
  Tensor tensors[3];
  for (Tensor& tensor : tensors) {
    GANTRY_TRY(tensor, runtime.tensor({beside_size}, dtypes::float32));
  }
  std::ranges::copy(beside_a, tensors[0].elements<float>().begin());
  std::ranges::copy(beside_b, tensors[1].elements<float>().begin());
  GANTRY_CHECK(axpy2(tensors[0], tensors[1], tensors[2]));
  if (!std::ranges::equal(tensors[2].elements<float>(), beside_c))
    return bug("axpy2 returns other numbers");

  const auto wrong = axpy2();
  if (wrong.ok()) return bug("axpy2 without arguments returns");
  if (wrong.error().reason != "HOST_CODE")
    return bug("axpy2 without arguments fails with ", wrong.error().message);
  return {};
}

Status run(const char* artifact, int (*between)()) {
  GANTRY_TRY(Runtime runtime, Runtime::create());
  GANTRY_TRY(const Module model, runtime.load(artifact));
  GANTRY_TRY(const Function axpy2, model.function("axpy2"));
  GANTRY_CHECK(check_calls(runtime, axpy2));
  if (between() != 0) return bug("tvm-ffi fails");
  return check_calls(runtime, axpy2);
}

}  // namespace
}  // namespace gantry::bench

extern "C" __attribute__((visibility("default"))) int gantry_beside(const char* artifact,
                                                                    int (*between)()) {
  const gantry::Status done = gantry::bench::run(artifact, between);
  if (!done.ok()) std::fprintf(stderr, "gantry: %s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
