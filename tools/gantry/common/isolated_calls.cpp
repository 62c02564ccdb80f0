// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/isolated_calls.hpp"

#include "core/base/text.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace gantry::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t max_answer_bytes = 4 << 20;
// Above those of standard streams and reports, which programs that a call starts may use.
constexpr int first_own_descriptor = 10;

// Returns the last line that is not blank.
std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

std::string last_words(const ProgramEnd& end) {
  const std::string line = last_line(end.output);
  return line.empty() ? ", without output" : concat("; its last output is ", quoted(line));
}

// "with status 3"
std::string end_text(const ProgramEnd& end) {
  // It was killed because what it wrote was no report.
  const int signal = end.cause == ProgramEnd::Cause::done ? SIGKILL : end.signal;
  if (signal != 0) return concat("by signal ", signal, " (", ::strsignal(signal), ")");
  return concat("with status ", std::max(end.exit_status, 0));
}

// The reports of one program.
class Calls {
 public:
  Calls(std::size_t count, milliseconds limit) : count_(count), limit_(limit) {}

  bool have_begun() const { return reports_ != 0; }
  std::size_t done() const { return reports_ - 1; }
  bool all_done() const { return have_begun() && done() == count_; }
  std::string take_answer() { return std::move(answer_); }

  ReportStep add(std::string_view bytes) {
    ReportStep step;
    pending_ += bytes;
    std::uint32_t size = 0;
    if (pending_.size() < sizeof size) return step;
    std::memcpy(&size, pending_.data(), sizeof size);
    // It is written by what was called.
    step.is_done = size > max_answer_bytes;
    if (step.is_done || pending_.size() - sizeof size < size) return step;
    answer_ = pending_.substr(sizeof size, size);
    pending_.erase(0, sizeof size + size);
    ++reports_;
    step.is_done = all_done();
    // The output of the last call is kept.
    step.removes_output = !step.is_done;
    step.time = limit_;
    step.answer = "a";
    return step;
  }

 private:
  const std::size_t count_;
  const milliseconds limit_;
  // those of calls and one before the first
  std::size_t reports_ = 0;
  std::string pending_, answer_;
};

// Returns the call that failed, if any, and how the program ended.
Result<std::pair<std::optional<IsolatedFailure>, ProgramEnd>> watch(const ProgramStart& program,
                                                                    Calls& calls,
                                                                    milliseconds limit,
                                                                    std::string_view subject) {
  ProgramStart start = program;
  start.reports = true;
  ProgramLimits limits;
  limits.must_report = true;
  GANTRY_TRY(ProgramEnd end,
             run_program(start, limits, [&](std::string_view bytes) { return calls.add(bytes); }));
  std::optional<IsolatedFailure> failure;
  if (!calls.have_begun()) {
    return unavailable("the child process of this command ended ", end_text(end),
                       " before its first call", last_words(end));
  }
  if (end.cause == ProgramEnd::Cause::timed_out) {
    failure = IsolatedFailure{
        calls.done(), Message(subject, " did not return within ",
                              static_cast<double>(limit.count()) / 1000, " s", last_words(end))};
  } else if (!calls.all_done()) {
    failure = IsolatedFailure{
        calls.done(), Message(subject, " ended the process ", end_text(end), last_words(end))};
  }
  return std::pair(std::move(failure), std::move(end));
}

}  // namespace

Result<std::optional<IsolatedFailure>> run_isolated(const ProgramStart& program, std::size_t count,
                                                    milliseconds limit, std::string_view subject) {
  if (count == 0) return std::optional<IsolatedFailure>();
  Calls calls(count, limit);
  GANTRY_TRY(auto watched, watch(program, calls, limit, subject));
  return std::move(watched.first);
}

Result<IsolatedAnswer> call_isolated(const ProgramStart& program, milliseconds limit,
                                     std::string_view subject) {
  Calls calls(1, limit);
  GANTRY_TRY(auto watched, watch(program, calls, limit, subject));
  IsolatedAnswer returned;
  returned.failure = std::move(watched.first);
  if (!returned.failure) returned.answer = calls.take_answer();
  returned.printed = std::move(watched.second.output);
  return returned;
}

Result<CallReports> CallReports::take() {
  Descriptor to(::fcntl(report_descriptor, F_DUPFD_CLOEXEC, first_own_descriptor));
  if (!to) return invalid("this command is started by gantry, which reads from its descriptor 3");
  { const Descriptor closed(report_descriptor); }
  return CallReports(std::move(to));
}

void CallReports::report(std::string_view answer) {
  std::fflush(nullptr);
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(answer.size(), UINT32_MAX));
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += answer.substr(0, size);
  char read_all = 0;
  const bool is_written = write_all(to_.get(), as_bytes(bytes)) == 0;
  ssize_t got = -1;
  while (is_written && (got = ::read(to_.get(), &read_all, 1)) < 0 && errno == EINTR) {
  }
  // Without destructors: those of plugins may end the process in another way.
  if (got != 1) ::_exit(0);
}

}  // namespace gantry::cli
