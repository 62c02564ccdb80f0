// SPDX-License-Identifier: Apache-2.0
//
// What one call at a time needs to run a plan: an arena, and oneDNN's memory objects and argument
// lists, which hold addresses. Calls reuse frames, so that only as many are made as calls have run
// at the same time.
#pragma once

#include "plan.hpp"

#include <gantry/tensor.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::dnnl_plugin {

class Frame {
 public:
  // plan     [in]   outlives the frame
  // returns  EXHAUSTED; UNAVAILABLE if oneDNN fails
  static Result<std::unique_ptr<Frame>> create(const Plan& plan);

  // Sets the addresses of the arguments. Costs nothing for addresses of the last call.
  Status bind(std::span<const gantry_tensor* const> arguments);
  // returns  UNAVAILABLE, EXHAUSTED; see failure_of()
  Status run(std::size_t step);
  // Waits for the steps.
  Status wait();

 private:
  explicit Frame(const Plan& plan) : plan_(plan) {}

  const Plan& plan_;
  ::dnnl::stream stream_;
  AlignedBytes arena_;
  // Indexed by view.
  std::vector<::dnnl::memory> memories_;
  struct Bound {
    std::uint32_t view;
    std::uint32_t argument;
    std::size_t offset;
    void* address;
  };
  std::vector<Bound> bound_;
  // Arguments of all steps; step i has those from first_[i] to first_[i + 1].
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<std::size_t> first_;
  // Addresses for the loop that runs.
  std::vector<void*> tensors_;
};

// Frames that no call uses.
class FramePool {
 public:
  explicit FramePool(const Plan& plan) : plan_(plan) {}

  // Returns a free frame, or a new one.
  Result<std::unique_ptr<Frame>> take();
  void return_frame(std::unique_ptr<Frame> frame);

 private:
  const Plan& plan_;
  std::mutex mutex_;
  // Has room for all frames, so that return_frame() never allocates.
  std::vector<std::unique_ptr<Frame>> free_;
  std::size_t count_ = 0;
};

}  // namespace gantry::dnnl_plugin
