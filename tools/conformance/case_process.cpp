// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/case_process.hpp"

#include <gantry/abi_boundary.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gantry::kit {
namespace {

constexpr std::size_t kMaxOutput = 4096;
constexpr std::size_t kMaxReport = 64 * 1024;

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
                                 std::to_string(options.begun_ns)};
  if (!part.empty()) words.insert(words.end(), {"--part", std::string(part)});
  if (!options.payloads.empty()) words.insert(words.end(), {"--payloads", options.payloads});
  for (const std::string& manifest : options.beside)
    words.insert(words.end(), {"--beside", manifest});
  return words;
}

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
  PartEnd end;
  const auto add = [&](std::string_view bytes) {
    end.report += bytes.substr(0, kMaxReport - end.report.size());
    return ReportStep();
  };
  GANTRY_TRY(end.process, run_program(start, program, add));
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

CaseResult run_case_in_process(const Case& which, const SubjectOptions& options,
                               const ProcessLimits& limits) {
  ProcessLimits own = limits;
  if (which.length != nullptr) own.seconds += which.length(options);
  const auto end = run_again(which.number, {}, options, own);
  CaseResult result{&which, State::failed, {}, 0};
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
    result.text = concat("the process of the case ", describe(end->process));
  }
  const std::string& output = end->process.output;
  if (result.state == State::failed && !output.empty())
    result.text += "\nlast output: " + Message::lines(output).text();
  return result;
}

Result<PartEnd> run_part(const Subject& subject, int number, std::string_view part,
                         const ProcessLimits& limits) {
  return run_again(number, part, subject.options(), limits);
}

Result<std::string> check_part(const Subject& subject, int number, std::string_view part,
                               std::string_view what) {
  GANTRY_TRY(const PartEnd end, run_part(subject, number, part));
  if (!end.process.exited_with(0) || end.report.empty())
    return with_output(bug(what, " ", describe(end.process)), end.process);
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

std::string describe(const ProgramEnd& end) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", seconds_of(end.elapsed));
  switch (end.cause) {
    case ProgramEnd::Cause::signalled:
      return concat("is ended by signal ", end.signal, " (", ::strsignal(end.signal), ") after ",
                    seconds);
    case ProgramEnd::Cause::timed_out:
      return concat("has not ended after ", seconds, " and is killed");
    case ProgramEnd::Cause::out_of_memory:
      return concat("exceeds the memory limit after ", seconds, " and is killed");
    default:
      return concat("exits with status ", end.exit_status, " after ", seconds);
  }
}

Failure with_output(Failure failure, const ProgramEnd& end) {
  if (end.output.empty()) return failure;
  return std::move(failure).at("last output: ", end.output);
}

}  // namespace gantry::kit
