// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/bench_measure.hpp"

#include "tools/gantry/common/machine_load.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/outputs.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/running_code.hpp"
#include "core/base/thread_end.hpp"
#include "core/base/trace/self_times.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/abi_boundary.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <system_error>
#include <thread>

namespace gantry::cli {
namespace {

// time of the steady runs if the plan has neither a number nor a time
constexpr double default_seconds = 1;
constexpr std::size_t min_runs = 20;
// of the steady runs, those with the times of devices, and those with the times of operators
constexpr std::size_t most_detailed = 10;
constexpr std::size_t share_of_detailed = 20;

// Records spans in its scope; the runtime records none before and after.
class Recording {
 public:
  explicit Recording(TraceRecorder& trace) : trace_(trace) { trace_.set_recording(true); }
  ~Recording() { end(); }
  void end() { trace_.set_recording(false); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  TraceRecorder& trace_;
};

// A model whose inputs are set.
//
// thread   one at a time
class RunningModel {
 public:
  // weights  [in]   values of inputs, which several models share
  static Result<RunningModel> create(const BenchedModel& model, const BenchPlan& plan,
                                     std::span<const std::string> devices) {
    GANTRY_TRY(Session session, model_session(model.runtime, model.module,
                                              {.devices = {devices.begin(), devices.end()},
                                               .function = plan.function,
                                               .capture = plan.capture}));
    RunningModel running(model.runtime, std::move(session), model.task);
    GANTRY_TRY(running.devices_, device_ids(model.runtime, devices));
    return running;
  }
  // Later work is in streams of its own, so that other models run at the same time.
  Status use_own_streams() {
    for (const gantry_device_id device : devices_) {
      GANTRY_TRY(streams_.emplace_back(), runtime_.stream(device));
    }
    options_.stream = streams_.front();
    options_.streams.assign(streams_.begin() + 1, streams_.end());
    return {};
  }

  Session& session() { return session_; }
  std::span<const gantry_device_id> devices() const { return devices_; }

  // Sets the inputs. On another device than the CPU, copy_in() copies them again.
  //
  // device   [in]   the first one
  Status set(const InputValues& values, std::span<const ModelInput> inputs,
             const std::string& device) {
    GANTRY_CHECK(set_values(session_, values));
    if (session_.function().device().type == kCpu) return set_inputs(session_, inputs);
    for (const ModelInput& input : inputs) {
      if (!input.tensor) {
        GANTRY_CHECK(session_.bind(input.index, input.value));
        continue;
      }
      GANTRY_TRY(Tensor placed, copied_to(runtime_, input.tensor, device));
      GANTRY_CHECK(session_.bind(input.index, Any(placed)));
      in_.push_back({input.tensor, std::move(placed)});
    }
    return wait();
  }

  Status enqueue() {
    if (outputs_.empty()) return session_.run(options_);
    GANTRY_CHECK(session_.run_into(outputs_, options_));
    return {};
  }
  Status wait() const {
    if (streams_.empty()) return synchronize(runtime_, devices_);
    for (std::size_t i = 0; i < streams_.size(); ++i)
      GANTRY_CHECK(runtime_.synchronize(devices_[i], streams_[i]));
    return {};
  }
  Status run() {
    GANTRY_CHECK(enqueue());
    return wait();
  }

  // Further runs fill the outputs of the last one, if the file states them. Each run of a virtual
  // machine creates its outputs in any case.
  Status reuse_outputs() {
    GANTRY_TRY(kept_, session_.outputs());
    GANTRY_TRY(const auto stated, session_.function().outputs());
    if (!stated) return {};
    for (const NamedValue& output : kept_) outputs_.push_back(output.value.value());
    return {};
  }

  bool copies_in() const { return !in_.empty(); }
  // Copies the inputs to the device.
  Status copy_in() {
    for (const Copy& each : in_) GANTRY_CHECK(runtime_.copy(each.from, each.to));
    return wait();
  }
  std::uint64_t bytes_in() const { return bytes_of(in_); }

