// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gantry {

// Called first in a forked child, also by start_program(): it is killed when the thread that forked it ends, also if that has happened already.
//
// parent   [in]   process id of the process that forks, read before
// thread   async-signal-safe
inline void end_with_parent(pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::kill(::getpid(), SIGKILL);
}

}  // namespace gantry
