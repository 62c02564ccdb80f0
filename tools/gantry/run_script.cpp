// SPDX-License-Identifier: Apache-2.0
//
// `gantry run FILE --script SCRIPT`: plays a call script. tools/gantry/SCRIPT.md describes it.
#include "core/base/json_document.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/model_devices.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/script/script_player.hpp"
#include "tools/gantry/script/script_recorder.hpp"
#include "tools/gantry/script/script_values.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cli {
namespace {

// A difference of a call, or the result of a call that is not recorded.
struct ScriptLine {
  std::size_t call;
  std::string function;
  // may have several lines
  std::string text;
};

struct Report {
  std::vector<std::string> devices;
  std::size_t calls = 0;
  std::vector<ScriptLine> differences;
  std::vector<ScriptLine> results;
};

std::string line_of(const ScriptLine& line) {
  return concat("call ", line.call, " ", escaped(line.function), ": ", Message::lines(line.text),
                "\n");
}

std::string counted(std::size_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

std::string report_json(const RunOptions& options, const Report& report) {
  const auto write = [](const ScriptLine& line, JsonWriter& json) {
    json.field("call", line.call);
    json.field("function", json_text(line.function));
    json.field("text", json_text(line.text));
  };
  return json_document([&](JsonWriter& json) {
    json.field("file", json_text(options.file));
    json.field("script", json_text(options.script));
    json.field("devices", report.devices);
    json.field("calls", report.calls);
    write_objects("differences", report.differences, json, write);
    write_objects("results", report.results, json, write);
  });
}

// The files that a run writes. They are checked before the model is loaded.
struct ScriptFiles {
  std::optional<OutputFile> json, npz, trace;

  static Result<ScriptFiles> open(const RunOptions& options, const Globals& globals,
                                  const CallScript& script) {
    InputFiles inputs = input_files(globals, {options.file});
    for (const std::filesystem::path& file : files_of(script)) inputs.add(file);
    ScriptFiles files;
    if (!options.record.empty()) {
      const std::filesystem::path path = options.record;
      GANTRY_TRY(OutputFile json, OutputFile::open(path, inputs));
      GANTRY_TRY(OutputFile npz,
                 OutputFile::open(std::filesystem::path(path).replace_extension(".npz"), inputs));
      files.json.emplace(std::move(json));
      files.npz.emplace(std::move(npz));
    }
    if (!options.trace.empty()) {
      GANTRY_TRY(OutputFile file, OutputFile::open(options.trace, inputs));
      if (file.is_standard_output())
        return invalid("standard output is used twice, by --trace and the report of --script");
      files.trace.emplace(std::move(file));
    }
    return files;
  }
};

Result<Report> play(const Runtime& runtime, const RunOptions& options, const Globals& globals,
                    const CallScript& script, const TimeLimit& limit, ScriptFiles& files) {
  GANTRY_TRY(const Module loaded, load_model(runtime, options.file, options.load, options.devices));
  std::string function = options.function;
  GANTRY_TRY(const Module model, selected_model(loaded, function));
  if (!function.empty()) {
    return invalid("--function ", quoted(function),
                   " selects a model of an archive with several, which the file is not; the script "
                   "names the functions that it calls");
  }
  Report report;
  GANTRY_TRY(report.devices, reported_devices(runtime, model, options.devices, globals.quiet));
  GANTRY_TRY(ScriptPlayer player, ScriptPlayer::create(runtime, model, script, report.devices));
  player.set_task(limit.task());
  ScriptRecorder recorder(runtime, script);
  for (const ScriptCall& call : script.calls) {
    GANTRY_TRY(const PlayedCall* const played, player.play(report.calls, options.tolerance));
    if (played->error && played->error->code == Code::cancelled && limit.has_passed())
      return *played->error;
    const auto add = [&](std::vector<ScriptLine>& lines, std::string text) {
      lines.push_back({report.calls, call.function, std::move(text)});
      if (!options.json) print(line_of(lines.back()));
    };
    for (const std::string& text : played->differences) add(report.differences, text);
    if (!call.is_recorded() && played->error) {
      add(report.results,
          concat("error  ", kind_of(*played->error), ": ", text_of(*played->error)));
    }
    if (!call.is_recorded() && played->result) {
      GANTRY_TRY(const std::string line, value_line(runtime, *played->result));
      add(report.results, concat("result  ", line));
    }
    if (files.json) GANTRY_CHECK(recorder.add(*played));
    ++report.calls;
  }
  if (files.json) GANTRY_CHECK(write_call_script(recorder.script(), *files.json, *files.npz));
  return report;
}

}  // namespace

Result<ExitStatus> run_script(const RunOptions& options, const Globals& globals,
                              const TimeLimit& limit) {
  GANTRY_TRY(const CallScript script, read_call_script(options.script));
  GANTRY_TRY(ScriptFiles files, ScriptFiles::open(options, globals, script));
  GANTRY_TRY(const Runtime runtime, open_runtime(globals, files.trace.has_value()));
  if (script.kind == CallScript::Kind::tir && !options.force) {
    GANTRY_CHECK(check_called_library(runtime, options.file, script.calls.front().function));
  }
  auto report = play(runtime, options, globals, script, limit, files);
  if (files.trace) {
    GANTRY_TRY(const std::string events, runtime.trace_json());
    GANTRY_CHECK(files.trace->finish(events));
  }
  if (!report.ok())
    return limit.explained(std::move(report).error())
        .at("while playing ", quoted(options.script), " on ", quoted(options.file));
  print(options.json ? report_json(options, *report)
                     : concat(counted(report->calls, "call"), ", ",
                              counted(report->differences.size(), "difference"), "\n"));
  return report->differences.empty() ? kDone : kFailed;
}

}  // namespace gantry::cli