  // Finds the outputs on other devices than the CPU. Precondition: reuse_outputs() was called.
  //
  // returns  true: there are some
  Result<bool> find_outputs() {
    if (std::ranges::all_of(devices_, [](gantry_device_id id) { return id.type == kCpu; }))
      return false;
    if (outputs_.empty()) {
      GANTRY_TRY(kept_, session_.outputs());
    }
    std::size_t count = 0;
    for (const NamedValue& output : kept_) {
      if (output.value.value().kind != GANTRY_TENSOR) continue;
      GANTRY_TRY(Tensor tensor, output.value.tensor());
      if (tensor.device().type == kCpu) continue;
      if (count == out_.size()) out_.emplace_back();
      Copy& copy = out_[count++];
      copy.from = std::move(tensor);
      if (copy.to && std::ranges::equal(copy.to.shape(), copy.from.shape()) &&
          same_dtype(copy.to.dtype(), copy.from.dtype()))
        continue;
      GANTRY_TRY(copy.to, runtime_.tensor(copy.from.shape(), copy.from.dtype()));
    }
    out_.resize(count);
    return count != 0;
  }
  // Copies the outputs that were found to the CPU.
  Status copy_out() {
    for (const Copy& each : out_) GANTRY_CHECK(runtime_.copy(each.from, each.to));
    return wait();
  }
  std::uint64_t bytes_out() const { return bytes_of(out_); }

  // Returns the outputs of the last run on the CPU, without those that are neither tensors nor numbers.
  Result<std::vector<CpuArray>> outputs() const {
    Outputs all(runtime_);
    GANTRY_CHECK(all.add(0, kept_));
    return all.take_arrays();
  }

 private:
  struct Copy {
    Tensor from, to;
  };

  RunningModel(const Runtime& runtime, Session session, Task task)
      : runtime_(runtime), session_(std::move(session)), options_{.task = std::move(task)} {}
  static std::uint64_t bytes_of(const std::vector<Copy>& copies) {
    std::uint64_t bytes = 0;
    for (const Copy& copy : copies) bytes += copy.from.byte_size();
    return bytes;
  }

  Runtime runtime_;
  Session session_;
  RunOptions options_;
  std::vector<gantry_device_id> devices_;
  // one for each device; empty: the default ones
  std::vector<Stream> streams_;
  // outputs of the first run, or of the last one that created them
  std::vector<NamedValue> kept_;
  // of kept_; empty: each run creates its outputs
  std::vector<gantry_value> outputs_;
  std::vector<Copy> in_, out_;
};

std::vector<BenchInput> described(std::span<const ModelInput> inputs) {
  std::vector<BenchInput> all;
  for (const ModelInput& input : inputs) {
    // Tuples, shapes and numbers of virtual machines are not described.
    if (!input.tensor) continue;
    const ArrayView array = view_of(CpuArray{input.name, input.tensor});
    all.push_back(
        {array.name, array.dtype, array.shape, hex_text(sha256(array.bytes)).substr(0, 16)});
  }
  return all;
}

std::uint64_t first_extent(std::span<const BenchInput> inputs) {
  if (inputs.empty() || inputs.front().shape.empty()) return 1;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(inputs.front().shape.front(), 1));
}

// The memory that each device reports as allocated; devices without this attribute are left out.
std::vector<DeviceBytes> memory_of(const Runtime& runtime, std::span<const gantry_device_id> ids) {
  std::vector<DeviceBytes> memory;
  const auto add = [&](gantry_device_id id) {
    const auto device = runtime.device_table(id);
    if (!device.ok()) return;
    const gantry_device_table& table = *device->table;
    gantry_value value{};
    if (table.attribute(device->self, id.index, GANTRY_ATTRIBUTE_ALLOCATED_BYTES, &value,
                        nullptr) != GANTRY_OK ||
        value.kind != GANTRY_INT) {
      return;
    }
    memory.push_back({concat(table.name, ":", id.index),
                      static_cast<std::uint64_t>(std::max<std::int64_t>(value.i, 0))});
  };
  const gantry_device_id cpu{kCpu, 0};
  add(cpu);
  for (const gantry_device_id id : ids) {
    if (id.type != kCpu) add(id);
  }
  return memory;
}

// The clock of one device.
struct TimedDevice {
  std::string name;
  DeviceTimer timer;
  std::vector<double> runs = {};
};

// Devices without events are left out.
Result<std::vector<TimedDevice>> timers_of(const Runtime& runtime,
                                           std::span<const gantry_device_id> ids) {
  std::vector<TimedDevice> all;
  for (const gantry_device_id id : ids) {
    GANTRY_TRY(const gantry_device device, runtime.device_table(id));
    GANTRY_TRY(auto timer, DeviceTimer::create(runtime, id));
    if (timer) all.push_back({concat(device.table->name, ":", id.index), std::move(*timer)});
  }
  return all;
}

// Returns the operators of a number of recorded runs, the slowest first. Recording takes as long as a
// small kernel, so functions that make calls share what these leave of a run.
//
// run_ns   [in]   of a run that is not recorded; 0: the callers' times are as recorded
std::vector<OperatorTime> operators_of(std::span<const TraceEvent> events, std::size_t runs,
                                       double run_ns) {
  const auto times = self_times(events);
  double callers = 0, others = 0;
  for (const auto& [name, time] : times) (time.has_calls ? callers : others) += time.ns;
  const auto count = static_cast<double>(runs);
  const double left = std::max(run_ns * count - others, 0.0);
  const double factor = run_ns == 0 ? 1 : std::min(left / std::max(callers, 1.0), 1.0);
  std::vector<OperatorTime> operators;
  for (const auto& [name, time] : times) {
    operators.push_back({name, time.ns * (time.has_calls ? factor : 1) / count,
                         static_cast<double>(time.calls) / count});
  }
  std::ranges::stable_sort(operators, std::greater(), &OperatorTime::ns);
  return operators;
}

// False for the functions of a model compiled ahead of time that call its operators.
bool is_operator(const OperatorTime& one, std::string_view function) {
  return one.name != function && !one.name.ends_with("__tvm_main__");
}

// The steady runs of a model.
class SteadyRuns {
 public:
  SteadyRuns(RunningModel& model, TraceRecorder& trace, std::vector<TimedDevice> timers,
             const BenchPlan& plan, BenchReport& report)
      : model_(model), trace_(trace), timers_(std::move(timers)), plan_(plan), report_(report) {}

