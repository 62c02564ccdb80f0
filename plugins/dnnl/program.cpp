// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "infer.hpp"
#include "lowering.hpp"
#include "plugin.hpp"
#include "threads.hpp"

#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

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

// Plans of the extents with which a program was called last.
constexpr std::size_t max_plans = 8;

}  // namespace

// A plan and the frames of its calls.
struct Program::Prepared {
  Prepared(int given, Plan made) : threads(given), plan(std::move(made)) {}

  static Result<std::shared_ptr<const Prepared>> create(const Plugin& plugin, const Subgraph& graph,
                                                        std::span<const OperatorMatch> operators,
                                                        std::span<const Value> constants) {
    // Some primitives divide their work when they are created.
    const int count = thread_count(graph, plugin.threads);
    const ThreadCount threads(count);
    GANTRY_TRY(Plan plan, lower_subgraph(plugin.engine, graph, operators, constants));
    auto prepared = std::make_shared<Prepared>(count, std::move(plan));
    // The first call finds its frame.
    GANTRY_TRY(auto frame, prepared->frames.take());
    prepared->frames.return_frame(std::move(frame));
    return std::shared_ptr<const Prepared>(std::move(prepared));
  }

  const int threads;
  const Plan plan;
  mutable FramePool frames{plan};
};

Program::Program(const Plugin& plugin, const Subgraph& graph, std::vector<OperatorMatch> operators)
    : plugin_(plugin), graph_(graph), operators_(std::move(operators)) {}
Program::~Program() = default;

Result<std::unique_ptr<Program>> Program::build(Plugin& plugin, const SubgraphCode& code,
                                                std::span<const Value> constants) {
  plugin.report_key(code.type_key);
  GANTRY_TRY(auto operators, read_operators(code.type_key, code.graph));
  auto program = std::make_unique<Program>(plugin, code.graph, std::move(operators));
  if (has_unknown_extents(code.graph)) {
    program->constants_.assign(constants.begin(), constants.end());
    return program;
  }
  GANTRY_TRY(program->fixed_, Prepared::create(plugin, code.graph, program->operators_, constants));
  return program;
}

Result<std::shared_ptr<const Program::Prepared>> Program::prepared_for(
    std::span<const gantry_tensor* const> arguments) const {
  std::vector<std::int64_t> extents;
  for (const gantry_tensor* const argument : arguments)
    extents.insert(extents.end(), shape_of(*argument).begin(), shape_of(*argument).end());
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(plans_, extents, &ExtentsPlan::extents);
    if (found != plans_.end()) {
      std::rotate(plans_.begin(), found, found + 1);
      return plans_.front().prepared;
    }
  }
  Subgraph graph = graph_;
  // before the arguments: an output may be a constant, too
  for (std::size_t i = 0; i < graph.constants.size(); ++i) {
    const auto shape = shape_of(*constants_[i].tensor());
    graph.entries[graph.constants[i]].shape.assign(shape.begin(), shape.end());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_input = i < graph.inputs.size();
    TensorType& type =
        graph.entries[is_input ? graph.inputs[i] : graph.outputs[i - graph.inputs.size()]];
    const auto shape = shape_of(*arguments[i]);
    // An output that is given twice, or is an input.
    const bool fits = std::ranges::equal(
        type.shape, shape, [](std::int64_t a, std::int64_t b) { return a < 0 || a == b; });
    if (!fits) {
      return invalid("argument ", i, " has shape ", numbers_text(shape), ", the tensor has ",
                     numbers_text(type.shape))
          .with_reason("ARGUMENT");
    }
    // Tensors without elements can have extents whose product does not fit.
    GANTRY_CHECK(tensor_bytes(shape, type.dtype));
    type.shape.assign(shape.begin(), shape.end());
  }
  GANTRY_CHECK(infer_extents(graph, operators_));
  auto kept = std::make_shared<const Subgraph>(std::move(graph));
  auto made = Prepared::create(plugin_, *kept, operators_, constants_);
  if (!made.ok()) {
    Failure failure = std::move(made).failure();
    // The extents that do not fit together are those of the call.
    Error& error = failure.error();
    if (error.code == Code::malformed) {
      error.code = Code::invalid;
      error.reason = "ARGUMENT";
    }
    return failure;
  }
  // Destroyed without the lock.
  ExtentsPlan evicted;
  const std::lock_guard lock(mutex_);
  // Another thread may have made the same plan.
  const auto found = std::ranges::find(plans_, extents, &ExtentsPlan::extents);
  if (found != plans_.end()) return found->prepared;
  if (plans_.size() == max_plans) {
    evicted = std::move(plans_.back());
    plans_.pop_back();
  }
  plans_.insert(plans_.begin(), {std::move(extents), std::move(kept), std::move(*made)});
  return plans_.front().prepared;
}

Status Program::run(const gantry_env* env, std::span<const gantry_tensor* const> arguments) const {
  std::shared_ptr<const Prepared> prepared = fixed_;
  if (prepared == nullptr) {
    GANTRY_TRY(prepared, prepared_for(arguments));
  }
  const ThreadCount threads(prepared->threads);
  GANTRY_TRY(auto taken, prepared->frames.take());
  const FrameLoan frame(prepared->frames, std::move(taken));
  GANTRY_CHECK(frame->bind(arguments));
  const Trace& trace = plugin_.trace;
  const std::vector<Step>& steps = prepared->plan.steps;
  const bool has_task = env != nullptr && env->task != nullptr;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (has_task && plugin_.host.is_cancelled(env)) {
      return cancelled("run is cancelled before operator ", quoted(steps[i].name))
          .with_reason("CANCELLED");
    }
    const std::int64_t begun = trace.now();
    GANTRY_CHECK(frame->run(i));
    trace.end(begun, steps[i].name, "run");
  }
  return frame->wait();
}

}  // namespace gantry::dnnl_plugin
