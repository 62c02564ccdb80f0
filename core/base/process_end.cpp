// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_end.hpp"

#include "core/base/signal_cleanup.hpp"
#include "core/base/thread_end.hpp"

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

// From the Itanium C++ ABI: registers an exit handler for an owner, and runs and removes the
// handlers of one owner.
extern "C" int __cxa_atexit(void (*handler)(void*), void* argument, void* owner);
extern "C" void __cxa_finalize(void* owner);

namespace gantry {

constinit std::atomic<std::uint8_t> detail::process_phase{kRunning};

namespace {

// EX_SOFTWARE of sysexits.h.
constexpr int kExitOfAPlugin = 70;

struct WatchedPlugin {
  // load address of the library
  const void* base;
  std::string id;
};

constinit std::mutex watch_mutex;
constinit bool is_watching = false;
// Never freed: the exit handler may run after the core's static objects are destroyed.
constinit std::vector<WatchedPlugin>* watched = nullptr;

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// The innermost plugin among the callers of the exit handler, or NULL.
const WatchedPlugin* plugin_on_this_stack() {
  const WatchedPlugin* found = nullptr;
  if (watched == nullptr) return found;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* out) {
        const auto address = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
        const void* const base = base_of(address);
        for (const WatchedPlugin& plugin : *watched) {
          if (base == nullptr || plugin.base != base) continue;
          *static_cast<const WatchedPlugin**>(out) = &plugin;
          return _URC_END_OF_STACK;
        }
        return _URC_NO_REASON;
      },
      &found);
  return found;
}

// Ends the process for what a plugin or a model has done.
[[noreturn]] void end_process(std::string_view subject, std::string_view deed) noexcept {
  std::fflush(nullptr);
  std::fprintf(stderr, "gantry: %.*s %.*s, which ends this process with status %d\n",
               static_cast<int>(subject.size()), subject.data(), static_cast<int>(deed.size()),
               deed.data(), kExitOfAPlugin);
  clean_up_for_signal();
  _exit(kExitOfAPlugin);
}

thread_local constinit bool must_last = false;

// Runs as an exit handler, and when watch_process_end() moves it.
thread_local bool is_moving = false;
void exit_begins(void*) {
  if (is_moving || !plugins_may_run()) return;
  detail::process_phase.store(kExiting, std::memory_order_relaxed);
  const WatchedPlugin* const plugin = plugin_on_this_stack();
  if (plugin == nullptr) return;
  end_process(concat("plugin ", plugin->id), "called exit()");
}

// Addresses that identify the two registrations of exit_begins: the first one stays, the second is
// registered again by each watch_process_end().
char first_owner, moving_owner;

}  // namespace

Failure process_end_error(std::string_view subject) {
  if (detail::process_phase.load(std::memory_order_relaxed) == kForked) {
    return unavailable(subject,
                       " is not called: this process was forked from one that had opened plugins",
                       forked_remedy)
        .with_reason("PROCESS_FORKED");
  }
  return unavailable(subject, " is not called: the process has called exit()")
      .with_reason("PROCESS_ENDS");
}

void keep_this_thread() noexcept {
  must_last = true;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
}

bool is_thread_kept() noexcept { return must_last; }

void end_for_thread(std::string_view subject, std::string_view place) noexcept {
  constexpr std::string_view how = " by pthread_exit() or pthread_cancel()";
  end_process(subject, concat("ended ", place, how));
}

void watch_plugin(std::string_view id, const void* address) {
  const std::lock_guard lock(watch_mutex);
  if (watched == nullptr) watched = new std::vector<WatchedPlugin>;
  const void* const base = base_of(address);
  const bool is_known = std::any_of(watched->begin(), watched->end(),
                                    [&](const auto& plugin) { return plugin.base == base; });
  if (!is_known) watched->push_back({base, std::string(id)});
}

void watch_process_end() {
  const std::lock_guard lock(watch_mutex);
  if (!plugins_may_run()) return;
  if (!is_watching) {
    is_watching = true;
    pthread_atfork(nullptr, nullptr,
                   [] { detail::process_phase.store(kForked, std::memory_order_relaxed); });
    __cxa_atexit(exit_begins, nullptr, &first_owner);
  }
  is_moving = true;
  __cxa_finalize(&moving_owner);
  is_moving = false;
  __cxa_atexit(exit_begins, nullptr, &moving_owner);
}

}  // namespace gantry
