// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/bench_report.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/arg_spec.hpp"
#include "tools/gantry/common/machine_load.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/statistics.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/model_devices.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/model_weights.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"
#include "tools/gantry/time_limit.hpp"

#include "core/base/running_code.hpp"
#include "core/base/trace/self_times.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/native/thread_pool.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/embed/executor.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

namespace gantry::cli {
namespace {

// time of the steady runs without --repeat
constexpr double enough_ns = 1e9;
constexpr std::size_t fewest_runs = 20;
constexpr std::size_t max_runs = 100000;
// profiling runs; the operator table shows the mean of them
constexpr int profiles = 10;
// whose median on the device's clock is shown
constexpr int timed_runs = 20;

struct BenchOptions {
  std::string file;
  // empty: those that the artifact names
  std::vector<std::string> devices;
  std::vector<std::string> inputs;
  // a directory, for inputs that no file sets; empty: none
  std::string weights;
  // of a virtual machine; empty: its only function or "main"
  std::string function;
  // 0: until enough_ns
  std::size_t repeat = 0;
  // seconds; 0: not given
  int timeout = 0;
  bool capture = false;
  LoadOptions load;
  bool json = false;
};

// A model whose inputs are set.
class MeasuredModel {
 public:
  // task     [in]   empty: none
  MeasuredModel(Session session, Task task)
      : session_(std::move(session)), task_(std::move(task)) {}

  Session& session() { return session_; }
  Status run() {
    if (outputs_.empty()) return session_.run({.task = task_});
    GANTRY_CHECK(session_.run_into(outputs_, {.task = task_}));
    return {};
  }
  // Further runs fill the outputs of the last one. Each run of a virtual machine creates its outputs
  // in any case.
  Status reuse_outputs() {
    GANTRY_TRY(kept_, session_.outputs());
    for (const NamedValue& output : kept_) outputs_.push_back(output.value.value());
    return {};
  }

 private:
  Session session_;
  Task task_;
  std::vector<NamedValue> kept_;
  // of kept_; empty: each run creates its outputs
  std::vector<gantry_value> outputs_;
};

// The operators of a total of `profiles` runs, the slowest first.
std::vector<NamedTime> means_of(const std::map<std::string, double>& total) {
  std::vector<NamedTime> operators;
  for (const auto& [name, ns] : total) operators.push_back({name, ns / profiles});
  std::ranges::stable_sort(operators, std::greater(), &NamedTime::ns);
  return operators;
}

// False for the functions of a model compiled ahead of time that call its operators.
bool is_operator(const NamedTime& one, std::string_view function) {
  return one.name != function && !one.name.ends_with("__tvm_main__");
}

// Sets the inputs of an executor of a model.
Status set_inputs(Executor& executor, const Session& model, const InputValues& values,
                  std::span<const ModelInput> inputs) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_none()) continue;
    GANTRY_TRY(const Tensor tensor, values[i].tensor());
    GANTRY_CHECK(executor.set_input(model.inputs()[i].name, tensor));
  }
  for (const ModelInput& input : inputs) GANTRY_CHECK(executor.set_input(input.name, input.tensor));
  return {};
}

Result<std::vector<NamedTime>> profile_graph(const Module& graph, const Session& model,
                                             const InputValues& values,
                                             std::span<const ModelInput> inputs,
                                             std::span<const gantry_device_id> devices) {
  GANTRY_TRY(const Function create, graph.function("debug_create"));
  std::vector<gantry_value> args(1);
  args[0].kind = GANTRY_CSTRING;
  args[0].cstring = model.name().c_str();
  for (const gantry_device_id id : devices) args.push_back(device_value(id));
  GANTRY_TRY(const Any made, create.call(args));
  GANTRY_TRY(Module module, made.module());
  GANTRY_TRY(const Function run_profile, module.function("profile"));
  GANTRY_TRY(Executor executor, Executor::wrap(std::move(module)));
  GANTRY_CHECK(set_inputs(executor, model, values, inputs));
  GANTRY_CHECK(executor.run());

  std::map<std::string, double> total;
  for (int i = 0; i < profiles; ++i) {
    GANTRY_TRY(const Any times, run_profile());
    GANTRY_TRY(const std::vector<Any> entries, times.items());
    for (std::size_t k = 0; k + 1 < entries.size(); k += 2) {
      GANTRY_TRY(const std::string name, entries[k].text());
      GANTRY_TRY(const std::int64_t ns, entries[k + 1].integer());
      total[name] += static_cast<double>(ns);
    }
  }
  return means_of(total);
}

