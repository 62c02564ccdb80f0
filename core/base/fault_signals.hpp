// SPDX-License-Identifier: Apache-2.0
//
// Handles the signals of defective code: SIGSEGV, SIGBUS, SIGILL, SIGFPE. Only programs of gantry
// do this.
#pragma once

#include <csignal>
#include <cstddef>
#include <span>

namespace gantry {

constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

struct Fault {
  int signal;
  const siginfo_t* info;
  // of the handler
  const void* context;
  // 0, then 1 and 2 if the report of this fault has itself caused one: it is called again.
  int attempt;
};

// Calls `report` for each such signal on a stack of its own, so that a stack overflow is reported.
// Then the process ends by the signal, as without a handler.
//
// signals  [in]   of fault_signals, and SIGABRT
// report   [in]   must be async-signal-safe
// thread   the main thread, before others are created
void handle_faults(std::span<const int> signals, void (*report)(const Fault& fault));

// Lets handlers of handle_faults() run on the calling thread, in the scope of the object. No effect
// without them.
class FaultStack {
 public:
  FaultStack() noexcept;
  ~FaultStack();
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  // NULL: there is none
  void* memory_ = nullptr;
};

}  // namespace gantry
