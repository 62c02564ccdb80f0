// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph that is ready to run: its plan and the frames of its calls.
#pragma once

#include "frame.hpp"
#include "plan.hpp"

#include <gantry/subgraph_module.hpp>

#include <memory>
#include <span>

namespace gantry::dnnl_plugin {

struct Plugin;

class Program {
 public:
  // Creates the primitives of all operators and reorders their weights.
  //
  // returns  UNSUPPORTED  an operator or an attribute that the table of operators (operators.cpp)
  //                       does not have, or that oneDNN does not implement (SUBGRAPH_OPERATOR)
  //          MALFORMED    an attribute, or shapes that do not fit together (SUBGRAPH)
  //          EXHAUSTED    memory
  // costs    may generate code: milliseconds for each operator
  static Result<std::unique_ptr<Program>> build(Plugin& plugin, const SubgraphCode& code,
                                                std::span<const Value> constants);

  // returns  CANCELLED    the task of env is cancelled, or its deadline is over: between two primitives
  //          EXHAUSTED, UNAVAILABLE  see failure_of()
  // thread   any, in parallel
  Status run(const gantry_env* env, std::span<const gantry_tensor* const> arguments) const;

  Program(const Plugin& plugin, int threads, Plan plan)
      : plugin_(plugin), threads_(threads), plan_(std::move(plan)) {}

  const Plan& plan() const { return plan_; }
  int threads() const { return threads_; }

 private:
  const Plugin& plugin_;
  const int threads_;
  const Plan plan_;
  mutable FramePool frames_{plan_};
};

}  // namespace gantry::dnnl_plugin
