// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/bench_measure.hpp"
#include "tools/gantry/bench_report.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/driver_guard.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/model_devices.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/model_weights.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"
#include "tools/gantry/time_limit.hpp"

#include "core/base/output_file.hpp"
#include "core/base/text.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/native/thread_pool.hpp"
#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/devices.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry::cli {
namespace {

constexpr std::string_view all_devices = "all";

struct BenchOptions {
  std::string file;
  // empty: those that the artifact names; "all" alone: each of the host, one after the other
  std::vector<std::string> devices;
  InputOptions inputs;
  // a directory, for inputs that no file sets; empty: none
  std::string weights;
  BenchPlan plan;
  // documents of --json and Chrome traces; empty: none
  std::string baseline, trace;
  // seconds; 0: not given
  int timeout = 0;
  LoadOptions load;
  bool json = false, csv = false;

  bool is_of_all() const { return devices.size() == 1 && devices.front() == all_devices; }
};

// The files that are read and opened before the model is loaded, so that a wrong name fails early.
struct BenchFiles {
  std::optional<ModelWeights> weights;
  std::vector<Measurement> baseline;
  std::optional<OutputFile> trace;

  static Result<BenchFiles> open(const BenchOptions& options, const Globals& globals) {
    BenchFiles files;
    if (!options.weights.empty()) {
      GANTRY_TRY(files.weights, ModelWeights::open(options.weights));
    }
    if (!options.baseline.empty()) {
      GANTRY_TRY(files.baseline, read_measurements(options.baseline));
    }
    if (options.trace.empty()) return files;
    GANTRY_TRY(
        OutputFile trace,
        OutputFile::open(options.trace, input_files(globals, {options.file, options.baseline})));
    files.trace.emplace(std::move(trace));
    if (files.trace->is_standard_output() && (options.json || options.csv))
      return invalid("standard output is used twice, by --trace and the report");
    return files;
  }
};

// A loaded file, and what is the same for all of its devices.
struct LoadedModel {
  BenchedModel model;
  BenchReport report;

  static Result<LoadedModel> load(const BenchOptions& options, const Runtime& runtime,
                                  const BenchFiles& files, const TimeLimit& limit,
                                  const LoadOptions& how, const std::vector<std::string>& devices) {
    LoadedModel loaded;
    BenchReport& report = loaded.report;
    report.file = options.file;
    report.function = options.plan.function;
    report.weights = options.weights;
    report.capture = options.plan.capture;
    GANTRY_TRY(const std::int64_t threads, runtime.threads());
    report.threads = static_cast<int>(threads);
    report.cpus = usable_cpus();
    report.before = process_memory();
    const Stopwatch load;
    GANTRY_TRY(loaded.model.module, load_model(runtime, options.file, how, devices));
    report.load_ns = load.nanoseconds();
    std::error_code ignored;
    report.file_bytes = std::filesystem::file_size(options.file, ignored);
    loaded.model.runtime = runtime;
    loaded.model.weights = files.weights ? &*files.weights : nullptr;
    loaded.model.task = limit.task();
    loaded.model.inputs = [&](const Session& session, const InputValues& values) {
      return read_inputs(runtime, session, options.inputs, false, MissingInput::zeros, values);
    };
    return loaded;
  }
};

// Compares a report with that of the same subject in the baseline, if there is a baseline.
Status add_comparison(const BenchOptions& options, std::span<const Measurement> baseline,
                      BenchReport& report) {
  if (baseline.empty()) return {};
  const Measurement now = measurement_of(report);
  GANTRY_TRY(const Measurement* const before, comparable(now.subject, baseline, options.baseline));
  report.comparison = compare(now, *before);
  return {};
}

// Measures the model on these devices. A baseline of another subject is refused before the first run.
Status measure_on(const BenchOptions& options, const LoadedModel& loaded, const BenchPlan& plan,
                  std::span<const std::string> devices, std::span<const Measurement> baseline,
                  bool quiet, BenchReport& report, std::vector<CpuArray>* outputs = nullptr) {
  const auto check = [&](const BenchReport& so_far) -> Status {
    if (baseline.empty()) return {};
    GANTRY_CHECK(comparable(measurement_of(so_far).subject, baseline, options.baseline));
    return {};
  };
  GANTRY_CHECK(measure(loaded.model, plan, devices, quiet, check, report, outputs));
  return add_comparison(options, baseline, report);
}

// Returns the devices of this host, and one row for each kind without a device that a plugin serves or
// the artifact names.
std::vector<DeviceRow> rows_of(const Runtime& runtime, const Module& module) {
  RuntimeState& state = *state_of(runtime.get());
  std::vector<Error> problems;
  std::vector<DeviceRow> rows;
  std::vector<std::string> kinds;
  for (const ListedDevice& device : list_devices(state, problems)) {
    DeviceRow& row = rows.emplace_back(DeviceRow{concat(device.name, ":", device.index)});
    kinds.push_back(device.name);
    row.product = device.attribute("name");
    if (device.plugin.empty()) row.product = "CPU code";
  }
  const auto add_missing = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const std::string kind = name.substr(0, name.find(':'));
      if (std::ranges::find(kinds, kind) != kinds.end()) continue;
      kinds.push_back(kind);
      const auto found = runtime.device(concat(kind, ":0"));
      rows.push_back(
          {.name = kind, .missing = found.ok() ? "no device" : first_line(found.error().message)});
    }
  };
  add_missing(state.plugins->offered_devices());
  add_missing(implied_devices(*node_of(module.get()).artifact, *state.plugins).names);
  return rows;
}

