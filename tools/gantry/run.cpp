// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/arg_spec.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/process_memory.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/model_devices.hpp"
#include "tools/gantry/model_weights.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/output_file.hpp"
#include "core/base/text.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

struct Finished {
  std::vector<std::string> devices;
  RunOutcome outcome;
  double load_ns = 0;
  std::vector<std::string> plugins;
  std::int64_t fallbacks = 0;
  std::vector<std::string> missing;
  // result of the comparison with --expect
  Status expected;
};

std::string run_text(const RunOptions& options, const Finished& done) {
  const Statistics times = done.outcome.run_ns.statistics();
  std::string text;
  for (const CpuArray& array : done.outcome.arrays) text += values_text(array, options.shown);
  for (const NamedText& value : done.outcome.texts)
    text += text_line(escaped(value.name), "  ", value.text);
  const std::size_t runs = done.outcome.run_ns.count();
  text += text_line(runs, runs == 1 ? " run, " : " runs, median ", human_time(times.median),
                    "; load ", human_time(done.load_ns));
  if (!options.expect.empty() && done.expected.ok()) {
    text += text_line(options.tolerance.exact() ? "equal to " : "within tolerance of ",
                      escaped(options.expect));
  }
  return text;
}

void write_times(const Finished& done, JsonWriter& json) {
  const Statistics times = done.outcome.run_ns.statistics();
  json.begin_object("times");
  json.field("load_ns", done.load_ns);
  json.field("create_ns", done.outcome.create_ns);
  json.field("runs", done.outcome.run_ns.count());
  json.field("first_ns", done.outcome.run_ns.first());
  json.field("median_ns", times.median);
  json.field("p99_ns", times.p99);
  json.end();
}

void write_expected(const RunOptions& options, const Finished& done, JsonWriter& json) {
  if (options.expect.empty()) return json.field("expected", nullptr);
  json.begin_object("expected");
  json.field("file", json_text(options.expect));
  json.field("equal", done.expected.ok());
  json.field("rtol", options.tolerance.rtol);
  json.field("atol", options.tolerance.atol);
  json.end();
}

std::string run_json(const RunOptions& options, const Finished& done) {
  const auto result = std::ranges::find(done.outcome.texts, "result", &NamedText::name);
  const auto write_text = [](const NamedText& value, JsonWriter& json) {
    json.field("name", json_text(value.name));
    json.field("text", json_text(value.text));
  };
  return json_document([&](JsonWriter& json) {
    json.field("file", json_text(options.file));
    json.field("devices", done.devices);
    json.field("function", text_or_null(options.function));
    json.field("weights", text_or_null(options.weights));
    json.field("capture", options.capture);
    write_objects("outputs", done.outcome.arrays, json, [&](const CpuArray& array, JsonWriter& to) {
      write_type(array, to);
      write_values(array, options.shown, to);
    });
    json.field("result", result != done.outcome.texts.end() ? std::optional(json_text(result->text))
                                                            : std::nullopt);
    write_objects("texts", done.outcome.texts, json, write_text);
    write_times(done, json);
    json.field("plugins", done.plugins);
    json.field("fallbacks", done.fallbacks);
    write_texts("missing", done.missing, json);
    write_memory("memory", process_memory(), json);
    write_expected(options, done, json);
  });
}

// The files that a run writes, and its weights. They are opened before the model is
// loaded, so that a wrong name fails early.
struct RunFiles {
  std::optional<OutputFile> output, trace;
  std::optional<ModelWeights> weights;

  static Result<RunFiles> open(const RunOptions& options, const Globals& globals) {
    InputFiles inputs =
        input_files(globals, {options.file, options.graph, options.params, options.expect});
    GANTRY_TRY(const std::vector<std::string> input_values, options.inputs.files());
    for (const std::string& file : input_values) inputs.add(file);
    for (const std::string& arg : options.args) {
      GANTRY_TRY(const ArgSpec spec, parse_arg(arg));
      if (const auto* file = std::get_if<FileArg>(&spec)) inputs.add(file->path);
    }
    RunFiles files;
    if (!options.weights.empty()) {
      GANTRY_TRY(files.weights, ModelWeights::open(options.weights));
      for (const std::filesystem::path& file : files.weights->files()) inputs.add(file);
    }
    if (!options.output.empty()) {
      GANTRY_TRY(OutputFile file, OutputFile::open(options.output, inputs));
      files.output.emplace(std::move(file));
    }
    if (!options.trace.empty()) {
      GANTRY_TRY(OutputFile file, OutputFile::open(options.trace, inputs));
      files.trace.emplace(std::move(file));
    }
    if (on_stdout(files.output) + on_stdout(files.trace) + options.json > 1) {
      return invalid("standard output is used twice, by two of --output, --trace and --json");
    }
    return files;
  }

