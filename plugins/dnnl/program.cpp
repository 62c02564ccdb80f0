// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "lowering.hpp"
#include "plugin.hpp"
#include "threads.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::dnnl_plugin {
namespace {

// Puts the frame back after a failure, too.
class FrameLoan {
 public:
  FrameLoan(FramePool& pool, std::unique_ptr<Frame> frame)
      : pool_(pool), frame_(std::move(frame)) {}
  ~FrameLoan() { pool_.return_frame(std::move(frame_)); }
  FrameLoan(const FrameLoan&) = delete;
  FrameLoan& operator=(const FrameLoan&) = delete;
  Frame* operator->() const { return frame_.get(); }

 private:
  FramePool& pool_;
  std::unique_ptr<Frame> frame_;
};

int thread_count(const Subgraph& graph, int max) {
  constexpr std::uint64_t enough = std::uint64_t{1} << 40;
  std::uint64_t bytes = 0;
  for (const TensorType& type : graph.entries) {
    const auto size = tensor_bytes(type.shape, type.dtype);
    bytes = std::min(bytes + std::min(size.ok() ? *size : 0, enough), enough);
  }
  return threads_for(bytes, max);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::build(Plugin& plugin, const SubgraphCode& code,
                                                std::span<const Value> constants) {
  plugin.report_key(code.type_key);
  // Some primitives divide their work when they are created.
  const int count = thread_count(code.graph, plugin.threads);
  const ThreadCount threads(count);
  GANTRY_TRY(Plan plan, lower_subgraph(plugin.engine, code, constants));
  auto program = std::make_unique<Program>(plugin, count, std::move(plan));
  // The first call finds its frame.
  GANTRY_TRY(auto frame, program->frames_.take());
  program->frames_.return_frame(std::move(frame));
  return program;
}

Status Program::run(const gantry_env* env, std::span<const gantry_tensor* const> arguments) const {
  const ThreadCount threads(threads_);
  GANTRY_TRY(auto taken, frames_.take());
  const FrameLoan frame(frames_, std::move(taken));
  GANTRY_CHECK(frame->bind(arguments));
  const Trace& trace = plugin_.trace;
  const bool has_task = env != nullptr && env->task != nullptr;
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    if (has_task && plugin_.host.is_cancelled(env)) {
      return cancelled("run is cancelled before operator ", quoted(plan_.steps[i].name))
          .with_reason("CANCELLED");
    }
    const std::int64_t begun = trace.now();
    GANTRY_CHECK(frame->run(i));
    trace.end(begun, plan_.steps[i].name, "run");
  }
  return frame->wait();
}

}  // namespace gantry::dnnl_plugin
