// SPDX-License-Identifier: Apache-2.0
//
// What the fakes of NVIDIA's libraries share: calls, work in a stream of the fake driver, elements, objects.
#pragma once

#include "tests/unit/cuda/fake_driver.hpp"
#include "tests/unit/cuda_libraries/fake_libraries.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cuda_libraries::test {

// cudaDataType
enum : int { float32 = 0, float64 = 1, float16 = 2, int8 = 3, int32 = 10, bfloat16 = 14 };

inline void fault(const std::string& text) { fake_libraries().faults.push_back(text); }

// Records a call; other than 0: what it returns.
inline int enter(const char* function) {
  fake_libraries().calls.emplace_back(function);
  if (gantry::cuda::test::fake_driver().context_depth() == 0)
    fault(std::string(function) + " without a context");
  const auto found = fake_libraries().failing.find(function);
  return found == fake_libraries().failing.end() ? 0 : found->second;
}
#define ENTER(function) \
  if (const int faulty = enter(#function); faulty != 0) return faulty

// Adds work to a stream of the fake driver, which may run it several times: a captured one.
inline void add(void* stream, std::function<void()> work) {
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* self) { (*static_cast<std::function<void()>*>(self))(); };
  if (cuLaunchHostFunc(static_cast<CUstream>(stream), run, kept) != CUDA_SUCCESS)
    fault("the stream is none of the driver's");
  // Freed with the process: a graph may run the work again.
  static std::vector<std::unique_ptr<std::function<void()>>> all;
  all.emplace_back(kept);
}

inline double load(const void* data, int type, std::int64_t i) {
  switch (type) {
    case float64:
      return static_cast<const double*>(data)[i];
    case float16:
      return static_cast<double>(static_cast<const _Float16*>(data)[i]);
    case bfloat16: {
      const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(data)[i]} << 16;
      float value = 0;
      std::copy_n(reinterpret_cast<const char*>(&bits), sizeof value,
                  reinterpret_cast<char*>(&value));
      return static_cast<double>(value);
    }
    case int8:
      return static_cast<const std::int8_t*>(data)[i];
    case int32:
      return static_cast<const std::int32_t*>(data)[i];
    default:
      return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}
inline void store(void* data, int type, std::int64_t i, double value) {
  const auto single = static_cast<float>(value);
  switch (type) {
    case float64:
      static_cast<double*>(data)[i] = value;
      return;
    case float16:
      static_cast<_Float16*>(data)[i] = static_cast<_Float16>(single);
      return;
    case bfloat16: {
      std::uint32_t bits = 0;
      std::copy_n(reinterpret_cast<const char*>(&single), sizeof bits,
                  reinterpret_cast<char*>(&bits));
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(bits >> 16);
      return;
    }
    case int8:
      static_cast<std::int8_t*>(data)[i] =
          static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -128.0, 127.0));
      return;
    case int32:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
      return;
    default:
      static_cast<float*>(data)[i] = single;
  }
}

template <class T>
int made(void** out, T* object) {
  *out = object;
  ++fake_libraries().live;
  return 0;
}
template <class T>
int freed(void* object) {
  delete static_cast<T*>(object);
  --fake_libraries().live;
  return 0;
}

}  // namespace gantry::cuda_libraries::test
