// SPDX-License-Identifier: Apache-2.0
//
// gantry-conformance: checks a plugin against the duties of plugins (sdk/CONFORMANCE.md).
//
// exit status  0 no `must` case failed   1 one failed, or the plugin cannot be read or used here
//              2 wrong usage   3 internal error
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/place_report.hpp"
#include "tools/conformance/report.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/mapped_file.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/man_page.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/describe.hpp"
#include "tools/gantry/option_checks.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/embed.hpp>
#include <gantry/join.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>

namespace gantry::kit {
namespace {

struct Options {
  SubjectOptions subject;
  ProcessLimits limits;
  std::vector<int> cases;
  std::vector<std::string> levels;
  std::string junit, json, stamp;
  std::uint64_t memory_mib = 4096;
  bool list = false;
  bool in_process = false;
  // hidden: this process runs one case, or a part of it, and reports the result
  int run_case = 0;
  std::string part;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("MANIFEST", options.subject.manifest, "manifest of the plugin");
  app.add_option("--payloads", options.subject.payloads,
                 "golden payloads of the plugin, for the cases of level D")
      ->type_name("FILE");
  app.add_flag("--list", options.list, "list the cases and run none");
  app.add_option("--case", options.cases, "run this case only; may be repeated")
      ->type_name("N")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--level", options.levels, "run the cases of this level only; may be repeated")
      ->type_name("S|L|D|X")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::IsMember({"S", "L", "D", "X"}));
  app.add_option("--timeout", options.subject.case_seconds, "seconds for each case")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(cli::in_range(0.1, 86400.0));
  app.add_option("--memory", options.memory_mib, "MiB of resident memory for each case")
      ->type_name("MIB")
      ->capture_default_str()
      ->check(cli::in_range(16, 1 << 24));
  app.add_option("--seed", options.subject.seed, "seed of the random cases; default: a new one")
      ->type_name("N");
  app.add_option("--mutations", options.subject.mutations, "damaged payloads of case 53")
      ->type_name("N")
      ->capture_default_str()
      ->check(cli::in_range(1, 100'000'000));
  app.add_option("--soak", options.subject.soak_seconds, "seconds of case 88")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(cli::in_range(0.1, 86400.0));
  app.add_option("--beside", options.subject.beside,
                 "manifest of another plugin in the process of case 86; may be repeated")
      ->type_name("MANIFEST")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--junit", options.junit, "write a JUnit report")->type_name("FILE");
  app.add_option("--json", options.json, "write a JSON report")->type_name("FILE");
  app.add_option("--stamp", options.stamp, "write the level that the plugin has reached")
      ->type_name("FILE");
  app.add_flag("--in-process", options.in_process,
               "run the cases in this process, for a debugger; a crash ends the run");
  // 0 is no case: it would start all cases again.
  app.add_option("--run-case", options.run_case, "")->group("")->check(cli::in_range(1, 1 << 30));
  app.add_option("--part", options.part, "")->group("");
  app.add_option("--begun", options.subject.begun_ns, "")->group("");
  app.add_option("--hang", options.subject.hangs, "")
      ->group("")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

Result<std::vector<Case>> chosen(const Options& options, const std::vector<Case>& all) {
  std::vector<Case> some;
  for (const int number : options.cases) {
    if (find_case(all, number) == nullptr)
      return not_found("--case: there is no case ", number, "; --list shows the cases");
  }
  for (const Case& each : all) {
    const bool by_number =
        options.cases.empty() ||
        std::find(options.cases.begin(), options.cases.end(), each.number) != options.cases.end();
    const std::string letter(1, letter_of(each.level));
    const bool by_level =
        options.levels.empty() ||
        std::find(options.levels.begin(), options.levels.end(), letter) != options.levels.end();
    if (by_number && by_level) some.push_back(each);
  }
  return some;
}

std::string digest_of(const std::string& library) {
  const auto file = MappedFile::open(library);
  return file.ok() ? hex_text(sha256((*file)->bytes())) : std::string();
}

Status write_reports(const Options& options, const Results& results) {
  if (!options.junit.empty()) GANTRY_CHECK(write_report(options.junit, junit_text(results)));
  if (!options.json.empty()) GANTRY_CHECK(write_report(options.json, json_text_of(results)));
  if (!options.stamp.empty()) GANTRY_CHECK(write_report(options.stamp, stamp_text(results)));
  return {};
}

Result<cli::ExitStatus> run_all(const Options& options, std::span<const Case> cases,
                                Subject& subject) {
  const Manifest& manifest = subject.manifest();
  Results results;
  results.manifest_file = manifest.file;
  results.plugin = concat(manifest.id, " ", manifest.version.text);
  results.library = manifest.library_path;
  results.sha256 = digest_of(manifest.library_path);
  results.abi_minor = core_info().abi.max_minor;
  results.seed = subject.options().seed;
  cli::print(concat("gantry-conformance ", core_version(), ": ", results.plugin, ", ",
                    results.library, "\nseed ", results.seed, "\n\n"));
  SubjectOptions known = options.subject;
  for (const Case& each : cases) {
    results.add(options.in_process ? run_case(each, subject)
                                   : run_case_in_process(each, known, options.limits));
    const std::string& hang = results.cases.back().hang;
    if (!hang.empty() && std::ranges::count(known.hangs, hang) == 0) known.hangs.push_back(hang);
    cli::print(case_text(results.cases.back()));
    cli::flush_output();
  }
  cli::print(totals_text(results));
  GANTRY_CHECK(write_reports(options, results));
  return results.failed() ? cli::kFailed : cli::kDone;
}

Result<cli::ExitStatus> run(Options& options, bool has_seed) {
  const std::vector<Case> all = all_cases();
  if (options.list) {
    cli::print(list_text(all));
    return cli::kDone;
  }
  if (options.subject.begun_ns == 0)
    options.subject.begun_ns =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  if (!has_seed) options.subject.seed = std::random_device()() % 1'000'000;
  options.limits.memory_bytes = options.memory_mib << 20;
  GANTRY_TRY(const std::vector<Case> cases, chosen(options, all));
  if (options.run_case != 0) report_places();
  GANTRY_TRY(Subject subject, Subject::open(options.subject));
  if (options.run_case != 0) {
    if (const Case* which = find_case(all, options.run_case))
      report_and_exit(*which, subject, options.part);
  }
  const auto runs_code = [](const Case& each) { return each.level != Level::S; };
  if (std::ranges::any_of(cases, runs_code)) GANTRY_CHECK(subject.check_trusted());
  options.subject = subject.options();
  return run_all(options, cases, subject);
}

// Writes the man page, for the build: gantry-conformance __man DIRECTORY.
int write_man_page(const CLI::App& app, const char* directory) {
  constexpr cli::ManLists::Entry exit_statuses[] = {
      {"0", "no case failed that every plugin must pass"},
      {"1", "one failed, or the plugin cannot be read or used here"},
      {"2", "wrong usage"},
      {"3", "internal error of gantry"},
  };
  constexpr std::string_view see_also[] = {"gantry plugins check"};
  const Status written = cli::write_man_pages(
      directory,
      cli::man_pages(cli::describe(app), core_version(), {exit_statuses, {}, {}, see_also}));
  return written.ok() ? cli::kDone : cli::report(written.error());
}

int start(int argc, char** argv) {
  Options options;
  CLI::App app("Checks a plugin against the duties of plugins.", "gantry-conformance");
  app.set_help_flag("-h,--help", "show this help");
  app.set_version_flag("-V,--version", [] { return std::string(core_version()); });
  app.footer("Example:\n  gantry-conformance build/share/gantry/plugins.d/null/null.yaml");
  add_options(app, options);
  if (argc == 3 && std::string_view(argv[1]) == "__man") return write_man_page(app, argv[2]);
  try {
    app.parse(argc, argv);
    if (!options.list && options.subject.manifest.empty())
      throw CLI::RequiredError("MANIFEST, the manifest of a plugin,");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return cli::report_usage("gantry-conformance", error.what());
    std::ostringstream text;
    app.exit(error, text);
    cli::print(text.str());
    return cli::flush_output() ? cli::kDone : cli::kFailed;
  }
  const Result<cli::ExitStatus> done = run(options, app.count("--seed") != 0);
  const int status = done.ok() ? *done : cli::report(done.error());
  return cli::flush_output() ? status : cli::kFailed;
}

}  // namespace
}  // namespace gantry::kit

int main(int argc, char** argv) {
  try {
    return gantry::kit::start(argc, argv);
  } catch (...) {
    return gantry::cli::report(gantry::error_in_flight());
  }
}
