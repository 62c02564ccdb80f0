// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/program.hpp"

#include "tools/gantry/command.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/fault_line.hpp"
#include "tools/gantry/common/help_text.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/describe.hpp"
#include "tools/gantry/isolated_command.hpp"
#include "tools/gantry/option_checks.hpp"

#include "core/base/fault_signals.hpp"
#include "core/base/near_name.hpp"
#include "core/base/owned_range.hpp"
#include "core/base/running_code.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/thread_end.hpp"

#include <gantry/note.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>

namespace gantry::cli {
namespace {

const CLI::App& root_of(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

std::vector<OptionText> global_options_for(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  return global_options(describe(root_of(command)));
}

class HelpFormat : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(describe(*app), words_to(*app), global_options_for(*app),
                     lists_of_gantry().exit_statuses);
  }
};

void add_globals(CLI::App& app, Globals& globals) {
  add_text(app, "--config", "FILE", globals.config,
           "runtime configuration, instead of the system's");
  add_repeatable(app, "--plugins", "DIR", globals.plugins,
                 "directory of plugins, searched before all others");
  app.add_option("--threads", globals.threads, "threads of the pool, including the caller")
      ->type_name("N")
      ->check(in_range(1, 1024));
  app.add_option("--spin-us", globals.spin_us,
                 "microseconds that a waiting thread of the pool spins before it sleeps")
      ->type_name("N")
      ->check(in_range(0, 1'000'000));
  app.add_option("--log", globals.log, "log level: error, warning, info or debug")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
  app.add_flag_callback(
         "-v", [&globals] { globals.log = globals.log == "info" ? "debug" : "info"; },
         "show details of problems, and --log info; twice: --log debug")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("-q,--quiet", globals.quiet, "no warnings and no progress on stderr, only errors");
  app.set_version_flag("-V,--version", version_text, "same as gantry version");
}

constexpr struct {
  std::string_view name;
  void (*add)(CLI::App& app, Invocation& invocation);
} kCommands[] = {
    {"inspect", add_inspect}, {"run", add_run},         {"bench", add_bench},
    {"report", add_report},   {"plugins", add_plugins}, {"devices", add_devices},
    {"targets", add_targets}, {"pack", add_pack},       {"repack", add_repack},
    {"mlf", add_mlf},         {"version", add_version}, {"completion", add_completion},
    {"help", add_help},
};

// Adds the command that the first word names, or all commands if it names none or `help`. Adding the
// options of all commands takes as long as the rest of `gantry version`.
void add_commands(CLI::App& app, Invocation& invocation, std::string_view first_word) {
  for (const auto& command : kCommands) {
    if (command.name == first_word && first_word != "help") return command.add(app, invocation);
  }
  for (const auto& command : kCommands) command.add(app, invocation);
}

std::vector<std::string_view> commands_of(const CLI::App& parent) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : parent.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

// Describes the first option that the command does not accept; nothing if there is none. Words that
// are not accepted remain at the root.
std::optional<std::string> unknown_option(const CLI::App& root, const CLI::App& innermost) {
  for (const std::string& word : root.remaining(true)) {
    if (word.size() < 2 || !word.starts_with("-")) continue;
    const CommandText command = describe(innermost);
    const std::vector<OptionText> globals = global_options_for(innermost);
    std::vector<std::string_view> names;
    for (const std::span<const OptionText> options :
         {std::span(command.options), std::span(globals)})
      for (const OptionText& option : options)
        // Any other letter is as near to a wrong one.
        std::ranges::copy_if(option.names, std::back_inserter(names),
                             [](std::string_view each) { return each.starts_with("--"); });
    const std::string name = word.substr(0, word.find('='));
    return concat("unknown option ", quoted(name), did_you_mean(name, names));
  }
  return std::nullopt;
}

// Describes a missing command and the word in its place; nothing if no command is missing, or if the
// word is an option.
std::optional<std::string> unknown_command(const CLI::App& root, const CLI::App& innermost) {
  const bool missing = innermost.get_require_subcommand_min() != 0;
  if (!missing) return std::nullopt;
  const std::vector<std::string> words = root.remaining();
  if (words.empty()) return "a command is required; commands: " + join(commands_of(innermost));
  if (words.front().starts_with("-")) return std::nullopt;
  return unknown_command_text(innermost, words.front());
}

// Describes words after all arguments of a command.
std::optional<std::string> unexpected_argument(const CLI::App& root, const CLI::ParseError& error) {
  const std::vector<std::string> words = root.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || words.empty())
    return std::nullopt;
  return concat("unexpected argument ", quoted(words.front()));
}

// Reports why parsing ended early. --help and --version are such errors, with exit code 0.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    app.exit(error, text);
    print(text.str());
    return kDone;
  }
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
  auto why = unknown_command(app, *innermost);
  if (!why) why = unknown_option(app, *innermost);
  if (!why) why = unexpected_argument(app, error);
  return report_usage(words_to(*innermost), why.value_or(error.what()));
}