  static bool on_stdout(const std::optional<OutputFile>& file) {
    return file && file->is_standard_output();
  }
  // True if standard output contains a file, so that the report must not be printed there.
  bool use_stdout() const { return on_stdout(output) || on_stdout(trace); }
};

// Runs the model, or the function of --function: one of the model if it has it, otherwise one of a
// library.
Result<RunOutcome> run_chosen(const Runtime& runtime, const Module& module,
                              const RunOptions& options, const ModelWeights* weights,
                              const TimeLimit& limit, bool quiet) {
  const bool is_by_name = options.inputs.given() || options.each || weights != nullptr;
  const Stopwatch create;
  if (options.function.empty() || is_by_name) {
    GANTRY_TRY(Session session, model_session(runtime, module,
                                              {.devices = options.devices,
                                               .function = options.function,
                                               .capture = options.capture}));
    return run_model(runtime, session, create.nanoseconds(), options, weights, limit, quiet);
  }
  if (!is_model_function(module, options.function) && module.function(options.function).ok())
    return run_function(runtime, module, options, limit, quiet);
  // A name of neither kind is refused with the functions of the model, if there is one.
  auto created = runtime.model(module, options.devices);
  if (!created.ok() && created.error().code == Code::not_found)
    return run_function(runtime, module, options, limit, quiet);
  GANTRY_TRY(const Model model, std::move(created));
  if (!options.args.empty()) {
    GANTRY_TRY(const Module machine, model.module());
    return run_function(runtime, machine, options, limit, quiet);
  }
  GANTRY_TRY(ModelFunction function, model.function(options.function));
  GANTRY_TRY(Session session, Session::create(std::move(function)));
  return run_model(runtime, session, create.nanoseconds(), options, weights, limit, quiet);
}

Result<Finished> run(const RunOptions& options, const Globals& globals, const TimeLimit& limit,
                     RunFiles& files) {
  GANTRY_TRY(const Runtime runtime, open_runtime(globals, files.trace.has_value()));
  // read before the model runs, so that an unreadable file fails early
  std::optional<ExpectedArrays> expected;
  if (!options.expect.empty()) {
    GANTRY_TRY(expected, ExpectedArrays::read(runtime, options.expect));
  }
  if (!options.function.empty() && !options.force)
    GANTRY_CHECK(check_called_library(runtime, options.file, options.function));
  Finished done;
  const Stopwatch load;
  GANTRY_TRY(const Module loaded,
             options.graph.empty()
                 ? load_model(runtime, options.file, options.load, options.devices)
                 : runtime.load_graph({options.file, options.graph, options.params}, options.load));
  done.load_ns = load.nanoseconds();
  GANTRY_TRY(done.missing, loaded.missing());
  // The runtime has logged the modules that it left out without permission.
  for (const std::string& reason : done.missing) {
    if (options.load.allow_missing && !globals.quiet) warn(reason);
  }
  RunOptions chosen = options;
  GANTRY_TRY(const Module model, selected_model(loaded, chosen.function));
  GANTRY_TRY(chosen.devices, reported_devices(runtime, model, options.devices, globals.quiet));
  done.devices = chosen.devices;

  auto outcome = run_chosen(runtime, model, chosen, files.weights ? &*files.weights : nullptr,
                            limit, globals.quiet);
  if (files.trace) {
    GANTRY_TRY(const std::string events, runtime.trace_json());
    GANTRY_CHECK(files.trace->finish(events));
  }
  if (!outcome.ok()) {
    return limit.explained(std::move(outcome).error()).at("while running ", quoted(options.file));
  }
  done.outcome = std::move(outcome).value();
  GANTRY_TRY(done.plugins, runtime.plugins_in_use());
  GANTRY_TRY(done.fallbacks, runtime.fallbacks());
  if (files.output) GANTRY_CHECK(write_arrays(*files.output, done.outcome.arrays));
  if (expected) {
    done.expected =
        expected->compare_with(done.outcome.arrays, options.tolerance, done.outcome.has_arguments);
  }
  return done;
}

