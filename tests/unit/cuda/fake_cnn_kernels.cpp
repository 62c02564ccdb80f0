// SPDX-License-Identifier: Apache-2.0
//
// Host versions of the kernels of relax/cnn_cuda.so, for one image, and of relax/cnn_dyn_cuda.so,
// whose batch is the last parameter. Names and order of the parameters are those of the source in
// relax/cnn_cuda_source.so.
#include "tests/unit/cuda/fake_driver.hpp"

#include <algorithm>
#include <cmath>

namespace gantry::cuda::test {
namespace {

constexpr std::size_t p = sizeof(void*);

const float* input(void* const* parameters, std::size_t i) {
  return *static_cast<const float* const*>(parameters[i]);
}
float* output(void* const* parameters, std::size_t i) {
  return *static_cast<float* const*>(parameters[i]);
}
template <bool dynamic>
std::int64_t batch(void* const* parameters, std::size_t i) {
  return dynamic ? *static_cast<const std::int64_t*>(parameters[i]) : 1;
}

// A convolution of images [channels, extent, extent] with weights [out channels, channels, 3, 3].
struct Convolution {
  std::int64_t channels, out_channels, extent;

  float at(const float* image, const float* weights, std::int64_t y, std::int64_t x) const {
    float sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t k = 0; k < 9; ++k) {
        const std::int64_t row = y + k / 3 - 1, column = x + k % 3 - 1;
        if (row < 0 || row >= extent || column < 0 || column >= extent) continue;
        sum += image[(c * extent + row) * extent + column] * weights[c * 9 + k];
      }
    }
    return sum;
  }
  void run(const float* images, const float* weights, const float* bias, float* out,
           std::int64_t image_count) const {
    for (std::int64_t n = 0; n < image_count; ++n, images += channels * extent * extent) {
      for (std::int64_t o = 0; o < out_channels; ++o) {
        for (std::int64_t i = 0; i < extent * extent; ++i) {
          const float sum = at(images, weights + o * channels * 9, i / extent, i % extent);
          *out++ = std::max(sum + bias[o], 0.0f);
        }
      }
    }
  }
};

template <bool dynamic>
void conv2d(void* const* a, unsigned, unsigned) {
  Convolution{1, 8, 8}.run(input(a, 3), input(a, 1), input(a, 2), output(a, 0),
                           batch<dynamic>(a, 4));
}
template <bool dynamic>
void conv2d1(void* const* a, unsigned, unsigned) {
  Convolution{8, 16, 4}.run(input(a, 1), input(a, 2), input(a, 3), output(a, 0),
                            batch<dynamic>(a, 4));
}

// The largest of 2 x 2 elements; images of extent x extent.
template <bool dynamic, std::int64_t channels, std::int64_t extent>
void max_pool2d(void* const* a, unsigned, unsigned) {
  const std::int64_t images = channels * batch<dynamic>(a, 3), half = extent / 2;
  for (std::int64_t i = 0; i < images * half * half; ++i) {
    const float* const in = input(a, 0) + (i / half * 2 * extent) + (i % half * 2);
    output(a, 1)[i] = std::max({in[0], in[1], in[extent], in[extent + 1]});
  }
}

template <bool dynamic>
void reshape(void* const* a, unsigned, unsigned) {
  std::copy_n(input(a, 1), 64 * batch<dynamic>(a, 3), output(a, 0));
}

// [n, 64] and weights [64, 10]
template <bool dynamic>
void matmul(void* const* a, unsigned, unsigned) {
  for (std::int64_t i = 0; i < 10 * batch<dynamic>(a, 4); ++i) {
    float sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum += input(a, 1)[i / 10 * 64 + k] * input(a, 2)[k * 10 + i % 10];
    output(a, 0)[i] = sum + input(a, 3)[i % 10];
  }
}

template <bool dynamic>
void softmax(void* const* a, unsigned, unsigned) {
  for (std::int64_t n = 0; n < batch<dynamic>(a, 2); ++n) {
    const float* const in = input(a, 1) + 10 * n;
    const float largest = *std::max_element(in, in + 10);
    float sum = 0;
    for (int i = 0; i < 10; ++i) sum += std::exp(in[i] - largest);
    for (int i = 0; i < 10; ++i) output(a, 0)[10 * n + i] = std::exp(in[i] - largest) / sum;
  }
}

}  // namespace

std::vector<std::pair<std::string, FakeKernel>> cnn_kernels() {
  return {{"fused_conv2d_add_relu_kernel", {{p, p, p, p}, conv2d<false>}},
          {"fused_conv2d_add_relu_kernel", {{p, p, p, p, 8}, conv2d<true>}},
          {"fused_conv2d1_add1_relu1_kernel", {{p, p, p, p}, conv2d1<false>}},
          {"fused_conv2d1_add1_relu1_kernel", {{p, p, p, p, 8}, conv2d1<true>}},
          {"max_pool2d_kernel", {{p, p}, max_pool2d<false, 8, 8>}},
          {"max_pool2d_kernel", {{p, p, 8, 8}, max_pool2d<true, 8, 8>}},
          {"max_pool2d1_kernel", {{p, p}, max_pool2d<false, 16, 4>}},
          {"max_pool2d1_kernel", {{p, p, 8, 8}, max_pool2d<true, 16, 4>}},
          {"reshape_kernel", {{p, p}, reshape<false>}},
          {"reshape_kernel", {{p, p, 8, 8}, reshape<true>}},
          {"fused_matmul_add2_kernel", {{p, p, p, p}, matmul<false>}},
          {"fused_matmul_add2_kernel", {{p, p, p, p, 8}, matmul<true>}},
          {"softmax_kernel", {{p, p}, softmax<false>}},
          {"softmax_kernel", {{p, p, 8}, softmax<true>}}};
}

}  // namespace gantry::cuda::test
