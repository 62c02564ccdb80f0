// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.cuda. Each is a row of a table of its subject; compiled code of every dialect finds
// it by its name, with the same values as arguments.
#pragma once

#include <gantry/call.hpp>
#include <gantry/result.hpp>

#include <span>
#include <string_view>

namespace gantry::cuda {

struct Plugin;

struct FunctionRow {
  // "tvm.contrib.thrust.sort"
  std::string_view name;
  // Argument names for errors: "sort(x, values, indices, ascending[, workspace])".
  std::string_view usage;
  // call     arguments are borrowed; its usage is that of the row
  Result<Value> (*run)(Plugin& plugin, const Call& call);
};

// A function of one runtime.
struct NamedFunction {
  Plugin* plugin;
  const FunctionRow* row;

  Result<Value> call(const Call& call) const {
    return row->run(*plugin, {row->usage, call.env, call.args});
  }
};

// Rows of one subject each.
std::span<const FunctionRow> sort_scan_functions();
std::span<const FunctionRow> tensor_map_functions();

}  // namespace gantry::cuda
