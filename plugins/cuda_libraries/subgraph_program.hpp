// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph that runs on a GPU: its operators in order, each enqueued in the stream of the call.
#pragma once

#include "subgraph_operator.hpp"

#include <gantry/subgraph_module.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::cuda_libraries {

struct SubgraphHost;

class SubgraphProgram {
 public:
  // Reads the operators. No library is used.
  //
  // code     [in]   outlives the program
  // returns  UNSUPPORTED  as read_operator(); a result of an operator that another one reads, whose extents
  //                       are known only at the call; an output that no operator writes (SUBGRAPH_OPERATOR)
  //          MALFORMED    as read_operator()
  static Result<std::unique_ptr<SubgraphProgram>> build(SubgraphHost& plugin,
                                                        const SubgraphCode& code,
                                                        std::span<const Value> constants);

  // returns  INVALID      tensors on two devices; extents that do not fit together
  //          UNSUPPORTED  in a captured run: memory of the call, or constants that no earlier run has
  //                       copied to the device (CAPTURE); what a library does not compute
  //          CANCELLED    between two operators
  // thread   any, in parallel
  // costs    the first run on a device copies the constants
  Status run(const gantry_env* env, std::span<const gantry_tensor* const> arguments) const;

  SubgraphProgram(SubgraphHost& plugin, const SubgraphCode& code, std::span<const Value> constants);

 private:
  struct Step {
    // of the graph
    const SubgraphNode* node;
    std::unique_ptr<const Operator> work;
  };
  // Constants on one device.
  struct Copies {
    gantry_device_id device;
    std::vector<Value> tensors;
  };

  Result<const Copies*> copies_on(const gantry_env& env, gantry_device_id device) const;

  SubgraphHost& plugin_;
  const SubgraphCode& code_;
  const std::vector<Value> constants_;
  std::vector<Step> steps_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Copies>> copies_;
};

}  // namespace gantry::cuda_libraries
