// SPDX-License-Identifier: Apache-2.0
//
// Functions with further arguments, which follow those of a call.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/storage_memory.hpp>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace gantry::relax {

struct Closure {
  static constexpr const char* type_name = "relax.vm.Closure";

  Closure(const Host& host, std::shared_ptr<StorageMemory> memory, std::uint32_t index = 0);

  // of the executable
  std::uint32_t function;
  // another function, if it is not one of the executable
  Value other;
  // Counts `captured`: a loop can make any number of closures, of which each captures what the one
  // before does and more.
  HostMemory counted;
  std::pmr::vector<Value> captured;
};

// Creates a closure.
//
// memory   [in]   counts what it captures
// function [in]   a function object, or a closure, whose own arguments come first
// captured [in]   retained; tensors by reference are copied in the stream of `env`
// throws   ErrorThrown  a limit is reached (MEMORY_LIMIT)
Result<Value> make_closure(const Host& host, const std::shared_ptr<StorageMemory>& memory,
                           const gantry_value& function, std::span<const gantry_value> captured,
                           const gantry_env* env);

}  // namespace gantry::relax
