// SPDX-License-Identifier: Apache-2.0
//
// A payload's module: the graphs that it imports as one model, whose output is the mean of theirs.
//
//     payload   vec<str> members: names of the graphs
//     model     predict(the inputs of each member) -> the mean of their outputs
//
// The host offers `predict` to the command line, to C, C++ and Python, and to servers. It compares
// inputs with the signature and copies those that are not where an executor takes them.
#pragma once

#include "member.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ensemble {

class Plugin;

// One executor of each member.
class Executor {
 public:
  // members  [in]   at least one, all of one signature
  Executor(gantry::Host host, std::vector<Member> members);

  gantry::Result<const gantry::Placements*> placements(std::uint32_t) { return &placements_; }
  gantry::Status run(const gantry_env& env, gantry::ExecutorRun& run);

 private:
  gantry::Host host_;
  std::vector<Member> members_;
  gantry::Placements placements_;
  std::vector<double> sums_;
};

class Ensemble {
 public:
  static constexpr gantry::LoaderIdentity identity{.type_key = "example.ensemble",
                                                   .is_parallel = true};
  static gantry::Result<std::unique_ptr<Ensemble>> load(Plugin& plugin, gantry::Blob& blob);

  static auto functions() { return std::array{gantry::method<&Ensemble::members, "members()">}; }
  gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }

  // Of a model, see gantry/model.hpp.
  gantry::Result<const gantry::ModelInfo*> model_info() { return &info_; }
  gantry::Result<const gantry::Signature*> signature(std::uint32_t function);
  gantry::Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
                                                         const gantry::ExecutorOptions& options);

 private:
  explicit Ensemble(gantry::Host host) : host_(host) {}
  // Returns the names as an array.
  gantry::Result<gantry::Value> members(const gantry::Call& call) const;

  gantry::Host host_;
  gantry_object* node_ = nullptr;
  gantry::PayloadBytes kept_;
  // in `kept_`
  std::vector<std::string_view> names_;
  gantry::ModelInfo info_;
  // Made by the first call that needs it.
  std::mutex mutex_;
  std::unique_ptr<const gantry::Signature> signature_;
};

}  // namespace ensemble
