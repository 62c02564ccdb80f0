// SPDX-License-Identifier: Apache-2.0
//
// gantry.cuda-libraries - functions of NVIDIA's libraries, which compiled code of every release calls by
// name. Creating the plugin opens none of the libraries.
#pragma once

#include "function.hpp"

#include <gantry/plugin.hpp>

#include <map>
#include <memory>
#include <string_view>

namespace gantry::cuda_libraries {

// The plugin in one runtime.
struct Plugin {
  // A function of this runtime.
  struct NamedFunction {
    Services* services;
    const FunctionRow* row;

    Result<Value> call(const Call& call) const {
      return row->run(*services, {row->usage, call.env, call.args});
    }
  };

  // returns  INVALID  the value of an option is not one of its type (CONFIG)
  static Result<std::unique_ptr<Plugin>> create(Host host);
  explicit Plugin(Host host);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  auto& named_functions() { return functions_; }

  Services services;

 private:
  std::map<std::string_view, NamedFunction> functions_;
};

}  // namespace gantry::cuda_libraries
