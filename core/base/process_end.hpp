// SPDX-License-Identifier: Apache-2.0
//
// Whether functions of plugins may be called in this process.
//
//     running ── exit() ──▶ exiting    static destructors of the plugins run
//        └────── fork() ──▶ forked     in the child, which has no thread and no driver of the plugins
//
// This, the work of signal_cleanup.hpp, the ranges of owned_range.hpp and the list of plugins that are open
// (core/plugins/library/library_handle.cpp, opened_plugins.hpp) are the only process-wide state of the core;
// all runtimes share it.
#pragma once

#include <gantry/result.hpp>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

enum ProcessPhase : std::uint8_t { kRunning, kExiting, kForked };

namespace detail {
// A ProcessPhase.
extern constinit std::atomic<std::uint8_t> process_phase;
}  // namespace detail

// False once exit() has begun, and in a child process that was forked after a plugin was opened.
//
// thread   any
// costs    one load
inline bool plugins_may_run() noexcept {
  return detail::process_phase.load(std::memory_order_relaxed) == kRunning;
}

// Creates the error for a plugin function that must not be called.
// Precondition: !plugins_may_run().
//
// subject  [in]   the function that is not called: "get_function of entry 2 \"cuda\" of model.so"
// returns  unavailable, reason PROCESS_ENDS or PROCESS_FORKED
Failure process_end_error(std::string_view subject);

// The end of every error about a fork: what to do.
constexpr std::string_view forked_remedy =
    "; create runtimes and load models in each child process: in gunicorn's post_fork, in Celery's "
    "worker_process_init, with multiprocessing's \"spawn\"; or call exec()";

// Registers a plugin's library in the list of owned_range.hpp. If one of its functions calls exit(),
// an error is printed and the process ends with status 70 instead of the plugin's.
//
// title    [in]   id and version: "acme.npu 1.0.0"
// address  [in]   any address in the library
void watch_plugin(std::string title, const void* address);

// Installs handlers that record fork() and exit(). The exit handler runs before the destructors of
// all static objects that exist at the time of this call. Call it again after plugin code has run,
// which may have created function-local static objects.
//
// costs    below a microsecond
void watch_process_end();

// Disables pthread cancellation in its scope, since neither a destructor nor the system's linker
// must be unwound.
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
