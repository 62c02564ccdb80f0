// SPDX-License-Identifier: Apache-2.0
#include "core/base/signal_cleanup.hpp"

#include "core/base/signals_blocked.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

constinit std::atomic_flag list_lock;
// Guarded by list_lock.
constinit CleanUpOnSignal* latest = nullptr;

// Holds list_lock with all signals blocked, so that a handler never interrupts its holder.
class Locked {
 public:
  Locked() {
    while (list_lock.test_and_set(std::memory_order_acquire)) usleep(1000);
  }
  ~Locked() { list_lock.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const SignalsBlocked blocked_;
};

constexpr struct {
  int number;
  // empty: nothing is written
  std::string_view text;
  // by _exit(), because the default action would write a core file
  bool exits = false;
} endings[] = {
    {SIGINT, "gantry: interrupted (SIGINT)\n"},
    {SIGTERM, "gantry: terminated (SIGTERM)\n"},
    {SIGHUP, "gantry: terminal closed (SIGHUP)\n"},
    {SIGQUIT, "gantry: quit (SIGQUIT)\n"},
    {SIGALRM, "gantry: alarm clock (SIGALRM)\n"},
    // The reader of the output has ended, which is no error.
    {SIGPIPE, ""},
    {SIGXCPU, "gantry: the CPU time exceeds the limit of this process (SIGXCPU); see ulimit -t\n",
     true},
    {SIGXFSZ, "gantry: a file exceeds the limit of this process (SIGXFSZ); see ulimit -f\n", true},
};

void end_for_signal(int number) {
  clean_up_for_signal();
  for (const auto& ending : endings) {
    if (ending.number != number) continue;
    (void)!write(STDERR_FILENO, ending.text.data(), ending.text.size());
    if (ending.exits) _exit(128 + number);
  }
  std::signal(number, SIG_DFL);
  // Delivered when the handler returns.
  std::raise(number);
}

}  // namespace

CleanUpOnSignal::CleanUpOnSignal(std::function<void()> work) : work_(std::move(work)) {
  const Locked locked;
  before_ = std::exchange(latest, this);
}

CleanUpOnSignal::~CleanUpOnSignal() {
  const Locked locked;
  CleanUpOnSignal** link = &latest;
  while (*link != this) link = &(*link)->before_;
  *link = before_;
}

void clean_up_for_signal() noexcept {
  // Not released: no other thread removes an entry, or begins to end the process, from now on.
  while (list_lock.test_and_set(std::memory_order_acquire)) usleep(1000);
  for (CleanUpOnSignal* each = latest; each != nullptr; each = each->before_) each->work_();
}

void handle_ending_signals() {
  struct sigaction action {};
  action.sa_handler = end_for_signal;
  sigfillset(&action.sa_mask);
  for (const auto& ending : endings) {
    struct sigaction before {};
    sigaction(ending.number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(ending.number, &action, nullptr);
  }
}

}  // namespace gantry
