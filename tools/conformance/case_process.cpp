// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/case_process.hpp"

#include "tools/conformance/place_report.hpp"

#include <gantry/abi_boundary.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gantry::kit {
namespace {

constexpr std::size_t kMaxOutput = 16 * 1024;
constexpr std::size_t kMaxReport = 64 * 1024;
constexpr std::chrono::milliseconds kPlaceInterval(500);

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// The arguments with which this program calls report_and_exit().
std::vector<std::string> words_for(int number, std::string_view part,
                                   const SubjectOptions& options) {
  std::vector<std::string> words{"gantry-conformance",
                                 options.manifest,
                                 "--run-case",
                                 std::to_string(number),
                                 "--seed",
                                 std::to_string(options.seed),
                                 "--mutations",
                                 std::to_string(options.mutations),
                                 "--soak",
                                 std::to_string(options.soak_seconds),
                                 "--begun",
                                 std::to_string(options.begun_ns),
                                 "--timeout",
                                 std::to_string(options.case_seconds)};
  if (!part.empty()) words.insert(words.end(), {"--part", std::string(part)});
  if (!options.payloads.empty()) words.insert(words.end(), {"--payloads", options.payloads});
  for (const std::string& manifest : options.beside)
    words.insert(words.end(), {"--beside", manifest});
  for (const std::string& place : options.hangs) words.insert(words.end(), {"--hang", place});
  return words;
}

// Takes the lines of place_report.hpp off the report. The last one is the place.
void take_places(PartEnd& end) {
  while (end.report.starts_with(place_mark)) {
    const std::size_t length = std::min(end.report.find('\n'), end.report.size() - 1);
    end.place = end.report.substr(1, length - 1);
    end.report.erase(0, length + 1);
  }
  if (end.process.cause == ProgramEnd::Cause::exited) end.place.clear();
}

// "plugin acme.npu 1.0.0 has not returned from create", without the instruction, which differs each
// time a loop is interrupted.
std::string function_of(std::string_view place) {
  return std::string(place.substr(0, std::min(place.find(" at 0x"), place.rfind(", call "))));
}

// Looks for a process that is in a function in which an earlier case has exceeded its time, and that
// has not left the call since the last report.
class KnownHang {
 public:
  explicit KnownHang(const std::vector<std::string>& places) : places_(places) {}

  // bytes    [in]   of the report
  bool is_there(std::string_view bytes) {
    rest_ += bytes;
    bool is_same = false;
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
      const std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (!line.starts_with(place_mark)) continue;
      const std::string function = function_of(std::string_view(line).substr(1));
      if (std::ranges::count(places_, function) == 0) continue;
      const std::string call = function + line.substr(line.rfind(", call "));
      is_same = is_same || call == last_;
      last_ = call;
    }
    return is_same;
  }

 private:
  const std::vector<std::string>& places_;
  std::string rest_, last_;
};

Result<PartEnd> run_again(int number, std::string_view part, const SubjectOptions& options,
                          const ProcessLimits& limits) {
  ProgramStart start;
  GANTRY_TRY(start.program, own_program());
  start.words = words_for(number, part, options);
  start.environment = environment_with({});
  start.reports = true;
  ProgramLimits program;
  program.time = std::chrono::milliseconds(static_cast<std::int64_t>(limits.seconds * 1000));
  program.memory_bytes = limits.memory_bytes;
  program.kept_bytes = kMaxOutput;
  program.place_signal = place_signal();
  if (!options.hangs.empty()) program.place_interval = kPlaceInterval;
  PartEnd end;
  KnownHang known(options.hangs);
  const auto add = [&](std::string_view bytes) {
    end.report += bytes.substr(0, kMaxReport - end.report.size());
    ReportStep step;
    step.is_done = known.is_there(bytes);
    return step;
  };
  GANTRY_TRY(end.process, run_program(start, program, add));
  take_places(end);
  return end;
}

State state_of(char letter) {
  return letter == 'p'   ? State::passed
         : letter == 's' ? State::skipped
         : letter == 'n' ? State::not_run
                         : State::failed;
}

}  // namespace

CaseResult run_case(const Case& which, Subject& subject) {
  const auto begun = std::chrono::steady_clock::now();
  const Status status = guard([&] { return which.run(subject); });
  return result_of(which, status, seconds_of(std::chrono::steady_clock::now() - begun));
}

