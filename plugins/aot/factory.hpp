// SPDX-License-Identifier: Apache-2.0
//
// The module of a payload: creates executors.
#pragma once

#include "executor.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <memory>
#include <utility>

namespace gantry::aot {

struct Plugin;

class Factory {
 public:
  static constexpr LoaderIdentity identity{.type_key = "AotExecutorFactory", .is_parallel = true};
  static Result<std::unique_ptr<Factory>> load(Plugin& plugin, Blob& blob);

  explicit Factory(Source source) : source_(std::move(source)) {}

  // The first function has the name of the payload's module.
  std::array<Method<Factory>, 3> functions() const;
  Status save(const Sink& sink) const {
    return write_payload(*source_.payload, source_.with_parameters, sink);
  }

  Result<Value> create(const Call& call) const;
  Result<Value> list_module_names(const Call& call) const;
  Result<Value> remove_params(const Call& call) const;

 private:
  Source source_;
};

}  // namespace gantry::aot
