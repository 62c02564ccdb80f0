// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::python {

// Returns false once the interpreter has begun to end. Threads that are not its own must not call it
// from then on.
//
// thread   any
bool interpreter_runs() noexcept;

// Registers the end of the interpreter with the module atexit. Called once, when the module is
// imported.
void watch_interpreter();

}  // namespace gantry::python
