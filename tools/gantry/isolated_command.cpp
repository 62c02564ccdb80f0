// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/isolated_command.hpp"

#include "tools/gantry/common/isolated_calls.hpp"
#include "tools/gantry/declarations.hpp"
#include "tools/gantry/driver_guard.hpp"
#include "tools/gantry/repack_check.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/environment.hpp"

#include <gantry/quoted.hpp>

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace gantry::cli {
namespace {

constexpr std::string_view isolated_name = "__isolated";

constexpr IsolatedWork isolated_works[] = {{"devices", list_devices_isolated},
                                           {"generators", check_generators_isolated},
                                           {"payloads", check_payloads_isolated},
                                           {"load", load_isolated},
                                           {"declarations", declare_isolated}};

// Calls `visit` for each field with the beginning of its words.
template <class Visit>
void for_each_field(IsolatedCommand& command, Visit visit) {
  visit("parent=", command.parent);
  visit("work=", command.work);
  visit("config=", command.globals.config);
  visit("plugins=", command.globals.plugins);
  visit("threads=", command.globals.threads);
  visit("spin_us=", command.globals.spin_us);
  visit("log=", command.globals.log);
  visit("quiet=", command.globals.quiet);
  visit("excluded=", command.excluded);
  visit("file=", command.file);
  visit("prefix=", command.prefixes);
  visit("item=", command.items);
}

struct WordWriter {
  std::vector<std::string>& words;

  template <class Value>
  void operator()(std::string_view beginning, const Value& value) {
    words.push_back(concat(beginning, value));
  }
  void operator()(std::string_view beginning, bool value) {
    words.push_back(concat(beginning, static_cast<int>(value)));
  }
  void operator()(std::string_view beginning, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.push_back(concat(beginning, value));
  }
};

struct WordReader {
  std::string_view word;
  bool& is_read;

  template <class Value>
  void operator()(std::string_view beginning, Value& value) {
    if (word.starts_with(beginning)) is_read = read(word.substr(beginning.size()), value);
  }

 private:
  static bool read(std::string_view text, std::string& value) {
    value = text;
    return true;
  }
  static bool read(std::string_view text, std::vector<std::string>& values) {
    values.emplace_back(text);
    return true;
  }
  static bool read(std::string_view text, int& value) {
    const std::optional<int> number = parse_number<int>(text);
    value = number.value_or(value);
    return number.has_value();
  }
  static bool read(std::string_view text, bool& value) {
    value = text == "1";
    return value || text == "0";
  }
};

bool read_word(std::string_view word, IsolatedCommand& command) {
  bool is_read = false;
  for_each_field(command, WordReader{word, is_read});
  return is_read;
}

bool is_excluded_by_a_command(const Candidate& candidate) {
  const std::uint16_t number = candidate.reason.number;
  const bool has_reason = number == reason::driver_ended.number || reason::is_of_probe(number);
  return has_reason && candidate.passed == Step::read;
}

void exclude(const std::vector<std::string>& manifests, PluginSet& plugins) {
  const std::vector<Candidate> all = plugins.candidates();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::find(manifests, all[i].file) != manifests.end())
      plugins.exclude(i, reason::driver_ended, "the command does not use it");
  }
}

}  // namespace

Result<ProgramStart> start_of(IsolatedCommand command) {
  command.parent = ::getpid();
  ProgramStart start;
  GANTRY_TRY(start.program, own_program());
  start.words = {"gantry", std::string(isolated_name)};
  for_each_field(command, WordWriter{start.words});
  std::vector<std::string> variables;
  // Where the kernel does not mark the process of the same program again.
  if (read_environment().elevated) variables.emplace_back("GANTRY_SECURE=1");
  start.environment = environment_with(variables);
  return start;
}

std::vector<std::string> excluded_manifests(const PluginSet& plugins) {
  std::vector<std::string> files;
  for (const Candidate& candidate : plugins.candidates()) {
    if (is_excluded_by_a_command(candidate)) files.push_back(candidate.file);
  }
  return files;
}

bool is_isolated_command(std::string_view word) { return word == isolated_name; }

Result<ExitStatus> run_isolated_command(std::span<char*> words) {
  IsolatedCommand command;
  for (const std::string_view word : words) {
    if (!read_word(word, command)) return invalid("unexpected word ", quoted(word));
  }
  const auto* const work = std::ranges::find(isolated_works, command.work, &IsolatedWork::name);
  if (work == std::end(isolated_works)) return invalid("unknown work ", quoted(command.work));
  GANTRY_TRY(CallReports reports, CallReports::take());
  // Here, too, because the kernel forgets it if the program is set-user-ID.
  end_with_parent(command.parent);
  GANTRY_TRY(const Runtime runtime, open_runtime(command.globals));
  exclude(command.excluded, *state_of(runtime.get())->plugins);
  GANTRY_TRY(const IsolatedCall call, work->prepare(command, runtime));
  reports.report();
  for (std::size_t item = 0; item < std::max<std::size_t>(command.items.size(), 1); ++item)
    reports.report(call(item));
  ::_exit(0);
}

}  // namespace gantry::cli
