// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/time_limit.hpp"

#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/option_checks.hpp"

#include "core/base/running_code.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/signals_blocked.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace gantry::cli {
namespace {

// for a cancelled call to return
constexpr std::chrono::seconds time_to_return{2};
// for the line
constinit std::atomic<int> limit_seconds = 0;

// Runs on the thread that has not returned.
void exit_for_time(int, siginfo_t*, void* context) {
  SignalLine line;
  line.add("gantry: ")
      .add_running_code({"has not returned", "from", "the command has not ended"}, {context})
      .add(": --timeout ")
      .add_number(static_cast<std::uint64_t>(limit_seconds.load()))
      .add(" has passed ")
      .add_number(static_cast<std::uint64_t>(time_to_return.count()))
      .add(" s ago")
      .write();
  clean_up_for_signal();
  _exit(kTimedOut);
}

}  // namespace

// Interrupts the thread that has created it if it is not destroyed in time.
class TimeLimit::Watch {
 public:
  explicit Watch(std::chrono::steady_clock::time_point end) : watched_(pthread_self()) {
    struct sigaction action {};
    action.sa_sigaction = exit_for_time;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    sigaction(signal_number(), &action, nullptr);
    const SignalsBlocked blocked;
    thread_ = std::thread([this, end] {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_until(lock, end, [this] { return has_ended_; }))
        pthread_kill(watched_, signal_number());
    });
  }
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  // One that neither users nor drivers send.
  static int signal_number() { return SIGRTMAX; }

  const pthread_t watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
  std::thread thread_;
};

TimeLimit::TimeLimit() = default;
TimeLimit::TimeLimit(TimeLimit&&) noexcept = default;
TimeLimit::~TimeLimit() = default;

Result<TimeLimit> TimeLimit::start(int seconds) {
  TimeLimit limit;
  if (seconds == 0) return limit;
  const std::chrono::seconds time(seconds);
  limit_seconds = limit.seconds_ = seconds;
  limit.end_ = std::chrono::steady_clock::now() + time;
  GANTRY_TRY(limit.task_, Task::create(time));
  limit.watch_ = std::make_unique<Watch>(limit.end_ + time_to_return);
  return limit;
}

gantry_env TimeLimit::env(gantry_device_id device) const {
  return task_ ? task_.env(device) : gantry_env{device, nullptr, nullptr};
}

bool TimeLimit::has_passed() const {
  return watch_ != nullptr && std::chrono::steady_clock::now() >= end_;
}

Error TimeLimit::explained(Error error) const {
  if (error.code != Code::cancelled || !has_passed()) return error;
  error.reason = "DEADLINE";
  error.at("--timeout ", seconds_, " has passed");
  return error;
}

CLI::Option* add_timeout(CLI::App& command, int& seconds) {
  return command
      .add_option("--timeout", seconds,
                  concat("cancel the runs after this time; end the process ",
                         time_to_return.count(), " s later, with status ", int{kTimedOut},
                         ", if code of a plugin or of the artifact has not returned"))
      ->check(in_range(1, 86400))
      ->type_name("SECONDS");
}

}  // namespace gantry::cli
