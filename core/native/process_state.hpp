// SPDX-License-Identifier: Apache-2.0
//
// State of the thread and the process that the constructors of a library can change.
//
//     ProcessState before;
//     void* handle = dlopen(...);
//     for (const std::string_view name : before.restore()) warn(name);
//
// A library that GCC links with -Ofast, for example, sets flush-to-zero when it is opened, which
// changes the results of all others.
#pragma once

#include <gantry/descriptor.hpp>

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry {

class ProcessState {
 public:
  // Stores the floating-point environment and the signal mask of the thread, and the working
  // directory and the standard descriptors of the process.
  //
  // costs    about ten system calls
  ProcessState();
  // Restores what has changed and returns its names: "the working directory".
  std::vector<std::string_view> restore();

 private:
  // without the flags of exceptions that have occurred
  std::uint64_t control_;
  std::fenv_t floating_point_;
  sigset_t signals_;
  Descriptor directory_;
  // duplicates of 0, 1 and 2; none for one that is closed
  Descriptor standard_[3];
};

}  // namespace gantry
