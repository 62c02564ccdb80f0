// SPDX-License-Identifier: Apache-2.0
//
// Work that remains if a signal ends the process: children to end, temporary files to remove.
//
//     CleanUpOnSignal cleanup([path] { unlink(path.c_str()); });
//
// The list is process-wide, as signals are. Only the command line installs handlers.
#pragma once

#include <functional>

namespace gantry {

class CleanUpOnSignal {
 public:
  // work     [in]   called from a signal handler: must be async-signal-safe and must not throw
  // thread   any
  explicit CleanUpOnSignal(std::function<void()> work);
  // Waits for ever while a signal ends the process.
  ~CleanUpOnSignal();
  CleanUpOnSignal(const CleanUpOnSignal&) = delete;
  CleanUpOnSignal& operator=(const CleanUpOnSignal&) = delete;

 private:
  friend void clean_up_for_signal() noexcept;
  std::function<void()> work_;
  CleanUpOnSignal* before_;
};

// Runs all work, the latest first. Async-signal-safe. The caller must end the process.
void clean_up_for_signal() noexcept;

// Handles the signals by which users, shells and limits end a process, unless they are ignored: runs
// clean_up_for_signal(), writes a sentence to stderr, except for SIGPIPE, and ends the process as the
// signal does. The status after SIGXCPU and SIGXFSZ is 128 and the number, because their default
// action would write a core file.
void handle_ending_signals();

}  // namespace gantry
