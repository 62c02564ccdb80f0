// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>

namespace gantry {

// Blocks all signals of the calling thread in its scope: while a thread is created, so that the
// application's handlers do not run on it; or from before the creation of a file or a child until
// its CleanUpOnSignal exists.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  // The mask that the destructor restores, for children.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

}  // namespace gantry