  Status run_all(bool quiet) {
    const std::size_t before = trace_.events().size();
    {
      const MachineLoad machine;
      GANTRY_CHECK(plan_.repeat == 0 ? run_for_time(quiet) : run_for_count(quiet));
      report_.other_cpus = machine.other_cpus();
    }
    for (const TimedDevice& device : timers_) {
      if (!device.runs.empty())
        report_.device_times.push_back({device.name, statistics_of(device.runs).median});
    }
    const std::vector<TraceEvent> events = trace_.events();
    if (!plan_.capture)
      report_.operators = operators_of(std::span(events).subspan(before), report_.operator_runs,
                                       report_.run_ns.statistics().median);
    return {};
  }

 private:
  struct Kind {
    bool is_counted = false, is_on_clocks = false, is_recorded = false;
  };

  std::size_t detailed(std::size_t runs) const {
    return std::clamp<std::size_t>(runs / share_of_detailed, 1, most_detailed);
  }
  std::size_t on_clocks(std::size_t runs) const { return timers_.empty() ? 0 : detailed(runs); }
  // Replays call no operator.
  std::size_t recorded(std::size_t runs) const { return plan_.capture ? 0 : detailed(runs); }

  Status run_for_time(bool quiet) {
    const double ns = plan_.seconds.value_or(default_seconds) * 1e9;
    const std::size_t min_count = plan_.seconds ? 1 : min_runs;
    // in milliseconds
    Progress progress("bench", static_cast<std::uint64_t>(ns / 1e6) + 1, quiet);
    std::uint64_t shown = 0;
    const Stopwatch all;
    while (report_.run_ns.count() < min_count || all.nanoseconds() < ns) {
      GANTRY_CHECK(run({.is_counted = true}));
      const auto passed = static_cast<std::uint64_t>(std::min(all.nanoseconds(), ns) / 1e6);
      progress.advance(passed - shown);
      shown = passed;
    }
    const std::size_t counted = report_.runs;
    GANTRY_CHECK(run_some(on_clocks(counted), {.is_on_clocks = true}));
    return run_some(recorded(counted), {.is_recorded = true});
  }

  Status run_for_count(bool quiet) {
    const std::size_t runs = plan_.repeat;
    const std::size_t on_clocks = this->on_clocks(runs), recorded = this->recorded(runs);
    Progress progress("bench", runs, quiet);
    progress_ = &progress;
    if (on_clocks + recorded < runs) {
      GANTRY_CHECK(run_some(runs - on_clocks - recorded, {.is_counted = true}));
      GANTRY_CHECK(run_some(on_clocks, {.is_on_clocks = true}));
      return run_some(recorded, {.is_recorded = true});
    }
    // one or two runs
    GANTRY_CHECK(run_some(runs - 1, {.is_counted = true}));
    return run_some(1, {runs == 1, on_clocks != 0, recorded != 0});
  }

