// SPDX-License-Identifier: Apache-2.0
//
// Host versions of the golden artifacts' kernels, translated from their PTX.
#include "tests/unit/cuda/fake_driver.hpp"

#include <algorithm>
#include <cmath>

namespace gantry::cuda::test {
namespace {

template <class T>
T value_of(void* const* parameters, std::size_t i) {
  return *static_cast<const T*>(parameters[i]);
}
float* floats_of(void* const* parameters, std::size_t i) { return value_of<float*>(parameters, i); }

// out[i * s3] = a[i * s4] + 2 * b[i * s5], n elements
void axpy2(void* const* parameters, unsigned grid_x, unsigned block_x) {
  const int n = value_of<int>(parameters, 3);
  const int out_stride = value_of<int>(parameters, 4);
  const int a_stride = value_of<int>(parameters, 5);
  const int b_stride = value_of<int>(parameters, 6);
  for (int i = 0; i < n && i < static_cast<int>(grid_x * block_x); ++i) {
    floats_of(parameters, 0)[i * out_stride] =
        floats_of(parameters, 1)[i * a_stride] + 2 * floats_of(parameters, 2)[i * b_stride];
  }
}

// out[o] = bias[o] + sum of data[k] * weight[o, k]; one block for each output
template <int depth, bool relu>
void dense(void* const* parameters, unsigned grid_x, unsigned) {
  for (unsigned o = 0; o < grid_x; ++o) {
    float sum = 0;
    for (int k = 0; k < depth; ++k) {
      sum += floats_of(parameters, 0)[k] * floats_of(parameters, 1)[o * depth + k];
    }
    sum += floats_of(parameters, 3)[o];
    floats_of(parameters, 2)[o] = relu ? std::max(sum, 0.0f) : sum;
  }
}

void softmax10(void* const* parameters, unsigned, unsigned) {
  const float* const in = floats_of(parameters, 0);
  float* const out = floats_of(parameters, 1);
  const float max = *std::max_element(in, in + 10);
  float sum = 0;
  for (int i = 0; i < 10; ++i) sum += std::exp(in[i] - max);
  for (int i = 0; i < 10; ++i) out[i] = std::exp(in[i] - max) / sum;
}

}  // namespace

const FakeKernel* fake_kernel(const std::string& name, std::size_t parameter_count) {
  constexpr std::size_t p = sizeof(void*);
  static const std::multimap<std::string, FakeKernel> kernels = [] {
    std::multimap<std::string, FakeKernel> all{
        {"axpy2_kernel0", {{p, p, p, 4, 4, 4, 4}, axpy2}},
        {"tvmgen_default_fused_nn_dense_add_nn_relu_kernel0", {{p, p, p, p}, dense<64, true>}},
        {"tvmgen_default_fused_nn_dense_add_nn_relu_1_kernel0", {{p, p, p, p}, dense<64, true>}},
        {"tvmgen_default_fused_nn_dense_add_kernel0", {{p, p, p, p}, dense<32, false>}},
        {"tvmgen_default_fused_nn_softmax_kernel0", {{p, p}, softmax10}},
        // Writes its scalar to its pointer; tests launches with each type, and with shared memory.
        {"store_kernel",
         {{p, 4, 8, 4, 4, 8},
          [](void* const* parameters, unsigned, unsigned) {
            auto* to = value_of<char*>(parameters, 0);
            const std::size_t sizes[] = {4, 8, 4, 4, 8};
            for (std::size_t i = 0; i < 5; ++i) {
              std::copy_n(static_cast<const char*>(parameters[1 + i]), sizes[i], to);
              to += 8;
            }
          }}},
        // Writes the sum of 99 numbers.
        {"sum_kernel",
         {std::vector<std::size_t>(100, 8),
          [](void* const* parameters, unsigned, unsigned) {
            std::int64_t sum = 0;
            for (std::size_t i = 1; i < 100; ++i) sum += value_of<std::int64_t>(parameters, i);
            *value_of<std::int64_t*>(parameters, 0) = sum;
          }}},
        // of gantry.cuda-libraries; halves of 0 to 1
        {"gantry_halves_of_floats",
         {{p, p, 8},
          [](void* const* parameters, unsigned, unsigned) {
            const auto count = value_of<std::uint64_t>(parameters, 2);
            for (std::uint64_t i = 0; i < count; ++i) {
              value_of<_Float16*>(parameters, 1)[i] =
                  static_cast<_Float16>(floats_of(parameters, 0)[i]);
            }
          }}},
        {"empty_kernel", {{}, [](void* const*, unsigned, unsigned) {}}},
        // A tensor map is passed by value, 128 bytes.
        {"map_kernel", {{128, p}, [](void* const* parameters, unsigned, unsigned) {
                          std::copy_n(static_cast<const char*>(parameters[0]), 128,
                                      value_of<char*>(parameters, 1));
                        }}}};
    for (auto& kernel : cnn_kernels()) all.insert(std::move(kernel));
    for (auto& kernel : sort_kernels()) all.insert(std::move(kernel));
    return all;
  }();
  const auto [first, last] = kernels.equal_range(name);
  for (auto found = first; found != last; ++found) {
    if (parameter_count == 0 || found->second.parameter_bytes.size() == parameter_count)
      return &found->second;
  }
  return nullptr;
}

}  // namespace gantry::cuda::test
