// SPDX-License-Identifier: Apache-2.0
//
// Functions of oneDNN that compiled code calls by name, tvm.contrib.dnnl.*. gantry.contrib has them
// too, by the host's BLAS and by loops; the priority of this plugin is higher.
#pragma once

#include <gantry/call.hpp>
#include <gantry/handle.hpp>

#include <map>
#include <string_view>

namespace gantry::dnnl_plugin {

struct Plugin;

struct LibraryFunction {
  // "matmul(A, B, C, transa, transb[, alpha, beta])"
  std::string_view usage;
  Result<Value> (*run)(const Plugin& plugin, const Call& call);
  const Plugin* plugin = nullptr;

  // returns  failures with the kind of error that TVM has; INVALID for arguments, see
  //          gantry/matrix_product.hpp; EXHAUSTED, UNAVAILABLE see failure_of()
  // thread   any, in parallel
  Result<Value> call(const Call& call) const;
};

std::map<std::string_view, LibraryFunction> library_functions(const Plugin& plugin);

}  // namespace gantry::dnnl_plugin
