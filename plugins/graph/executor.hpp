// SPDX-License-Identifier: Apache-2.0
//
// One instance of a graph: its memory and its operators, ready to be called.
//
//     ops        {function, first argument, count, device}   one after the other
//     args       tensor references to the memory's cells     built once, never changed
//     stretches  operators first .. end - 1 as a batch       if the host has gantry.batch/1
//
// Copies, traced and partial runs make single calls, as do all runs in a host without batches.
//
// One call at a time for all functions of an executor, which the caller ensures
// (GANTRY_MODULE_SERIAL).
#pragma once

#include "memory.hpp"

#include <gantry/batch.h>
#include <gantry/device_name.hpp>
#include <gantry/method.hpp>
#include <gantry/recorder.hpp>
#include <gantry/trace.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry::graph {

// The recording of an executor's run, and when it is valid.
struct Replay {
  explicit Replay(std::unique_ptr<Recorder> given) : recorder(std::move(given)) {}

  bool is_of(std::uint64_t current_moves) const { return recording && moves == current_moves; }

  const std::unique_ptr<Recorder> recorder;
  Recording recording;
  // Memory::moves() at the time of the recording.
  std::uint64_t moves = 0;
  // True after the first run, which is not recorded.
  bool is_warm = false;
};

class Executor {
 public:
  static constexpr const char* type_name = "GraphExecutor";
  static constexpr bool is_serial = true;

  // Creates an executor with its memory, parameters and operators' functions.
  //
  // devices  [in]   at least one
  // env      [in]   device and stream in which parameters are uploaded
  // returns  MALFORMED, UNSUPPORTED  see Payload::parse_graph
  //          INVALID, EXHAUSTED  see Memory::create
  //          NOT_FOUND           functions that no import has: the first ones, and their number
  static Result<std::unique_ptr<Executor>> create(const Source& source,
                                                  std::span<const gantry_device_id> devices,
                                                  const gantry_env* env);

  // Defined in functions.cpp.
  std::span<const Method<Executor>> functions() const;

  const Graph& graph() const { return memory_.graph(); }
  const Host& host() const { return memory_.host(); }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }

  // Runs all operators in order. On asynchronous devices it returns after the last one is enqueued.
  //
  // returns  OK; the failing operator's code and text with a line that names its node; CANCELLED
  //          between operators
  // costs    one run of a batch for consecutive calls; no allocation
  gantry_code run(const gantry_env* env, gantry_status* status) {
    if (replay_ != nullptr) [[unlikely]]
      return abi_boundary(status, [&] { return replay(env_of(env)); });
    return run_until(graph().nodes.size(), env, status);
  }

  // Makes run() record the work that the operators enqueue, and launch it as a whole. The first run
  // is a plain one, in which devices load code; the second one is recorded, as is the first one
  // after a binding has changed.
  //
  // returns  UNSUPPORTED  operators on several devices, or on one that records nothing
  Status capture_runs();

  // Runs the operators of the nodes before `node`.
  gantry_code run_until(std::size_t node, const gantry_env* env, gantry_status* status);
  Status run_until(std::size_t node, const gantry_env* env) {
    StatusBuffer status;
    const gantry_code code = run_until(node, env, status.get());
    return code == GANTRY_OK ? Status() : status.error(code, "run");
  }

  // Runs all operators once, waits after each, and reports the time of each.
  //
  // seen     [in]   called with a node and its nanoseconds, in order; an error ends the run
  Status profile(const gantry_env* env,
                 const std::function<Status(const GraphNode&, std::int64_t)>& seen);

  // Inputs that contain a parameter, by input index: of the factory, linked into the library,
  // loaded by load_params or shared by share_params.
  std::vector<bool> is_parameter;
  // Of an executor made by debug_create.
  bool has_debug_functions = false;

 private:
  struct Op {
    // NULL: a copy from its first argument to its second. Kept by functions_.
    gantry_object* function;
    std::uint32_t first_arg;
    std::int32_t arg_count;
    gantry_device_id device;
    std::uint32_t node;
  };

  // Consecutive operators.
  struct Stretch {
    std::size_t first, end;
    // all of them; empty: single calls
    ObjectRef batch;
  };

  explicit Executor(const Source& source) : memory_(source), trace_(source.host) {}
  Status make_ops(const Source& source);
  Status make_stretches();
  // Prepares the batch of a stretch of calls.
  Status prepare(Stretch& stretch);
  std::span<const Op> ops_of(const Stretch& stretch) const {
    return std::span(ops_).subspan(stretch.first, stretch.end - stretch.first);
  }
  Status find_functions(const Source& source, std::map<std::string_view, gantry_object*>& by_name);
  template <bool traced>
  gantry_code run_ops(std::span<const Op> ops, const gantry_env& outer, gantry_status* status);
  gantry_code run_stretch(const Stretch& stretch, const gantry_env& outer, gantry_status* status);
  gantry_code run_op(const Op& op, const gantry_env& env, gantry_status* status);
  Status replay(const gantry_env& outer);
  // Adds a line with the node to the operator's error.
  gantry_code failed(const Op& op, gantry_code code, gantry_status* status) const;
  static gantry_env env_of(const gantry_env* given) {
    return given != nullptr ? *given : gantry_env{{cpu_device_type, 0}, nullptr, nullptr, nullptr};
  }

  Memory memory_;
  std::vector<ObjectRef> functions_;
  std::vector<Op> ops_;
  std::vector<gantry_value> args_;
  std::vector<Stretch> stretches_;
  // NULL: the host has no batches
  const gantry_batch* batches_ = nullptr;
  const Trace trace_;
  // NULL: runs are not recorded.
  std::unique_ptr<Replay> replay_;
};

// Returns a module that owns an executor.
//
// parent   [in]   kept alive by the new module
Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent);

// Inline, because it is the only cost of a single call besides host->call.
inline gantry_code Executor::run_op(const Op& op, const gantry_env& env, gantry_status* status) {
  const gantry_host* host = memory_.host().table();
  gantry_value* args = args_.data() + op.first_arg;
  gantry_code code;
  if (op.function != nullptr) [[likely]] {
    gantry_value result{};
    code = host->call(host, op.function, &env, args, op.arg_count, &result, status);
    if (result.kind >= GANTRY_OBJECT) [[unlikely]]
      gantry_release(result.object);
  } else {
    code = host->tensor_copy(host, args[0].tensor, args[1].tensor, &env, status);
  }
  return code == GANTRY_OK ? code : failed(op, code, status);
}

}  // namespace gantry::graph