bool is_isolated(int argc, char** argv) { return argc > 1 && is_isolated_command(argv[1]); }

// CLI11 2.4 allocates in functions that are noexcept: without memory, an exception ends the process there.
void exit_with_error_in_flight() { _exit(report(error_in_flight().error())); }

int run(int argc, char** argv) {
  if (is_isolated(argc, argv)) {
    const Result<ExitStatus> done = run_isolated_command(std::span(argv + 2, argv + argc));
    return done.ok() ? *done : report(done.error());
  }
  const std::terminate_handler previous = std::set_terminate(exit_with_error_in_flight);
  Invocation invocation;
  CLI::App app("Loads, inspects and runs artifacts of machine-learning compilers.", "gantry");
  app.require_subcommand(1);
  app.fallthrough();
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "show this help");
  app.footer("Example:\n  gantry inspect model.so");
  add_globals(app, invocation.globals);
  add_commands(app, invocation, argc > 1 ? argv[1] : "");

  int status = kDone;
  try {
    if (argc == 1) throw CLI::CallForHelp();
    const bool hidden = argc > 1 && is_hidden_command(argv[1]);
    if (!hidden) app.parse(argc, argv);
    std::set_terminate(previous);
    const Result<ExitStatus> done =
        hidden ? run_hidden_command(app, std::span(argv + 1, argv + argc)) : invocation.action();
    status = done.ok() ? *done : report(done.error(), invocation.globals.verbose());
  } catch (const CLI::ParseError& error) {
    status = report_parse_error(app, error);
  }
  if (!flush_output()) {
    return report(unavailable("cannot write to stdout: ", std::strerror(errno)));
  }
  return status;
}

}  // namespace

std::string words_to(const CLI::App& innermost) {
  const CLI::App* parent = innermost.get_parent();
  return parent == nullptr ? innermost.get_name() : words_to(*parent) + " " + innermost.get_name();
}

std::string unknown_command_text(const CLI::App& parent, const std::string& word) {
  const std::vector<std::string_view> names = commands_of(parent);
  const std::string near = did_you_mean(word, names);
  return concat("unknown command ", quoted(word),
                near.empty() ? "; commands: " + join(names) : near);
}

namespace {

constexpr struct {
  int number;
  std::string_view text;
} fault_texts[] = {
    {SIGSEGV, "segmentation fault (SIGSEGV)"},
    {SIGBUS, "bus error (SIGBUS)"},
    {SIGILL, "illegal instruction (SIGILL)"},
    {SIGFPE, "arithmetic error (SIGFPE)"},
};

// The kernel sends SIGBUS on access to a page of a mapped file that was truncated.
bool is_lost_page(const Fault& fault) {
  FoundRange range;
  return fault.signal == SIGBUS && fault.info->si_code == BUS_ADRERR &&
         range.find(reinterpret_cast<std::uintptr_t>(fault.info->si_addr));
}

void exit_for_truncated_file() {
  clean_up_for_signal();
  SignalLine()
      .add("gantry: a file was truncated while it was read; replace files by renaming")
      .write();
  _exit(kFailed);
}

// Sanitizers report the other signals themselves.
std::span<const int> handled_faults() {
  static constexpr int only_lost_pages[] = {SIGBUS};
  if constexpr (GANTRY_SANITIZER != GANTRY_SANITIZER_NONE) return only_lost_pages;
  return fault_signals;
}

// Reports a crash in code of a plugin, of an artifact or of gantry, by which the process then ends.
void report_fault(const Fault& fault) {
  // What follows the line may fail, too.
  static volatile std::sig_atomic_t is_written = 0;
  if (is_written != 0) return;
  if (is_lost_page(fault)) exit_for_truncated_file();
  const siginfo_t& info = *fault.info;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  SignalLine line;
  line.add("gantry: ");
  add_crash(line, stack_of(fault));
  line.add(": ");
  for (const auto& each : fault_texts) {
    if (each.number == fault.signal) line.add(each.text);
  }
  if (info.si_code <= 0) {
    line.add(", sent by process ").add_number(static_cast<std::uint64_t>(info.si_pid));
  } else if (info.si_code == SI_KERNEL) {
    line.add(" at an address that the system does not report");
  } else {
    line.add(" at address ").add_address(address);
  }
  line.write();
  is_written = 1;
  clean_up_for_signal();
}

}  // namespace

int run_program(int argc, char** argv) {
  // Calls of others end their process as they do without handlers.
  if (!is_isolated(argc, argv)) {
    handle_faults(handled_faults(), report_fault);
    handle_ending_signals();
  }
  keep_this_thread();
  try {
    return run(argc, argv);
  } catch (abi::__forced_unwind&) {
    end_for_thread("code of a model or a plugin", "the main thread");
  } catch (...) {
    return report(error_in_flight());
  }
}

}  // namespace gantry::cli
