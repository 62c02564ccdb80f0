// SPDX-License-Identifier: Apache-2.0
//
// gantry: inspects, runs, measures and builds artifacts.
//
//     0 done   1 the thing asked for failed   2 wrong usage   3 an error of gantry
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/terminal.hpp"

#include <gantry/wall.hpp>

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace gantry::cli {
namespace {

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--config", globals.config, "runtime configuration, instead of the system's")
      ->type_name("FILE");
  app.add_option("--plugins", globals.plugins, "look for plugins here before all other places")
      ->type_name("DIR")
      ->expected(1)
      ->take_all();
  app.add_option("--threads", globals.threads, "threads of the pool, caller included")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--log", globals.log, "error, warning, info or debug")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
  app.add_flag_callback(
         "-v", [&globals] { globals.log = globals.log == "info" ? "debug" : "info"; },
         "the same as --log info; twice: debug")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("-q,--quiet", globals.quiet, "only errors on stderr, no progress");
}

int run(int argc, char** argv) {
  Invocation invocation;
  CLI::App app("Loads, inspects and runs artifacts of machine-learning compilers.", "gantry");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_flag("-h,--help", "what can be said here");
  app.footer("Example:\n  gantry inspect model.so");
  add_globals(app, invocation.globals);
  add_inspect(app, invocation);
  add_run(app, invocation);
  add_bench(app, invocation);
  add_plugins(app, invocation);
  add_devices(app, invocation);
  add_pack(app, invocation);
  add_version(app, invocation);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::string command = "gantry";
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      command += " " + at->get_name();
    }
    return report_usage(command, error.what());
  }
  const int status = invocation.action();
  if (!flush_output()) {
    return report(unavailable("cannot write to stdout: ", std::strerror(errno)));
  }
  return status;
}

}  // namespace
}  // namespace gantry::cli

// Pages of a mapped file go when somebody cuts it: the system tells of that by a signal, not by an error.
void end_for_a_cut_file(int) {
  constexpr std::string_view text =
      "gantry: a file became shorter while it was read; replace files by renaming\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(gantry::cli::kFailed);
}

int main(int argc, char** argv) {
  using namespace gantry;
  std::signal(SIGBUS, end_for_a_cut_file);
  try {
    return cli::run(argc, argv);
  } catch (...) {
    return cli::report(error_in_flight());
  }
}