  Status run_some(std::size_t count, Kind kind) {
    for (std::size_t i = 0; i < count; ++i) {
      GANTRY_CHECK(run(kind));
      if (progress_ != nullptr) progress_->advance();
    }
    return {};
  }

  Status run(Kind kind) {
    if (model_.copies_in()) {
      const Stopwatch copy;
      GANTRY_CHECK(model_.copy_in());
      if (kind.is_counted) report_.to_device.ns.add(copy.nanoseconds());
    }
    GANTRY_CHECK(kind.is_recorded ? run_recorded(kind) : run_itself(kind));
    ++report_.runs;
    GANTRY_TRY(const bool has_outputs, model_.find_outputs());
    if (!has_outputs) return {};
    const Stopwatch copy;
    GANTRY_CHECK(model_.copy_out());
    if (kind.is_counted) report_.from_device.ns.add(copy.nanoseconds());
    return {};
  }

  Status run_recorded(Kind kind) {
    const Recording recording(trace_);
    ++report_.operator_runs;
    return run_itself(kind);
  }

  Status run_itself(Kind kind) {
    const Stopwatch watch;
    if (kind.is_on_clocks) {
      for (TimedDevice& device : timers_) GANTRY_CHECK(device.timer.start());
    }
    GANTRY_CHECK(model_.enqueue());
    if (kind.is_on_clocks) {
      for (TimedDevice& device : timers_) GANTRY_CHECK(device.timer.stop());
    }
    GANTRY_CHECK(model_.wait());
    if (kind.is_counted) report_.run_ns.add(watch.nanoseconds());
    if (!kind.is_on_clocks) return {};
    for (TimedDevice& device : timers_) {
      GANTRY_TRY(const std::int64_t ns, device.timer.elapsed());
      device.runs.push_back(static_cast<double>(ns));
    }
    return {};
  }

  RunningModel& model_;
  TraceRecorder& trace_;
  std::vector<TimedDevice> timers_;
  const BenchPlan& plan_;
  BenchReport& report_;
  // NULL: the progress of a time is shown
  Progress* progress_ = nullptr;
};

// One thread of a level of concurrency.
struct Runner {
  RunningModel model;
  RunTimes run_ns = {};
  Status done = {};

  // Runs until the time has passed, or the number of runs is made, or another thread has failed.
  void run(const BenchPlan& plan, const Stopwatch& all, std::atomic<bool>& has_failed) {
    keep_this_thread();
    const double ns = plan.seconds.value_or(default_seconds) * 1e9;
    const auto is_done = [&] {
      return plan.repeat != 0 ? run_ns.count() == plan.repeat
                              : run_ns.count() != 0 && all.nanoseconds() >= ns;
    };
    try {
      while (!is_done() && !has_failed.load(std::memory_order_relaxed)) {
        const Stopwatch watch;
        done = model.run();
        if (!done.ok()) break;
        run_ns.add(watch.nanoseconds());
      }
    } catch (abi::__forced_unwind&) {
      end_for_thread("code of a model or a plugin", "a thread of the measurement");
    } catch (...) {
      done = error_in_flight();
    }
    if (!done.ok()) has_failed = true;
  }
};

// Calls body(i) for each i below `count` on a thread of its own. The first call begins when all threads
// exist, after begin().
//
// has_failed [in,out] set if a thread cannot be created: the calls must end
template <class Body, class Begin>
Status run_at_once(std::size_t count, std::atomic<bool>& has_failed, Body&& body, Begin&& begin) {
  std::atomic<bool> has_begun{false};
  std::vector<std::jthread> threads;
  Status created;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        has_begun.wait(false);
        body(i);
      });
    }
  } catch (const std::system_error& error) {
    created = unavailable("thread ", threads.size() + 1, " of ", count,
                          " cannot be created: ", error.code().message());
    has_failed = true;
  }
  begin();
  has_begun = true;
  has_begun.notify_all();
  threads.clear();
  return created;
}