// True if an error is not one of the device.
bool ends_all(const Error& error) {
  return error.code == Code::cancelled || error.reason == "BENCH_SUBJECT";
}

Result<std::vector<DeviceRow>> measure_all(const BenchOptions& options, const Globals& globals,
                                           const Runtime& runtime, const BenchFiles& files,
                                           const TimeLimit& limit) {
  // The row of a kind whose driver fails has the reason.
  GANTRY_CHECK(exclude_failing_drivers(*state_of(runtime.get())->plugins, globals,
                                       std::chrono::seconds(default_driver_seconds)));
  // A missing plugin does not prevent runs on the other devices.
  LoadOptions how = options.load;
  how.allow_missing = true;
  GANTRY_TRY(LoadedModel loaded, LoadedModel::load(options, runtime, files, limit, how, {}));
  BenchPlan plan = options.plan;
  GANTRY_TRY(loaded.model.module, selected_model(loaded.model.module, plan.function));
  std::vector<DeviceRow> rows = rows_of(runtime, loaded.model.module);
  std::vector<CpuArray> expected;
  std::optional<Error> first_error;
  bool has_times = false;
  for (DeviceRow& row : rows) {
    row.report = loaded.report;
    if (!row.missing.empty()) continue;
    std::vector<Measurement> baseline;
    for (const Measurement& each : files.baseline) {
      if (each.subject.devices == std::vector{row.name}) baseline.push_back(each);
    }
    std::vector<CpuArray> outputs;
    const std::string devices[] = {row.name};
    Status done =
        measure_on(options, loaded, plan, devices, baseline, globals.quiet, row.report, &outputs);
    if (!done.ok()) {
      if (ends_all(done.error())) return std::move(done).error().at("on ", row.name);
      row.missing = first_line(done.error().message);
      if (!first_error) first_error = std::move(done).error().at("on ", row.name);
      continue;
    }
    if (!has_times) expected = outputs;
    has_times = true;
    for (std::size_t i = 0; i < std::min(outputs.size(), expected.size()); ++i) {
      const auto difference = largest_difference(view_of(outputs[i]), view_of(expected[i]));
      if (difference) row.difference = std::max(row.difference.value_or(0), *difference);
    }
  }
  if (!has_times && first_error) return *std::move(first_error);
  return rows;
}

Result<BenchReport> measure_one(const BenchOptions& options, const Globals& globals,
                                const Runtime& runtime, const BenchFiles& files,
                                const TimeLimit& limit) {
  GANTRY_TRY(LoadedModel loaded,
             LoadedModel::load(options, runtime, files, limit, options.load, options.devices));
  BenchPlan plan = options.plan;
  GANTRY_TRY(loaded.model.module, selected_model(loaded.model.module, plan.function));
  GANTRY_TRY(const std::vector<std::string> devices,
             reported_devices(runtime, loaded.model.module, options.devices, globals.quiet));
  BenchReport report = loaded.report;
  GANTRY_CHECK(measure_on(options, loaded, plan, devices, files.baseline, globals.quiet, report));
  return report;
}

