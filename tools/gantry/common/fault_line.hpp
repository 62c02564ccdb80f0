// SPDX-License-Identifier: Apache-2.0
//
// The line about a crash of a program of gantry.
#pragma once

#include "core/base/fault_signals.hpp"
#include "core/base/running_code.hpp"

namespace gantry::cli {

// Returns the stack that a fault has interrupted, as far as the attempts to report it can read it.
StackOfSignal stack_of(const Fault& fault) noexcept;

// Adds "plugin acme.npu 1.0.0 crashes in load_binary", or "internal error". Async-signal-safe.
void add_crash(SignalLine& line, const StackOfSignal& stack) noexcept;

}  // namespace gantry::cli
