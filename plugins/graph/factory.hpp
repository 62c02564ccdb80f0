// SPDX-License-Identifier: Apache-2.0
//
// The module of a payload: creates executors, and returns their graph and parameters.
#pragma once

#include "model_executor.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace gantry::graph {

struct Plugin;

class Factory {
 public:
  // The manifest declares the older name, GraphRuntimeFactory, as an alias.
  static constexpr LoaderIdentity identity{.type_key = "GraphExecutorFactory", .is_parallel = true};
  static Result<std::unique_ptr<Factory>> load(Plugin& plugin, Blob& blob);

  explicit Factory(Source source);

  // The first function has the name of the payload's module.
  std::array<Method<Factory>, 6> functions() const;
  Status save(const Sink& sink) const;

  // Of model.hpp in the SDK: one function, with the name of the payload's module.
  Result<const ModelInfo*> model_info();
  Result<const Signature*> signature(std::uint32_t function);
  Result<std::unique_ptr<ModelExecutor>> executor_new(const gantry_env& env,
                                                      const ExecutorOptions& options);

  Result<Value> create(const Call& call) const;
  Result<Value> debug_create(const Call& call) const;
  Result<Value> cuda_graph_create(const Call& call) const;
  Result<Value> remove_params(const Call& call) const;
  Result<Value> get_graph_json(const Call& call) const;
  Result<Value> get_graph_params(const Call& call) const;

 private:
  enum class Kind : std::uint8_t { plain, debug, capturing };
  Result<Value> create_executor(const Call& call, std::size_t first_device, Kind kind) const;
  static Result<std::unique_ptr<Executor>> make_executor(const Source& source,
                                                         std::span<const gantry_device_id> devices,
                                                         const gantry_env* env, Kind kind);
  Status read_model();

  Source source_;
  // of the model's executors; the functions of others may write their parameters
  std::shared_ptr<UploadedConstants> uploaded_ = std::make_shared<UploadedConstants>();
  // Made by the first call that needs them.
  std::mutex mutex_;
  bool is_read_ = false;
  ModelInfo info_;
  std::vector<std::uint32_t> inputs_;
  std::unique_ptr<const Signature> signature_;
};

}  // namespace gantry::graph
