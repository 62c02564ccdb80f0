// SPDX-License-Identifier: Apache-2.0
//
// Tensors over numbers of a test.
#pragma once

#include "tests/support/fake_host.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::test {

template <class T>
struct Numbers {
  Numbers(std::vector<std::int64_t> extents, std::vector<T> values, gantry_dtype type)
      : shape(std::move(extents)), data(std::move(values)) {
    tensor = compact_tensor(type, shape, cpu, data.data());
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  gantry_value value() { return tensor_ref_value(&tensor); }

  std::vector<std::int64_t> shape;
  std::vector<T> data;
  gantry_tensor tensor{};
};
using Floats = Numbers<float>;
inline Floats floats(std::vector<std::int64_t> shape, std::vector<float> values) {
  return Floats(std::move(shape), std::move(values), dtypes::float32);
}
inline Numbers<std::int32_t> integers(std::vector<std::int64_t> shape,
                                      std::vector<std::int32_t> values) {
  return {std::move(shape), std::move(values), dtypes::int32};
}

}  // namespace gantry::test
