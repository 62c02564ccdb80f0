// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph that is ready to run: its plan and the frames of its calls, for each set of extents.
#pragma once

#include "frame.hpp"
#include "operators.hpp"
#include "plan.hpp"

#include <gantry/subgraph_module.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::dnnl_plugin {

struct Plugin;

class Program {
 public:
  // Creates the primitives of all operators and reorders their weights; those of extents that are known
  // only at the call are created by the first call with them, and kept for some sets of extents.
  //
  // code     [in]   outlives the program
  // returns  UNSUPPORTED  an operator or an attribute that the table of operators (operators.cpp)
  //                       does not have, or that oneDNN does not implement (SUBGRAPH_OPERATOR)
  //          MALFORMED    an attribute, or shapes that do not fit together (SUBGRAPH)
  //          EXHAUSTED    memory
  // costs    may generate code: milliseconds for each operator
  static Result<std::unique_ptr<Program>> build(Plugin& plugin, const SubgraphCode& code,
                                                std::span<const Value> constants);

  // returns  CANCELLED    the task of env is cancelled, or its deadline is over: between two primitives
  //          EXHAUSTED, UNAVAILABLE  see failure_of()
  //          INVALID      the extents of the arguments do not fit together (ARGUMENT)
  //          UNSUPPORTED  extents between operators that do not follow from those of the arguments
  //                       (SUBGRAPH_OPERATOR)
  // thread   any, in parallel
  Status run(const gantry_env* env, std::span<const gantry_tensor* const> arguments) const;

  Program(const Plugin& plugin, const Subgraph& graph, std::vector<OperatorMatch> operators);
  ~Program();

 private:
  struct Prepared;
  // What calls with the same extents run.
  struct ExtentsPlan {
    // of all arguments
    std::vector<std::int64_t> extents;
    // with them; steps refer to its names
    std::shared_ptr<const Subgraph> graph;
    std::shared_ptr<const Prepared> prepared;
  };

  Result<std::shared_ptr<const Prepared>> prepared_for(
      std::span<const gantry_tensor* const> arguments) const;

  const Plugin& plugin_;
  const Subgraph& graph_;
  const std::vector<OperatorMatch> operators_;
  // Of a graph whose extents are all known.
  std::shared_ptr<const Prepared> fixed_;
  // Of the others.
  std::vector<Value> constants_;
  mutable std::mutex mutex_;
  // The last one that was used is the first.
  mutable std::vector<ExtentsPlan> plans_;
};

}  // namespace gantry::dnnl_plugin
