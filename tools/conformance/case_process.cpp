// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/case_process.hpp"

#include "tools/conformance/subject.hpp"

#include "core/base/start_program.hpp"

#include <gantry/abi_boundary.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace gantry::kit {
namespace {

// In the child.
constexpr int kReport = 3;

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

Result<pid_t> start_case(const std::vector<std::string>& words, const Pipes& pipes) {
  ProgramStart start;
  start.program = "/proc/self/exe";
  start.words = {"gantry-conformance"};
  start.words.insert(start.words.end(), words.begin(), words.end());
  start.environment = environment_with({});
  start.output = pipes.output;
  static_assert(kReport == 3);
  start.report = pipes.report;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &start.signals);
  return start_program(start);
}

}  // namespace

CaseResult run_case(const Case& which, Subject& subject) {
  const auto begun = std::chrono::steady_clock::now();
  const Status status = guard([&] { return which.run(subject); });
  return result_of(which, status, seconds_since(begun));
}

CaseResult run_case_in_process(const Case& which, std::vector<std::string> words,
                               const ProcessLimits& limits) {
  for (std::string& word : words) {
    if (word == "%") word = std::to_string(kReport);
  }
  const auto end =
      watch_process([&](const Pipes& pipes) { return start_case(words, pipes); }, limits);
  CaseResult result{&which, State::failed, {}, 0};
  if (!end.ok()) {
    result.text = end.error().message.text();
    return result;
  }
  result.seconds = end->seconds;
  // The report is a letter and the text.
  const std::string& report = end->report;
  if (end->ended_with(0) && !report.empty()) {
    result.state = report[0] == 'p'   ? State::passed
                   : report[0] == 's' ? State::skipped
                   : report[0] == 'n' ? State::not_run
                                      : State::failed;
    result.text = report.substr(1);
  } else {
    result.text = concat("the process of the case ", describe(*end));
  }
  if (result.state == State::failed && !end->output.empty())
    result.text += "\nlast output: " + Message::lines(end->output).text();
  return result;
}

Status check_in_child(std::string_view what, const std::function<Status()>& body) {
  const auto end = in_child([&]() -> std::string {
    const Status done = guard(body);
    if (done.ok()) return "p";
    const Error& error = done.error();
    const char letter = error.reason == skip_reason      ? 's'
                        : error.reason == not_run_reason ? 'n'
                                                         : 'f';
    return letter + error.message.text();
  });
  if (!end.ok()) return end.error();
  if (!end->ended_with(0) || end->report.empty())
    return with_output(bug(what, " ", describe(*end)), *end);
  const Message text = Message::lines(end->report.substr(1));
  switch (end->report[0]) {
    case 'p':
      return {};
    case 's':
      return skipped(text);
    case 'n':
      return not_run(text);
    default:
      return bug(text);
  }
}

void report_and_exit(const Case& which, Subject& subject, int report) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::fcntl(report, F_SETFD, FD_CLOEXEC);
  const CaseResult result = run_case(which, subject);
  const std::string text = "pfsn"[static_cast<int>(result.state)] + result.text;
  const ssize_t written = ::write(report, text.data(), text.size());
  ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 125);
}

}  // namespace gantry::kit
