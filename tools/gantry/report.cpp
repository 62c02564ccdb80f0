// SPDX-License-Identifier: Apache-2.0
//
// `gantry report`. What may crash - drivers, plugins, the model - runs in other processes: the commands whose
// output the page contains. Where one fails, the page states so, since that is when a report is attached to an
// issue.
#include "core/base/output_file.hpp"
#include "core/base/process.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/text_file.hpp"
#include "core/engine/runtime/environment.hpp"
#include "core/formats/inspect/signatures.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/draw/profile.hpp"
#include "tools/gantry/draw/report_page.hpp"
#include "tools/gantry/inspect_draw.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/utsname.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

constexpr std::size_t max_output = 16 << 20, max_trace_bytes = 256 << 20;

struct PageOptions {
  std::string file;
  std::string output;
  // options of `gantry bench`
  std::vector<std::string> bench;
  // seconds, for each command
  int timeout = 600;
};

struct Ran {
  std::string output;
  // empty: status 0
  std::string failure;
};

class Reporter {
 public:
  Reporter(const PageOptions& options, const Globals& globals)
      : options_(options), globals_(globals) {}

  Result<ReportPage> make() {
    const Environment environment = read_environment();
    GANTRY_TRY(
        const TempDirectory temporary,
        TempDirectory::in(
            environment.temporary_directory.empty() ? "/tmp" : environment.temporary_directory,
            "gantry-report"));
    Progress progress("report", 5, globals_.quiet);
    InspectOptions how{
        .find_layouts = [&]() -> Result<const PayloadLayouts*> {
          GANTRY_TRY(state_, open_state(globals_));
          return &state_->layouts;
        },
        .served_by = [](std::string_view) -> std::optional<std::string> { return std::nullopt; }};
    GANTRY_TRY(const InspectReport file, inspect_file(options_.file, how));
    page_.title = shown_text(options_.file);
    add_host();
    add_signature(file);
    progress.advance();
    const std::string trace = (temporary / "trace.json").string();
    const std::optional<std::string> bench = measure(trace);
    progress.advance();
    add_drawing(file, bench);
    add_line(trace);
    progress.advance();
    add_text("Plugins, and why each was chosen or not",
             {"plugins", "doctor", "--artifact", options_.file});
    progress.advance();
    add_text("Devices", {"devices"});
    add_text("The file", {"inspect", options_.file});
    progress.advance();
    return std::move(page_);
  }

 private:
  // Runs another command of this program, with the global options.
  Result<Ran> run(const std::vector<std::string>& args) const {
    GANTRY_TRY(const std::filesystem::path program, own_program());
    std::vector<std::string> words{program.string()};
    if (!globals_.config.empty()) words.insert(words.end(), {"--config", globals_.config});
    for (const std::string& directory : globals_.plugins)
      words.insert(words.end(), {"--plugins", directory});
    if (globals_.threads != 0)
      words.insert(words.end(), {"--threads", std::to_string(globals_.threads)});
    words.insert(words.end(), args.begin(), args.end());
    ProgramLimits limits;
    limits.time = std::chrono::seconds(options_.timeout);
    limits.kept_bytes = max_output;
    limits.keeps_beginning = true;
    GANTRY_TRY(ProgramEnd end, run_program({.program = program,
                                            .words = std::move(words),
                                            .environment = environment_with({}),
                                            .has_default_signals = true},
                                           limits));
    Ran ran{std::move(end.output), {}};
    switch (end.cause) {
      case ProgramEnd::Cause::exited:
        if (end.exit_status != 0)
          ran.failure = concat("the command has failed with status ", end.exit_status);
        break;
      case ProgramEnd::Cause::signalled:
        ran.failure = concat("the command was ended by signal ", end.signal);
        break;
      default:
        ran.failure = concat("the command has not ended in ", options_.timeout, " s");
    }
    return ran;
  }

  void add_text(std::string title, const std::vector<std::string>& args) {
    ReportText text{.title = std::move(title)};
    text.command = concat(
        "gantry ", join(args, " ", [](const std::string& each) { return shown_text(each); }));
    auto ran = run(args);
    if (ran.ok()) {
      text.text = printable(ran->output);
      text.failure = std::move(ran->failure);
    } else {
      text.failure = ran.error().message.text();
    }
    page_.texts.push_back(std::move(text));
  }

  // Lines, without other control characters.
  static std::string printable(std::string_view output) {
    std::string text;
    while (!output.empty()) {
      const std::string_view line = output.substr(0, output.find('\n'));
      output.remove_prefix(std::min(line.size() + 1, output.size()));
      append(text, {shown_text(line, 1000), "\n"});
    }
    return text;
  }

