// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/fault_line.hpp"

namespace gantry::cli {

StackOfSignal stack_of(const Fault& fault) noexcept {
  const siginfo_t& info = *fault.info;
  StackOfSignal stack{
      .context = fault.context, .is_readable = fault.attempt == 0, .has_calls = fault.attempt <= 1};
  stack.has_no_code = fault.signal == SIGSEGV && info.si_code > 0 &&
                      reinterpret_cast<std::uintptr_t>(info.si_addr) == stack.instruction();
  return stack;
}

void add_crash(SignalLine& line, const StackOfSignal& stack) noexcept {
  line.add_running_code({"crashes", "in", "internal error"}, stack);
}

}  // namespace gantry::cli
