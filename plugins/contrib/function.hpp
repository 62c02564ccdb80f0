// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.contrib. Each is a row of a table of its subject; compiled code of every dialect
// finds it by its name, with the same values as arguments.
#pragma once

#include "output.hpp"
#include "threads.hpp"

#include <gantry/call.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/storage_memory.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace gantry::contrib {

// What the functions of one runtime use.
struct Services {
  Host host;
  // counts what functions need for their own work
  std::shared_ptr<StorageMemory> memory;
  Threads threads;
  Output output;
};

struct FunctionRow {
  // "tvm.contrib.sort.sort"
  std::string_view name;
  // Argument names for errors: "sort(x, out, axis, ascending)".
  std::string_view usage;
  // call     arguments are borrowed; its usage is that of the row
  Result<Value> (*run)(const Services& services, const Call& call);
};

// Rows of one subject each.
std::span<const FunctionRow> matmul_functions();
std::span<const FunctionRow> random_functions();
std::span<const FunctionRow> run_functions();
std::span<const FunctionRow> sort_functions();
std::span<const FunctionRow> tensor_functions();

}  // namespace gantry::contrib