  void add_host() {
    page_.version = join_lines(version_text());
    utsname machine{};
    if (::uname(&machine) == 0)
      page_.host = concat(machine.sysname, " ", machine.release, ", ", machine.machine);
  }

  static std::string join_lines(std::string text) {
    for (std::size_t at = text.find("\n  "); at != text.npos; at = text.find("\n  "))
      text.replace(at, 3, ", ");
    return text;
  }

  void add_signature(const InspectReport& file) {
    WarningList ignored;
    const StatedSignature signature = signature_of(file, ignored);
    const auto add = [](const std::vector<StatedTensor>& from,
                        std::vector<std::pair<std::string, std::string>>& to) {
      for (const StatedTensor& each : from) {
        std::string type = shown_text(each.text, 100);
        if (!each.function.empty()) append(type, {"  of ", shown_text(each.function, 40)});
        to.emplace_back(shown_text(each.name, 100), std::move(type));
      }
    };
    add(signature.inputs, page_.inputs);
    add(signature.outputs, page_.outputs);
  }

  void miss(std::string_view what, std::string_view why) {
    page_.missing.push_back(concat(what, ": ", shown_text(why, 1000)));
  }

  // Returns the document of `gantry bench --json`.
  std::optional<std::string> measure(const std::string& trace) {
    std::vector<std::string> args{"bench", options_.file, "--json", "--quiet", "--trace", trace};
    args.insert(args.end(), options_.bench.begin(), options_.bench.end());
    auto ran = run(args);
    if (!ran.ok()) {
      miss("no measurements", ran.error().message.text());
      return std::nullopt;
    }
    if (!ran->failure.empty()) {
      page_.texts.push_back({"Measurements", concat("gantry bench ", page_.title),
                             printable(ran->output), ran->failure});
      miss("no measurements", ran->failure);
      return std::nullopt;
    }
    auto facts = read_bench_facts(ran->output);
    if (!facts.ok()) {
      miss("no measurements", facts.error().message.text());
      return std::nullopt;
    }
    page_.bench = std::move(*facts);
    return std::move(ran->output);
  }

  void add_drawing(const InspectReport& file, const std::optional<std::string>& bench) {
    auto drawing = drawing_of(file);
    if (!drawing.ok()) return miss("no drawing", drawing.error().message.text());
    if (bench) {
      const auto profile = read_profile(*bench);
      const Status added = profile.ok() ? add_profile(*profile, *drawing) : Status(profile.error());
      if (!added.ok()) miss("no times of operators", added.error().message.text());
    }
    page_.drawing = placed_here(std::move(*drawing), globals_);
  }

  void add_line(const std::string& trace) {
    if (!page_.bench) return;
    const auto text = read_text_file(trace, max_trace_bytes);
    if (!text.ok()) return miss("no time line", text.error().message.text());
    auto line = read_time_line(*text);
    if (!line.ok()) return miss("no time line", line.error().message.text());
    page_.line = std::move(*line);
  }

  const PageOptions& options_;
  const Globals& globals_;
  std::shared_ptr<RuntimeState> state_;
  ReportPage page_;
};

Result<ExitStatus> report_file(const PageOptions& options, const Globals& globals) {
  GANTRY_TRY(OutputFile output,
             OutputFile::open(options.output, input_files(globals, {options.file})));
  GANTRY_TRY(const ReportPage page, Reporter(options, globals).make());
  std::string text;
  write_report(page, [&](std::string_view piece) { text += piece; });
  GANTRY_CHECK(output.finish(text));
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* command =
      app.add_subcommand("report", "write a page about a file: measured, drawn and explained");
  command->add_option("FILE", options->file, "the artifact, with a model")
      ->required()
      ->check(not_empty());
  command
      ->add_option("OPTION", options->bench,
                   "after --: options of gantry bench, such as --device, --input, --repeat")
      ->type_name("");
  add_text(*command, "-o,--output", "FILE.html", options->output, "write the page to this file")
      ->required();
  command
      ->add_option("--timeout", options->timeout,
                   "seconds for each command whose output the page has, default: 600")
      ->type_name("SECONDS")
      ->check(in_range(1, 1000000));
  command->footer(
      "The page contains all that it needs; where the model or a driver fails, it states so.\n\n"
      "Examples:\n"
      "  gantry report model.so -o report.html\n"
      "  gantry report model.so -o report.html -- --device opencl --repeat 100");
  set_action(*command, invocation, options, report_file);
}

}  // namespace gantry::cli
