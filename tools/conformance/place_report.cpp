// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/place_report.hpp"

#include "core/base/process.hpp"
#include "core/base/sanitizer.hpp"
#include "tools/conformance/plugin_call.hpp"
#include "tools/gantry/common/fault_line.hpp"

#include <gantry/note.h>

#include <csignal>

namespace gantry::kit {
namespace {

constexpr std::string_view mark(&place_mark, 1);
constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

void report_crash(const Fault& fault) {
  const StackOfSignal stack = cli::stack_of(fault);
  SignalLine line;
  line.add(mark);
  cli::add_crash(line, stack);
  line.add_place_in_library(stack).write(report_descriptor);
}

void report_place(int, siginfo_t*, void* context) {
  // Not the plugin's own threads, which wait for work.
  if (CallRecord::current() == nullptr) return;
  const StackOfSignal stack{context};
  SignalLine()
      .add(mark)
      .add_running_code({"has not returned", "from", "the kit has not returned"}, stack)
      .add_place_in_library(stack)
      .add(", call ")
      .add_number(calls_of_thread)
      .write(report_descriptor);
}

}  // namespace

int place_signal() { return SIGRTMAX; }

void report_places() {
  if (sanitizer_of_process() == GANTRY_SANITIZER_NONE) handle_faults(crash_signals, report_crash);
  struct sigaction action {};
  action.sa_sigaction = report_place;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(place_signal(), &action, nullptr);
}

void report_no_places() {
  for (const int number : crash_signals) std::signal(number, SIG_DFL);
}

}  // namespace gantry::kit
