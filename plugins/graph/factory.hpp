// SPDX-License-Identifier: Apache-2.0
//
// The module of a payload: creates executors, and returns their graph and parameters.
#pragma once

#include "memory.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace gantry::graph {

struct Plugin;

class Factory {
 public:
  // The manifest declares the older name, GraphRuntimeFactory, as an alias.
  static constexpr LoaderIdentity identity{.type_key = "GraphExecutorFactory", .is_parallel = true};
  static Result<std::unique_ptr<Factory>> load(Plugin& plugin, Blob& blob);

  explicit Factory(Source source) : source_(std::move(source)) {}

  // The first function has the name of the payload's module.
  std::array<Method<Factory>, 6> functions() const;
  Status save(const Sink& sink) const;

  Result<Value> create(const Call& call) const;
  Result<Value> debug_create(const Call& call) const;
  Result<Value> cuda_graph_create(const Call& call) const;
  Result<Value> remove_params(const Call& call) const;
  Result<Value> get_graph_json(const Call& call) const;
  Result<Value> get_graph_params(const Call& call) const;

 private:
  enum class Kind : std::uint8_t { plain, debug, capturing };
  Result<Value> create_executor(const Call& call, std::size_t first_device, Kind kind) const;

  Source source_;
};

}  // namespace gantry::graph
