// SPDX-License-Identifier: Apache-2.0
//
// The kernels of plugins/cuda/kernels/sort_scan.cu as functions of the host, from the same source: blocks run
// one after the other, and a step of a block is a loop over its threads.
#include "tests/unit/cuda/fake_driver.hpp"

#include <cstring>
#include <utility>

namespace {

unsigned block_index;

struct Block {
  unsigned index() const { return block_index; }
  template <class Step>
  void each(const Step& step) const {
    for (unsigned t = 0; t < 256; ++t) step(t);
  }
};

}  // namespace

#define GANTRY_KERNELS_ON_HOST
#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#pragma GCC diagnostic push
// Macros of the source have the names of parameters as arguments.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
namespace {
#include "plugins/cuda/kernels/sort_scan.cu"
}
#pragma GCC diagnostic pop

namespace gantry::cuda::test {
namespace {

template <class T>
T value_of(const void* parameter) {
  T value;
  std::memcpy(&value, parameter, sizeof value);
  return value;
}

template <class... P>
FakeKernel kernel_of(void (*function)(P...)) {
  return {{sizeof(P)...}, [function](void* const* parameters, unsigned grid, unsigned block) {
            // Wrong blocks compute nothing.
            if (block != threads) return;
            for (block_index = 0; block_index < grid; ++block_index) {
              [&]<std::size_t... i>(std::index_sequence<i...>) {
                function(value_of<P>(parameters[i])...);
              }
              (std::index_sequence_for<P...>());
            }
          }};
}

}  // namespace

std::vector<std::pair<std::string, FakeKernel>> sort_kernels() {
#define KERNEL(name) \
  { #name, kernel_of(name) }
  return {KERNEL(gantry_keys_f16),    KERNEL(gantry_keys_f32),    KERNEL(gantry_keys_f64),
          KERNEL(gantry_keys_i32),    KERNEL(gantry_keys_i64),    KERNEL(gantry_count_32),
          KERNEL(gantry_count_64),    KERNEL(gantry_move_32),     KERNEL(gantry_move_64),
          KERNEL(gantry_ordered_16),  KERNEL(gantry_ordered_32),  KERNEL(gantry_ordered_64),
          KERNEL(gantry_wrapped_32),  KERNEL(gantry_wrapped_64),  KERNEL(gantry_numbers_i32),
          KERNEL(gantry_numbers_i64), KERNEL(gantry_numbers_f32), KERNEL(gantry_numbers_f64),
          KERNEL(gantry_sums_i32),    KERNEL(gantry_sums_i64),    KERNEL(gantry_sums_f32),
          KERNEL(gantry_sums_f64),    KERNEL(gantry_scan_i32),    KERNEL(gantry_scan_i64),
          KERNEL(gantry_scan_f32),    KERNEL(gantry_scan_f64),    KERNEL(gantry_write_i32),
          KERNEL(gantry_write_i64),   KERNEL(gantry_write_f32),   KERNEL(gantry_write_f64)};
#undef KERNEL
}

}  // namespace gantry::cuda::test
