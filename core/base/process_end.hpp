// SPDX-License-Identifier: Apache-2.0
//
// Whether functions of plugins may be called in this process.
//
//     running ── exit() ──▶ exiting    static destructors of the plugins run
//        └────── fork() ──▶ forked     in the child, which has no thread and no driver of the plugins
//
// The one process-wide state of the core: a process ends once, whatever runtimes it has.
#pragma once

#include <gantry/result.hpp>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

enum class ProcessPhase : std::uint8_t { running, exiting, forked };

namespace detail {
extern constinit std::atomic<ProcessPhase> process_phase;
}

// False once exit() has begun, and in a child after fork() where the parent had opened a plugin.
//
// thread   any
// costs    one load
inline bool plugins_may_run() noexcept {
  return detail::process_phase.load(std::memory_order_relaxed) == ProcessPhase::running;
}

// Precondition: !plugins_may_run().
//
// subject  [in]   what is not called: "get_function of entry 2 \"cuda\" of model.so"
// returns  unavailable, reason PROCESS_ENDS or PROCESS_FORKED
Failure process_end_error(std::string_view subject);

// Registers a plugin's library: an exit() that one of its functions calls is reported, and ends the
// process with status 70 instead of its own.
//
// id       [in]   for the report
// address  [in]   any address in the library
void watch_plugin(std::string_view id, const void* address);

// From now on fork() is noticed, and exit() before the destructors of all static objects that exist by
// now. Call it when code of plugins has run: static objects inside functions are made there.
//
// costs    below a microsecond
void watch_process_end();

// Defers pthread_cancel() for its scope: destructors must not be unwound.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace gantry