Result<ConcurrencyLevel> measure_level(const BenchedModel& model, const BenchPlan& plan,
                                       std::span<const std::string> devices,
                                       const InputValues& values,
                                       std::span<const ModelInput> inputs, int at_once) {
  std::vector<Runner> runners;
  for (int i = 0; i < at_once; ++i) {
    GANTRY_TRY(RunningModel running, RunningModel::create(model, plan, devices));
    GANTRY_CHECK(running.set(values, inputs, devices.front()));
    GANTRY_CHECK(running.use_own_streams());
    // the first run; with `capture`, also the one that is recorded
    for (int first = 0; first < (plan.capture ? 2 : 1); ++first) {
      GANTRY_CHECK(running.run());
      if (first == 0) GANTRY_CHECK(running.reuse_outputs());
    }
    runners.push_back({std::move(running)});
  }
  ConcurrencyLevel level{.at_once = at_once};
  std::atomic<bool> has_failed{false};
  std::optional<Stopwatch> all;
  GANTRY_CHECK(run_at_once(
      runners.size(), has_failed, [&](std::size_t i) { runners[i].run(plan, *all, has_failed); },
      [&] { all.emplace(); }));
  level.all_ns = all->nanoseconds();
  for (Runner& runner : runners) {
    if (!runner.done.ok())
      return std::move(runner.done).error().at("while ", at_once, " threads run the model");
    level.run_ns.add(runner.run_ns);
  }
  level.device_bytes = memory_of(model.runtime, runners.front().model.devices());
  return level;
}

}  // namespace

Status measure(const BenchedModel& model, const BenchPlan& plan,
               std::span<const std::string> devices, bool quiet,
               const std::function<Status(const BenchReport&)>& check, BenchReport& report,
               std::vector<CpuArray>* outputs) {
  const Runtime& runtime = model.runtime;
  TraceRecorder& trace = *state_of(runtime.get())->trace;
  report.devices.assign(devices.begin(), devices.end());
  Recording recording(trace);
  const Stopwatch create;
  GANTRY_TRY(RunningModel running, RunningModel::create(model, plan, devices));
  report.create_ns = create.nanoseconds();
  InputValues values;
  if (model.weights != nullptr) {
    GANTRY_TRY(values, model.weights->load(runtime, running.session(), devices.front()));
  }
  GANTRY_TRY(const std::vector<ModelInput> inputs, model.inputs(running.session(), values));
  report.inputs = described(inputs);
  report.items = plan.items != 0 ? plan.items : first_extent(report.inputs);
  if (check) GANTRY_CHECK(check(report));
  GANTRY_CHECK(running.set(values, inputs, devices.front()));
  report.to_device.bytes = running.bytes_in();
  GANTRY_CHECK(running.wait());

  const std::string title = run_title(running.session());
  const CallRecord record(title);
  const std::size_t before = trace.events().size();
  const Stopwatch first;
  GANTRY_CHECK(running.run());
  report.first_ns = first.nanoseconds();
  recording.end();
  GANTRY_CHECK(running.reuse_outputs());
  if (outputs != nullptr) {
    GANTRY_TRY(*outputs, running.outputs());
  }
  if (plan.capture) {
    // Later runs replay the second one and call no operator.
    report.operator_runs = 1;
    const std::vector<TraceEvent> events = trace.events();
    report.operators = operators_of(std::span(events).subspan(before), 1, 0);
    GANTRY_CHECK(running.run());
  }
  for (std::size_t i = 1; i < plan.warmup; ++i) GANTRY_CHECK(running.run());
  report.warmup = plan.warmup;
  {
    GANTRY_TRY(std::vector<TimedDevice> timers, timers_of(runtime, running.devices()));
    GANTRY_CHECK(SteadyRuns(running, trace, std::move(timers), plan, report).run_all(quiet));
  }
  report.from_device.bytes = running.bytes_out();
  report.device_bytes = memory_of(runtime, running.devices());
  report.after = process_memory();
  GANTRY_TRY(report.plugins, runtime.plugins_in_use());
  GANTRY_TRY(const std::string key, model.module.type_key());
  const std::string name(running.session().name());
  report.has_hidden_operators =
      (key == aot_factory_key || key == aot_metadata_key) &&
      std::ranges::none_of(report.operators,
                           [&](const OperatorTime& one) { return is_operator(one, name); });
  for (const int at_once : plan.at_once) {
    GANTRY_TRY(ConcurrencyLevel level,
               measure_level(model, plan, devices, values, inputs, at_once));
    report.concurrency.push_back(std::move(level));
  }
  return {};
}

}  // namespace gantry::cli
