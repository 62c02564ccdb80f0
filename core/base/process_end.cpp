// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_end.hpp"

#include "core/base/owned_range.hpp"
#include "core/base/running_code.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/thread_end.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <utility>

// From the Itanium C++ ABI: registers an exit handler for an owner, and runs and removes the
// handlers of one owner.
extern "C" int __cxa_atexit(void (*handler)(void*), void* argument, void* owner);
extern "C" void __cxa_finalize(void* owner);

namespace gantry {

constinit std::atomic<std::uint8_t> detail::process_phase{kRunning};

namespace {

// EX_SOFTWARE of sysexits.h.
constexpr int kExitOfAPlugin = 70;

// Guards the registration of handlers and the list of plugins.
constinit std::mutex watch_mutex;
constinit bool is_watching = false;

// The library of a plugin; never freed, because it stays in the process.
struct WatchedPlugin {
  WatchedPlugin(std::string name, std::span<const std::byte> library)
      : title(std::move(name)), range(RangeKind::plugin, library, title) {}

  const std::string title;
  const OwnedRange range;
};

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
  char id[max_range_title];
  const std::string_view plugin = plugin_on_this_stack(id);
  if (plugin.empty()) return;
  const CallRecord* const call = CallRecord::current();
  const std::string_view in = call != nullptr ? " in " : "";
  const std::string_view function = call != nullptr ? call->function() : std::string_view();
  end_process(concat("plugin ", plugin), concat("called exit()", in, function));
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

void watch_plugin(std::string title, const void* address) {
  const std::lock_guard lock(watch_mutex);
  const std::span<const std::byte> library = library_at(address);
  FoundRange known;
  if (library.empty() ||
      (known.find(reinterpret_cast<std::uintptr_t>(address)) && known.kind == RangeKind::plugin))
    return;
  new WatchedPlugin(std::move(title), library);
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
