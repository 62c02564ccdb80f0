// SPDX-License-Identifier: Apache-2.0
//
// State of the thread and the process that a library can change while it is opened.
//
//     ProcessState before(ProcessState::Scope::artifact);
//     void* handle = dlopen(...);
//     for (const std::string_view name : before.restore()) warn(name);
//
// A library that GCC links with -Ofast, for example, sets flush-to-zero when it is opened, which
// changes the results of all others.
#pragma once

#include <gantry/descriptor.hpp>

#include <sys/types.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <locale>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class ProcessState {
 public:
  enum class Scope {
    // the floating-point environment and the signal mask of the thread, the working directory and
    // the standard descriptors of the process
    artifact,
    // these, the locales of the thread and the process, and the file mode creation mask
    plugin,
    // these, and the actions of all signals but the real-time ones
    signals,
  };

  // costs    about ten system calls; for a plugin three more, of which one formats
  //          /proc/self/status; for signals one for each
  explicit ProcessState(Scope scope);
  // Restores what has changed and returns its names: "the working directory".
  //
  // thread   the one that created the object
  std::vector<std::string_view> restore();

 private:
  // Each restores one item and returns whether it has changed.
  bool restore_floating_point();
  bool restore_signals();
  bool restore_directory();
  template <int Number>
  bool restore_standard();
  bool restore_locale();
  bool restore_creation_mask();
  bool restore_actions();

  struct Item {
    std::string_view name;
    bool (ProcessState::*restore)();
    // the first scope that contains the item
    Scope scope;
  };
  static const Item items[];

  Scope scope_;
  // without the flags of exceptions that have occurred
  std::uint64_t control_;
  std::fenv_t floating_point_;
  // zeros in bytes that the system does not write, so that bytes can be compared
  sigset_t signals_{};
  Descriptor directory_;
  // duplicates of 0, 1 and 2; none for one that is closed
  Descriptor standard_[3];
  // the following are stored for plugins only
  std::optional<std::locale> cxx_locale_;
  std::string c_locale_;
  locale_t thread_locale_{};
  // nullopt if /proc cannot be read
  std::optional<mode_t> creation_mask_;
  // by number; stored for signals only
  std::vector<struct sigaction> actions_;
};

}  // namespace gantry
