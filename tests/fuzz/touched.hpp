// SPDX-License-Identifier: Apache-2.0
//
// A kernel for runs on a fake host: it reads each byte of its tensors and writes the first and the
// last one, so that a sanitizer finds those that are not in memory.
#pragma once

#include "tests/support/fake_host.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>

namespace gantry::fuzz {

inline void touch(const test::FakeHost& fake, const gantry_value& value) {
  const gantry_tensor* const tensor = gantry_value_tensor(&value);
  // Builtins make compact tensors; arguments with strides pass through them.
  if (tensor == nullptr || tensor->strides != nullptr) return;
  const auto bytes = tensor_bytes(shape_of(*tensor), tensor->dtype);
  if (!bytes.ok() || *bytes == 0) return;
  std::uint8_t* const memory = fake.memory_of(*tensor);
  volatile std::uint8_t sum = 0;
  for (std::uint64_t i = 0; i < *bytes; ++i) sum = static_cast<std::uint8_t>(sum + memory[i]);
  memory[0] = static_cast<std::uint8_t>(memory[0] + 0);
  memory[*bytes - 1] = static_cast<std::uint8_t>(memory[*bytes - 1] + 0);
}

// Adds an import "kernel" that touches its arguments and returns nothing.
inline void add_kernel(test::FakeHost& fake) {
  fake.add_function("kernel", [&fake](const gantry_env*, std::span<const gantry_value> args,
                                      gantry_value*, gantry_status*) {
    for (const gantry_value& argument : args) touch(fake, argument);
    return gantry_code{GANTRY_OK};
  });
}

}  // namespace gantry::fuzz