// Times the calls of a function of a virtual machine, or of code that is compiled ahead of time, in a
// runtime that records them. Recording takes as long as a small kernel, so functions that make calls
// share what these leave of a run.
//
// weights  [in]   NULL: none
// run_ns   [in]   of a run that is not recorded
Result<std::vector<NamedTime>> profile_function(const BenchOptions& options, const Globals& globals,
                                                std::span<const std::string> devices,
                                                const ModelWeights* weights,
                                                std::span<const ModelInput> inputs, double run_ns) {
  GANTRY_TRY(const Runtime runtime, open_runtime(globals, true));
  GANTRY_TRY(const Module loaded, load_model(runtime, options.file, options.load, options.devices));
  std::string function = options.function;
  GANTRY_TRY(const Module module, selected_model(loaded, function));
  GANTRY_TRY(Session model,
             model_session(runtime, module,
                           {.devices = {devices.begin(), devices.end()}, .function = function}));
  GANTRY_TRY(const auto ids, device_ids(runtime, devices));
  InputValues values;
  if (weights != nullptr) {
    GANTRY_TRY(values, weights->load(runtime, model, devices.front()));
  }
  GANTRY_CHECK(set_values(model, values));
  GANTRY_CHECK(set_inputs(model, inputs));
  const auto run = [&]() -> Status {
    GANTRY_CHECK(model.run());
    return synchronize(runtime, ids);
  };
  GANTRY_CHECK(run());
  const TraceRecorder& trace = *state_of(runtime.get())->trace;
  const std::size_t before = trace.events().size();
  for (int i = 0; i < profiles; ++i) GANTRY_CHECK(run());
  const std::vector<TraceEvent> events = trace.events();
  double callers = 0, others = 0;
  const auto times = self_times(std::span(events).subspan(before));
  for (const auto& [name, time] : times) (time.has_calls ? callers : others) += time.ns;
  const double left = std::max(run_ns * profiles - others, 0.0);
  std::map<std::string, double> total;
  for (const auto& [name, time] : times) {
    total[name] = time.has_calls ? time.ns * std::min(left / std::max(callers, 1.0), 1.0) : time.ns;
  }
  return means_of(total);
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

// Times the work of further runs on each device's own clock; devices without events are left out.
Result<std::vector<NamedTime>> device_times(const Runtime& runtime, MeasuredModel& model,
                                            std::span<const gantry_device_id> ids) {
  std::vector<NamedTime> times;
  for (const gantry_device_id id : ids) {
    GANTRY_TRY(const gantry_device device, runtime.device_table(id));
    GANTRY_TRY(auto timer, DeviceTimer::create(runtime, id));
    if (!timer) continue;
    std::vector<double> runs;
    for (int i = 0; i < timed_runs; ++i) {
      GANTRY_CHECK(timer->start());
      GANTRY_CHECK(model.run());
      GANTRY_CHECK(timer->stop());
      GANTRY_TRY(const std::int64_t ns, timer->elapsed());
      runs.push_back(static_cast<double>(ns));
    }
    times.push_back({concat(device.table->name, ":", id.index), statistics_of(runs).median});
  }
  return times;
}

Status run_steadily(const Runtime& runtime, MeasuredModel& model, const BenchOptions& options,
                    bool quiet, std::span<const gantry_device_id> devices, BenchReport& report) {
  std::size_t count = options.repeat;
  if (count == 0) {
    const double each = std::max(report.first_ns, 1.0);
    count = std::clamp(static_cast<std::size_t>(enough_ns / each), fewest_runs, max_runs);
  }
  Progress progress("bench", count, quiet);
  const MachineLoad machine;
  const Stopwatch all;
  while (report.steady_ns.count() < count) {
    const Stopwatch run;
    GANTRY_CHECK(model.run());
    GANTRY_CHECK(synchronize(runtime, devices));
    report.steady_ns.add(run.nanoseconds());
    progress.advance();
    const bool enough =
        report.steady_ns.count() >= fewest_runs && all.nanoseconds() > 2 * enough_ns;
    if (options.repeat == 0 && enough) break;
  }
  report.other_cpus = machine.other_cpus();
  return {};
}

Result<BenchReport> measure(const BenchOptions& options, const Globals& globals,
                            const TimeLimit& limit) {
  // before the model is loaded, so that a wrong name fails early
  std::optional<ModelWeights> weights;
  if (!options.weights.empty()) {
    GANTRY_TRY(weights, ModelWeights::open(options.weights));
  }
  GANTRY_TRY(const Runtime runtime, open_runtime(globals));
  BenchReport report{.file = options.file,
                     .function = options.function,
                     .weights = options.weights,
                     .capture = options.capture};
  GANTRY_TRY(const std::int64_t threads, runtime.threads());
  report.threads = static_cast<int>(threads);
  report.cpus = usable_cpus();
  report.before = process_memory();
  const Stopwatch load;
  GANTRY_TRY(const Module loaded, load_model(runtime, options.file, options.load, options.devices));
  report.load_ns = load.nanoseconds();
  std::error_code ignored;
  report.file_bytes = std::filesystem::file_size(options.file, ignored);

  std::string function = options.function;
  GANTRY_TRY(const Module module, selected_model(loaded, function));
  GANTRY_TRY(report.devices, reported_devices(runtime, module, options.devices, globals.quiet));
  const Stopwatch create;
  GANTRY_TRY(
      Session session,
      model_session(runtime, module,
                    {.devices = report.devices, .function = function, .capture = options.capture}));
  report.create_ns = create.nanoseconds();
  std::optional<MeasuredModel> model(std::in_place, std::move(session), limit.task());
  GANTRY_TRY(const auto devices, device_ids(runtime, report.devices));
  InputValues values;
  if (weights) {
    GANTRY_TRY(values, weights->load(runtime, model->session(), report.devices.front()));
    GANTRY_CHECK(set_values(model->session(), values));
  }
  GANTRY_TRY(const std::vector<ModelInput> inputs,
             options.inputs.empty()
                 ? zero_inputs(runtime, model->session(), values)
                 : read_inputs(runtime, model->session(), options.inputs, false, values));
  GANTRY_CHECK(set_inputs(model->session(), inputs));
  GANTRY_CHECK(synchronize(runtime, devices));

  const std::string title = run_title(model->session());
  const CallRecord record(title);
  const Stopwatch first;
  GANTRY_CHECK(model->run());
  GANTRY_CHECK(synchronize(runtime, devices));
  report.first_ns = first.nanoseconds();
  GANTRY_TRY(const auto stated_outputs, model->session().function().outputs());
  if (stated_outputs) GANTRY_CHECK(model->reuse_outputs());
  // the second run is recorded, later runs replay it
  if (options.capture) GANTRY_CHECK(model->run());
  GANTRY_CHECK(run_steadily(runtime, *model, options, globals.quiet, devices, report));
  GANTRY_TRY(report.device_times, device_times(runtime, *model, devices));
  report.device_bytes = memory_of(runtime, devices);
  report.after = process_memory();
  GANTRY_TRY(report.plugins, runtime.plugins_in_use());
  // Only graphs have an executor that times its operators. A model that imports graphs has none.
  GANTRY_TRY(const std::string key, module.type_key());
  if (key == graph_factory_key || key == old_graph_factory_key) {
    GANTRY_TRY(report.operators, profile_graph(module, model->session(), values, inputs, devices));
    return report;
  }
  const std::string name(model->session().name());
  // Frees the weights, which the other runtime loads again.
  model.reset();
  values.clear();
  GANTRY_TRY(report.operators,
             profile_function(options, globals, report.devices, weights ? &*weights : nullptr,
                              inputs, report.steady_ns.statistics().median));
  report.has_hidden_operators = (key == aot_factory_key || key == aot_metadata_key) &&
                                std::ranges::none_of(report.operators, [&](const NamedTime& one) {
                                  return is_operator(one, name);
                                });
  return report;
}

Result<ExitStatus> bench(const BenchOptions& options, const Globals& globals) {
  GANTRY_TRY(const TimeLimit limit, TimeLimit::start(options.timeout));
  auto report = measure(options, globals, limit);
  if (!report.ok()) {
    return limit.explained(std::move(report).error()).at("while measuring ", quoted(options.file));
  }
  print(options.json ? bench_json(*report) : bench_text(*report));
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "measure run times and memory use of a model");
  command->add_option("FILE", options->file, "the artifact, with a model")
      ->required()
      ->check(not_empty());
  add_repeatable(*command, "--device", "NAME[:N]", options->devices,
                 "device to run on: cpu, opencl:1, ...; default: as the artifact names; may be "
                 "repeated");
  add_repeatable(*command, "--input", "[NAME=]FILE", options->inputs,
                 "inputs by name: FILE.npz with all of them, NAME=FILE.npy, "
                 "NAME=FILE.npz:MEMBER; default: zeros; may be repeated",
                 accepted_by(parse_input));
  add_weights(*command, options->weights);
  add_text(*command, "--function", "NAME", options->function,
           "function of a virtual machine, default: its only one, or \"main\"; or "
           "model of an archive");
  command
      ->add_option("--repeat", options->repeat, "number of steady runs, default: about one second")
      ->type_name("N")
      ->check(in_range(1, 1000000000));
  add_timeout(*command, options->timeout);
  add_load(*command, options->load);
  command->add_flag("--capture", options->capture,
                    "record a run on the device and replay it in the steady runs (CUDA graphs)");
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Examples:\n"
      "  gantry bench model.so --device cpu\n"
      "  gantry bench lm.so --function embed --weights lm.weights --input ids=ids.npy");
  set_action(*command, invocation, options, bench);
}

}  // namespace gantry::cli
