// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuRAND, declared here with the numbers of its header.
//
// source   NVIDIA's documentation of cuRAND 10
#pragma once

#include "driver.hpp"
#include "half.hpp"
#include "status.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace gantry::cuda_libraries {

Failure curand_failure(std::string_view function, int status);

struct Curand {
  static Result<std::unique_ptr<const Curand>> open(const std::string& library);

  // curandRngType_t: XORWOW so far
  static constexpr int default_generator = 100;

  int (*create)(void** generator, int type) = nullptr;
  int (*destroy)(void* generator) = nullptr;
  int (*set_seed)(void* generator, unsigned long long seed) = nullptr;
  int (*set_stream)(void* generator, void* stream) = nullptr;
  // From 0, which is excluded, to 1, which is not.
  int (*uniform_float)(void* generator, float* out, std::size_t count) = nullptr;
  int (*uniform_double)(void* generator, double* out, std::size_t count) = nullptr;
  std::string name;
};

// A generator with a seed of its own: two that run at the same time do not give the same numbers.
struct CurandGenerator {
  // Its state is in the device's memory.
  static constexpr bool is_of_stream = true;
  static Result<std::unique_ptr<CurandGenerator>> create(const Curand& api, const Driver& driver);
  CurandGenerator(const Curand& given, void* made) : api(given), generator(made) {}
  CurandGenerator(const CurandGenerator&) = delete;
  CurandGenerator& operator=(const CurandGenerator&) = delete;
  ~CurandGenerator() { api.destroy(generator); }

  const Curand& api;
  void* generator;
  // made when it is first needed
  std::optional<HalfConversion> halves;
};

}  // namespace gantry::cuda_libraries
