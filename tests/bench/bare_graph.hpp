// SPDX-License-Identifier: Apache-2.0
//
// The baseline for an executor: a graph's operators as raw calls in order, with the same kernels,
// memory shared as planned by the graph, and arguments prepared once.
#pragma once

#include "core/engine/native/packed/tvm_abi.hpp"

#include <gantry/embed/executor.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace gantry::bench {

class BareGraph {
 public:
  // model    [in]   a loaded graph
  // library  [in]   its file, already open
  // executor [in]   owns the inputs and parameters; retained
  // throws   Failed if the graph is not on the CPU or a kernel is missing
  BareGraph(const Module& model, const std::filesystem::path& library, const Executor& executor);
  BareGraph(const BareGraph&) = delete;

  // Calls the operators outside the runtime. The library's parallel regions require a pool of their
  // own (gomp.hpp).
  //
  // throws   Failed if an operator fails
  void run() const;

  // Argument of `call_all` in kernels.c.
  const void* calls() const { return calls_.data(); }
  std::int64_t call_count() const { return static_cast<std::int64_t>(calls_.size()); }

 private:
  // layout of the same struct in kernels.c
  struct OperatorCall {
    PackedCall call;
    PackedValue* args;
    int* codes;
    int count;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  Executor executor_;
  std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<void, Free>> storage_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<gantry_tensor> tensors_;
  std::vector<PackedValue> values_;
  std::vector<int> codes_;
  std::vector<OperatorCall> calls_;
};

}  // namespace gantry::bench