namespace {

// Sets what identifies the defect of a process that has ended early, and what to do about it.
void explain(CaseResult& result, const PartEnd& end) {
  const std::string debugger = concat("gdb --args gantry-conformance --in-process --case ",
                                      result.which->number, " MANIFEST ...");
  switch (end.process.cause) {
    case ProgramEnd::Cause::signalled: {
      const std::size_t at = end.place.find(" at 0x");
      // Without the address where the function is known: a constructor, for example.
      if (at != std::string::npos)
        result.signature = end.place.substr(at);
      else if (end.place.find(" crashes in ") != std::string::npos)
        result.signature = end.place;
      const std::string_view fault_in = result.which->fault_in;
      const bool is_expected =
          fault_in == "*" ||
          (!fault_in.empty() && end.place.find(concat(" in ", fault_in, " ")) != std::string::npos);
      if (is_expected) return;
      if (at == std::string::npos) {
        result.change = concat("find the place: ", debugger);
      } else {
        const std::size_t digits = at + std::string_view(" at ").size();
        const std::string number = end.place.substr(digits, end.place.find(' ', digits) - digits);
        result.change = concat("correct the code there: addr2line -Cfie LIBRARY ", number,
                               " prints the line; ", debugger);
      }
      return;
    }
    case ProgramEnd::Cause::timed_out:
    case ProgramEnd::Cause::done:
      result.hang = function_of(end.place);
      // A longer name begins otherwise.
      if (!result.hang.empty())
        result.signature = end.place.find(" at 0x") != std::string::npos ? result.hang + " at 0x"
                                                                         : result.hang + ", call ";
      result.change = concat("return from the function; where it waits: ", debugger);
      return;
    case ProgramEnd::Cause::exited: {
      // "plugin acme.npu called exit() in create, which ends ..."
      const std::string& output = end.process.output;
      const std::size_t called = output.find(" called exit()");
      result.signature = called == std::string::npos
                             ? concat("exits with status ", end.process.exit_status, " after")
                             : output.substr(called, output.find(',', called) + 1 - called);
      result.change = "return a code with a text, and end no process";
      return;
    }
    default:
      return;
  }
}

}  // namespace

CaseResult run_case_in_process(const Case& which, const SubjectOptions& options,
                               const ProcessLimits& limits) {
  ProcessLimits own = limits;
  own.seconds = options.case_seconds;
  if (which.length != nullptr) own.seconds += which.length(options);
  const auto end = run_again(which.number, {}, options, own);
  CaseResult result{.which = &which};
  if (!end.ok()) {
    result.text = end.error().message.text();
    return result;
  }
  result.seconds = seconds_of(end->process.elapsed);
  // The report is a letter and the text.
  const std::string& report = end->report;
  if (end->process.exited_with(0) && !report.empty()) {
    result.state = state_of(report[0]);
    result.text = report.substr(1);
  } else {
    result.text = concat("the process of the case ", end->text());
  }
  const std::string& output = end->process.output;
  if (result.state == State::failed && !output.empty())
    result.text += "\nlast output: " + Message::lines(output).text();
  if (!end->process.exited_with(0) || report.empty()) explain(result, *end);
  return result;
}

Result<PartEnd> run_part(const Subject& subject, int number, std::string_view part,
                         const ProcessLimits& limits) {
  // It reports where it hangs before the process of the case is killed.
  ProcessLimits own = limits;
  own.seconds = std::min(own.seconds, subject.options().case_seconds * 0.7);
  return run_again(number, part, subject.options(), own);
}

Result<std::string> check_part(const Subject& subject, int number, std::string_view part,
                               std::string_view what) {
  GANTRY_TRY(const PartEnd end, run_part(subject, number, part));
  if (!end.process.exited_with(0) || end.report.empty())
    return with_output(bug(what, " ", end.text()), end.process);
  std::string text = end.report.substr(1);
  switch (state_of(end.report[0])) {
    case State::passed:
      return text;
    case State::skipped:
      return skipped(Message::lines(text));
    case State::not_run:
      return not_run(Message::lines(text));
    default:
      return bug(Message::lines(text));
  }
}

std::string status_report(const Status& status, std::string_view answer) {
  if (status.ok()) return concat("p", answer);
  const Error& error = status.error();
  const char letter = error.reason == skip_reason      ? 's'
                      : error.reason == not_run_reason ? 'n'
                                                       : 'f';
  return letter + error.message.text();
}

void report_and_exit(const Case& which, Subject& subject, const std::string& part) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::fcntl(report_descriptor, F_SETFD, FD_CLOEXEC);
  std::string text;
  if (part.empty()) {
    const CaseResult result = run_case(which, subject);
    text = "pfsn"[static_cast<int>(result.state)] + result.text;
  } else if (which.part != nullptr) {
    text = which.part(subject, part);
  }
  const ssize_t written = ::write(report_descriptor, text.data(), text.size());
  ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 125);
}

std::string PartEnd::text() const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", seconds_of(process.elapsed));
  const std::string where = place.empty() ? std::string() : ": " + place;
  switch (process.cause) {
    case ProgramEnd::Cause::signalled:
      return concat("is ended by signal ", process.signal, " (", ::strsignal(process.signal),
                    ") after ", seconds, where);
    case ProgramEnd::Cause::timed_out:
    case ProgramEnd::Cause::done:
      return concat("has not ended after ", seconds, " and is killed", where);
    case ProgramEnd::Cause::out_of_memory:
      return concat("exceeds the memory limit after ", seconds, " and is killed");
    default:
      return concat("exits with status ", process.exit_status, " after ", seconds);
  }
}

Failure with_output(Failure failure, const ProgramEnd& end) {
  if (end.output.empty()) return failure;
  return std::move(failure).at("last output: ", end.output);
}

}  // namespace gantry::kit