Result<ExitStatus> run_and_report(const RunOptions& options, const Globals& globals) {
  GANTRY_TRY(const TimeLimit limit, TimeLimit::start(options.timeout));
  if (!options.script.empty()) return run_script(options, globals, limit);
  GANTRY_TRY(RunFiles files, RunFiles::open(options, globals));
  GANTRY_TRY(const Finished done, run(options, globals, limit, files));
  if (!files.use_stdout()) {
    print(options.json ? run_json(options, done) : run_text(options, done));
  } else if (!globals.quiet) {
    print_error(run_text(options, done));
  }
  GANTRY_CHECK(done.expected);
  return kDone;
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "load a model or a library and run it");
  command->add_option("FILE", options->file, "the artifact")->required()->check(not_empty());
  CLI::Option* graph = add_text(*command, "--graph", "FILE.json", options->graph,
                                "the graph whose functions the artifact, a library, has");
  add_text(*command, "--params", "FILE.params", options->params, "the parameters of --graph")
      ->needs(graph);
  add_repeatable(*command, "--device", "NAME[:N]", options->devices,
                 "device to run on: cpu, opencl:1, ...; default: as the artifact names; may be "
                 "repeated");
  CLI::Option* function =
      add_text(*command, "--function", "NAME", options->function,
               "run this function of a virtual machine or of a library, or this model "
               "of an archive");
  CLI::Option* force = command->add_flag(
      "--force", options->force, "call the function even if the library has no symbol of TVM");
  CLI::Option* arg =
      add_repeatable(
          *command, "--arg", "SPEC", options->args,
          "argument of the function: FILE.npy, zeros:float32[16], int:3, float:0.5, "
          "shape:[2, 16], str:text, json:[1, {\"key\": \"text\"}], none; may be repeated",
          accepted_by(parse_arg))
          ->needs(function);
  CLI::Option* script = add_text(*command, "--script", "FILE.json", options->script,
                                 "play a call script and compare with its results")
                            ->excludes(arg)
                            ->excludes(graph);
  add_text(*command, "--record", "FILE.json", options->record,
           "write the script with the results of this run, and FILE.npz beside it")
      ->check(script_output())
      ->needs(script);
  const InputOptionsOf inputs = add_inputs(*command, options->inputs);
  for (CLI::Option* const option : {inputs.input, inputs.shape})
    option->excludes(arg)->excludes(script);
  add_weights(*command, options->weights)->excludes(arg)->excludes(script);
  command
      ->add_flag("--each", options->each,
                 "run once for each element of the first axis of the inputs from files")
      ->excludes(arg)
      ->excludes(script);
  add_text(*command, "--output", "FILE", options->output,
           "write the outputs to FILE.npz, the only one to FILE.npy, or to a pipe or standard "
           "output (-)")
      ->check(array_output())
      ->excludes(script);
  CLI::Option* const print_all =
      command->add_flag("--print", options->shown.all, "print all values of the outputs")
          ->excludes(script);
  command
      ->add_option("--top", options->shown.top,
                   "print the K largest values with their indices, of each element of the first "
                   "axis where an output has several axes")
      ->type_name("K")
      ->check(in_range(1, 1000000))
      ->excludes(script)
      ->excludes(print_all);
  CLI::Option* expect = add_text(*command, "--expect", "FILE.npz", options->expect,
                                 "compare the outputs with this file")
                            ->excludes(script);
  CLI::Option* rtol = command
                          ->add_option("--rtol", options->tolerance.rtol,
                                       "relative tolerance of --expect; of --script, default 1e-5")
                          ->check(tolerance());
  CLI::Option* atol = command
                          ->add_option("--atol", options->tolerance.atol,
                                       "absolute tolerance of --expect; of --script, default 1e-6")
                          ->check(tolerance());
  command->add_option("--repeat", options->repeat, "run each input N times")
      ->type_name("N")
      ->check(in_range(1, 1000000000))
      ->excludes(script);
  command
      ->add_flag("--capture", options->capture,
                 "record the second run on the device and replay it from then on (CUDA graphs)")
      ->excludes(function)
      ->excludes(script);
  add_timeout(*command, options->timeout);
  add_text(*command, "--trace", "FILE.json", options->trace,
           "write a Chrome trace to this file, or to standard output (-)");
  add_load(*command, options->load);
  command->add_flag("--json", options->json, "print one JSON document");
  command->parse_complete_callback([=] {
    const auto check = [&](const CLI::Option* option, const CLI::Option* needed) {
      if (*option && !*needed && !*script)
        throw CLI::RequiresError(option->get_name(), needed->get_name());
    };
    check(force, function);
    check(rtol, expect);
    check(atol, expect);
    if (*script && !*rtol) options->tolerance.rtol = 1e-5;
    if (*script && !*atol) options->tolerance.atol = 1e-6;
  });
  command->footer(
      "Examples:\n"
      "  gantry run model.so --input x=x.npy --output y.npz\n"
      "  gantry run model.so --input random --shape n=4 --print\n"
      "  gantry run model.so --input x=digits.npz:x --each --top 1\n"
      "  gantry run model.so --device opencl --input x=in.npz --each --expect out.npz --rtol 1e-5\n"
      "  gantry run model.so --device cuda --capture --repeat 100 --input x=x.npy\n"
      "  gantry run lm.so --function embed --weights lm.weights --input ids=ids.npy --output "
      "y.npz\n"
      "  gantry run axpy2.so --function axpy2 --arg a.npy --arg b.npy --arg zeros:float32[16]\n"
      "  gantry run deploy.so --graph deploy.json --params deploy.params --input x=x.npy\n"
      "  gantry run model.so --script calls.json --record results.json");
  set_action(*command, invocation, options, run_and_report);
}

}  // namespace gantry::cli