// Returns what is printed.
Result<std::string> measured(const BenchOptions& options, const Globals& globals,
                             const Runtime& runtime, const BenchFiles& files,
                             const TimeLimit& limit) {
  const auto print_as = [&](const auto& result) {
    return options.json ? bench_json(result) : options.csv ? bench_csv(result) : bench_text(result);
  };
  if (options.is_of_all()) {
    GANTRY_TRY(const std::vector<DeviceRow> rows,
               measure_all(options, globals, runtime, files, limit));
    return print_as(std::span(rows));
  }
  GANTRY_TRY(const BenchReport report, measure_one(options, globals, runtime, files, limit));
  return print_as(report);
}

Result<ExitStatus> bench(const BenchOptions& options, const Globals& globals) {
  GANTRY_TRY(const TimeLimit limit, TimeLimit::start(options.timeout));
  auto files = BenchFiles::open(options, globals);
  if (!files.ok()) {
    return std::move(files).failure().at("while measuring ", quoted(options.file));
  }
  GANTRY_TRY(const Runtime runtime, open_runtime(globals, true));
  auto text = measured(options, globals, runtime, *files, limit);
  if (files->trace) {
    GANTRY_TRY(const std::string events, runtime.trace_json());
    GANTRY_CHECK(files->trace->finish(events));
  }
  if (!text.ok()) {
    return limit.explained(std::move(text).error()).at("while measuring ", quoted(options.file));
  }
  if (!files->trace || !files->trace->is_standard_output()) {
    print(*text);
  } else if (!globals.quiet) {
    print_error(*text);
  }
  return kDone;
}

void add_plan(CLI::App& command, BenchPlan& plan) {
  CLI::Option* repeat =
      command
          .add_option("--repeat", plan.repeat, "number of steady runs, default: about one second")
          ->type_name("N")
          ->check(in_range(1, 1000000000));
  command.add_option("--duration", plan.seconds, "time of the steady runs, default: 1")
      ->type_name("SECONDS")
      ->check(in_range(0.001, 86400.0))
      ->excludes(repeat);
  command
      .add_option("--warmup", plan.warmup,
                  "runs before the steady ones, the first among them, default: 1")
      ->type_name("N")
      ->check(in_range(1, 1000000000));
  command
      .add_option("--items", plan.items,
                  "items in a run, default: the first extent of the first input")
      ->type_name("N")
      ->check(in_range(1, 1000000000));
  command
      .add_option("--concurrency", plan.at_once,
                  "also measure runs of this many threads at once, each with an executor of its "
                  "own and shared parameters: 1,2,4")
      ->type_name("N,...")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(in_range(1, 1024));
  command.add_flag("--capture", plan.capture,
                   "record a run on the device and replay it in the steady runs (CUDA graphs)");
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
                 "repeated; all: one after the other on each device of this host");
  add_inputs(*command, options->inputs, "zeros");
  add_weights(*command, options->weights);
  add_text(*command, "--function", "NAME", options->plan.function,
           "function of a virtual machine, default: its only one, or \"main\"; or "
           "model of an archive");
  add_plan(*command, options->plan);
  CLI::Option* baseline =
      add_text(*command, "--baseline", "FILE.json", options->baseline,
               "compare with an earlier document of --json, and mark what is faster or slower");
  add_text(*command, "--trace", "FILE.json", options->trace,
           "write a Chrome trace of the load, the first run and the recorded ones to this file, or "
           "to standard output (-)");
  add_timeout(*command, options->timeout);
  add_load(*command, options->load);
  CLI::Option* json = command->add_flag("--json", options->json, "print one JSON document");
  command->add_flag("--csv", options->csv, "print one line with commas for each series of runs")
      ->excludes(json)
      ->excludes(baseline);
  command->parse_complete_callback([=] {
    const bool has_all = std::ranges::find(options->devices, all_devices) != options->devices.end();
    if (!has_all) return;
    if (!options->is_of_all())
      throw CLI::ValidationError("--device", "all excludes further devices");
    if (options->load.strict) throw CLI::ValidationError("--strict", "excludes --device all");
    if (!options->plan.at_once.empty())
      throw CLI::ValidationError("--concurrency", "excludes --device all");
  });
  command->footer(
      "Examples:\n"
      "  gantry bench model.so --device cpu\n"
      "  gantry bench model.so --device all\n"
      "  gantry bench model.so --input random --shape n=16\n"
      "  gantry bench model.so --json > before.json\n"
      "  gantry bench model.so --baseline before.json\n"
      "  gantry bench model.so --concurrency 1,2,4\n"
      "  gantry bench lm.so --function embed --weights lm.weights --input ids=ids.npy");
  set_action(*command, invocation, options, bench);
}

}  // namespace gantry::cli
