// SPDX-License-Identifier: Apache-2.0
#include <gantry/system_library.hpp>

#include <algorithm>
#include <cstdio>

gantry::Status add() {
  GANTRY_TRY(auto runtime, gantry::Runtime::create());
  GANTRY_TRY(const auto model, gantry::system_library(runtime, "gl_"));
  GANTRY_TRY(const auto axpy, model.function("axpy"));
  constexpr gantry_dtype float32{2, 32, 1};
  GANTRY_TRY(const auto a, runtime.tensor({4}, float32));
  GANTRY_TRY(const auto b, runtime.tensor({4}, float32));
  GANTRY_TRY(const auto sum, runtime.tensor({4}, float32));
  std::ranges::fill(a.elements<float>(), 1.0f);
  std::ranges::fill(b.elements<float>(), 2.0f);
  // sum = 2.5 * a + b, of 4 elements
  GANTRY_CHECK(axpy(a, b, sum, 2.5, 4));
  std::printf("%g\n", sum.elements<float>()[3]);
  return {};
}

int main() {
  const auto done = add();
  return done.ok() ? 0 : (std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1);
}
