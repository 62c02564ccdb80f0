// SPDX-License-Identifier: Apache-2.0
//
// The module of a payload: creates executors.
#pragma once

#include "model_executor.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gantry::aot {

struct Plugin;

class Factory {
 public:
  static constexpr LoaderIdentity identity{.type_key = "AotExecutorFactory", .is_parallel = true};
  static Result<std::unique_ptr<Factory>> load(Plugin& plugin, Blob& blob);

  explicit Factory(Source source);

  // The first function has the name of the payload's module.
  std::array<Method<Factory>, 3> functions() const;
  Status save(const Sink& sink) const {
    return write_payload(*source_.payload, source_.with_parameters, sink);
  }

  // Of model.hpp in the SDK: one function, with the name of the payload's module.
  Result<const ModelInfo*> model_info() { return &info_; }
  Result<const Signature*> signature(std::uint32_t function);
  Result<std::unique_ptr<ModelExecutor>> executor_new(const gantry_env& env,
                                                      const ExecutorOptions& options);

  Result<Value> create(const Call& call) const;
  Result<Value> list_module_names(const Call& call) const;
  Result<Value> remove_params(const Call& call) const;

 private:
  Source source_;
  ModelInfo info_;
  // Made by the first call that needs them.
  std::mutex mutex_;
  std::vector<std::size_t> inputs_;
  std::unique_ptr<const Signature> signature_;
};

}  // namespace gantry::aot
