// SPDX-License-Identifier: Apache-2.0
//
// gantry.contrib - functions that compiled code of every release calls by name and that belong to no
// virtual machine.
#pragma once

#include "function.hpp"

#include <gantry/plugin.hpp>

#include <map>
#include <memory>
#include <string_view>

namespace gantry::contrib {

// The plugin in one runtime.
struct Plugin {
  // A function of this runtime.
  struct NamedFunction {
    const Services* services;
    const FunctionRow* row;

    // returns  failures with the kind of error that TVM has
    Result<Value> call(const Call& call) const;
  };

  // returns  INVALID  the value of an option is not one of its type (CONFIG)
  static Result<std::unique_ptr<Plugin>> create(Host host);
  Plugin(Host host, std::uint64_t memory_limit);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  auto& named_functions() { return functions_; }

 private:
  const Services services_;
  std::map<std::string_view, NamedFunction> functions_;
};

}  // namespace gantry::contrib
