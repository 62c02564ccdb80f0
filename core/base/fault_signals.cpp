// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault_signals.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace gantry {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int max_attempts = 3;

// NULL: faults are not handled.
constinit std::atomic<void (*)(const Fault& fault)> report_of_process = nullptr;
// The fault that this thread reports.
thread_local constinit const Fault* reported = nullptr;

void use_stack(void* memory) {
  const stack_t stack{memory, 0, stack_bytes};
  sigaltstack(&stack, nullptr);
}

[[noreturn]] void end_by(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
  _exit(128 + number);
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (reported != nullptr) {
    Fault again = *reported;
    if (++again.attempt < max_attempts) {
      reported = &again;
      report_of_process.load()(again);
    }
    end_by(again.signal);
  }
  const Fault fault{number, info, context, 0};
  reported = &fault;
  report_of_process.load()(fault);
  // A fault repeats when the handler returns; a signal that a process has sent does not.
  if (info->si_code <= 0) end_by(number);
  std::signal(number, SIG_DFL);
  reported = nullptr;
}

}  // namespace

void handle_faults(std::span<const int> signals, void (*report)(const Fault& fault)) {
  static char stack[stack_bytes];
  use_stack(stack);
  report_of_process = report;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  // Not the faults of the report.
  sigfillset(&action.sa_mask);
  for (const int number : fault_signals) sigdelset(&action.sa_mask, number);
  // Those by which the handler ends the process.
  for (const int number : signals) sigdelset(&action.sa_mask, number);
  for (const int number : signals) sigaction(number, &action, nullptr);
}

FaultStack::FaultStack() noexcept {
  if (report_of_process.load(std::memory_order_relaxed) == nullptr) return;
  void* const memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  use_stack(memory_);
  // A thread whose signals are all blocked ends without its handlers.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int number : fault_signals) sigaddset(&faults, number);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

FaultStack::~FaultStack() {
  if (memory_ == nullptr) return;
  const stack_t none{nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
  munmap(memory_, stack_bytes);
}

}  // namespace gantry
