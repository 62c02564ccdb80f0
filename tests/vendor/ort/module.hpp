// SPDX-License-Identifier: Apache-2.0
//
// A payload of type key "onnxruntime": an ONNX model, as a model of gantry and as a function.
//
//     payload   str name of the function; str bytes of an ONNX model
//     function  name(inputs..., outputs...) writes the outputs, as operators of graphs do;
//               name(inputs...) returns the output, or an array of several
#pragma once

#include "session.hpp"

#include <gantry/loader.hpp>
#include <gantry/model.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ort {

class Plugin;
class Module;

// Runs of the library may overlap: an executor has nothing of its own but its placements.
class Executor {
 public:
  Executor(gantry::Host host, const Session& session);

  gantry::Result<const gantry::Placements*> placements(std::uint32_t) { return &placements_; }
  gantry::Status run(const gantry_env& env, gantry::ExecutorRun& run);

 private:
  gantry::Host host_;
  const Session& session_;
  gantry::Placements placements_;
};

struct Function {
  gantry::Result<gantry::Value> call(const gantry::Call& call) const;
  Module* module;
};

class Module {
 public:
  static constexpr gantry::LoaderIdentity identity{.type_key = "onnxruntime", .is_parallel = true};
  static gantry::Result<std::unique_ptr<Module>> load(Plugin& plugin, gantry::Blob& blob);

  Function* find(std::string_view name) { return name == name_ ? &function_ : nullptr; }
  std::vector<std::string_view> names() const { return {name_}; }
  gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }

  // Creates the session.
  gantry::Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

  gantry::Result<const gantry::ModelInfo*> model_info() { return &info_; }
  gantry::Result<const gantry::Signature*> signature(std::uint32_t function);
  gantry::Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
                                                         const gantry::ExecutorOptions& options);

  gantry::Host host() const;
  // Returns the session, which all executors and functions share; the first call creates it.
  //
  // thread   any
  gantry::Result<const Session*> session();

 private:
  explicit Module(Plugin& plugin) : plugin_(plugin) {}

  Plugin& plugin_;
  gantry::PayloadBytes kept_;
  // in `kept_`
  std::string_view name_, model_;
  std::string origin_;
  gantry::ModelInfo info_;
  Function function_{this};
  std::mutex mutex_;
  std::unique_ptr<const Session> session_;
};

}  // namespace ort
