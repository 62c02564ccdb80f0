// SPDX-License-Identifier: Apache-2.0
//
// Cases 79 to 83 and 128: create and destroy, the end of the process, fork and signals.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/growth.hpp"
#include "tools/conformance/plugin_call.hpp"
#include "tools/conformance/process_counts.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/process.hpp"
#include "core/base/process_state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace gantry::kit {
namespace {

// create() opens no driver: less than one small allocation in every second cycle.
constexpr std::uint64_t kMaxHeapGrowth = 16;
// count() may open one. Drivers that are closed and opened again leave some memory.
constexpr std::uint64_t kMaxDriverHeapGrowth = 1024;
// Not the status of any other end.
constexpr int kStatus = 42;

Status count_devices(const Instance& instance) {
  for (const gantry_device_table& device : instance.plugin().devices) {
    std::int32_t count = 0;
    const PluginCall record("count");
    device.count(instance.self(), &count, nullptr);
  }
  return {};
}

// 79
Status leaks_nothing(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  const auto create = [&] { return created(bench->plugin(), bench->host()); };
  GANTRY_CHECK(check_growth(
      [&]() -> Status {
        GANTRY_TRY(const Instance instance, create());
        return {};
      },
      "create and destroy", {.bytes_a_cycle = kMaxHeapGrowth}));
  if (bench->plugin().devices.empty()) return {};
  return check_growth(
      [&]() -> Status {
        GANTRY_TRY(const Instance instance, create());
        return count_devices(instance);
      },
      "create, count and destroy", {.bytes_a_cycle = kMaxDriverHeapGrowth});
}

// 128
Status create_changes_no_state(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  const ProcessCounts before = process_counts();
  ProcessState state(ProcessState::Scope::signals);
  { GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host())); }
  const std::string environment = process_counts().environment;
  std::vector<std::string_view> changed = state.restore();
  if (environment != before.environment) changed.push_back("the environment");
  if (changed.empty()) return {};
  return bug("create and destroy change ", join(changed));
}

// 80
Status is_destroyed_after_work(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  bool any = false;
  for (const gantry_device_table& device : bench->plugin().devices) {
    GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
    void* const self = instance.self();
    std::int32_t count = 0;
    if (device.count(self, &count, nullptr) != GANTRY_OK || count == 0) continue;
    void* stream = nullptr;
    const bool has_stream = device.stream_create(self, 0, 0, &stream, nullptr) == GANTRY_OK;
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = std::uint64_t{1} << 20;
    what.alignment = 64;
    what.dtype = {1, 8, 1};
    void* from = nullptr;
    void* to = nullptr;
    if (device.alloc(self, 0, &what, &from, nullptr) != GANTRY_OK) continue;
    if (device.alloc(self, 0, &what, &to, nullptr) != GANTRY_OK) continue;
    any = true;
    GANTRY_TRY(const std::int32_t type, bench->state().devices.number_of(device.name));
    gantry_copy copy{};
    copy.struct_size = sizeof copy;
    copy.from = {from, 0, {type, 0}};
    copy.to = {to, 0, {type, 0}};
    copy.size = what.size;
    device.copy(self, 0, &copy, stream, nullptr);
    // All with work in the stream; then the plugin is destroyed.
    device.free(self, 0, from);
    device.free(self, 0, to);
    if (has_stream) device.stream_destroy(self, 0, stream);
  }
  if (any) return {};
  if (bench->plugin().devices.empty()) return skipped("the plugin has no device");
  return not_run("no device of the plugin is on this host");
}

enum class Ending { exit_of_main, exit_of_a_thread, quick_exit, underscore_exit };
constexpr std::pair<Ending, const char*> kEndings[] = {
    {Ending::exit_of_main, "exit()"},
    {Ending::exit_of_a_thread, "exit() on another thread"},
    {Ending::quick_exit, "quick_exit()"},
    {Ending::underscore_exit, "_exit()"},
};

[[noreturn]] void end_with_everything_alive(const Subject& subject, Ending ending) {
  // Kept until the process ends.
  auto& bench = *new Result<std::unique_ptr<Bench>>(Bench::open(subject));
  if (bench.ok()) {
    auto& instance = *new Result<Instance>(Instance::create((*bench)->plugin(), (*bench)->host()));
    if (instance.ok()) {
      (void)count_devices(*instance);
      make_failing_calls(*instance, (*bench)->state());
    }
  }
  if (ending == Ending::underscore_exit) ::_exit(kStatus);
  if (ending == Ending::quick_exit) std::quick_exit(kStatus);
  if (ending == Ending::exit_of_main) std::exit(kStatus);
  std::thread([] { std::exit(kStatus); }).join();
  std::abort();
}

// 81, in another process. A part is what ends it.
std::string end_by(Subject& subject, const std::string& part) {
  for (const auto& [ending, name] : kEndings) {
    if (part == name) end_with_everything_alive(subject, ending);
  }
  return {};
}

// 81
Status lets_the_process_end(Subject& subject) {
  for (const auto& [ending, name] : kEndings) {
    GANTRY_TRY(const PartEnd end, run_part(subject, 81, name, {.seconds = 10}));
    const ProgramEnd& process = end.process;
    if (!process.exited_with(kStatus))
      return with_output(bug("a process that calls ", name, " with everything alive ", end.text(),
                             ", expected status ", kStatus),
                         process);
    if (!process.output.empty())
      return with_output(bug("a process that calls ", name, " prints a text"), process);
  }
  return {};
}

// 82
Status survives_fork(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  GANTRY_CHECK(count_devices(instance));
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return skipped("cannot fork");
  if (child == 0) {
    end_with_parent(parent);
    // The static destructors of the plugin run in the child; no function of it is called.
    std::exit(kStatus);
  }
  int status = 0;
  // A child that hangs is ended by the time limit of the case.
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kStatus) {
    return bug(
        "a forked child that calls exit() ends with ", WIFEXITED(status) ? "status " : "signal ",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), ", expected status ", kStatus);
  }
  // The parent goes on.
  GANTRY_CHECK(count_devices(instance));
  GANTRY_TRY(const Instance another, created(bench->plugin(), bench->host()));
  return count_devices(another);
}

std::atomic<int> signals_handled{0};
void handle_signal(int) { ++signals_handled; }

// 83
Status leaves_signals_alone(Subject& subject) {
  struct sigaction ours {};
  ours.sa_handler = handle_signal;
  constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, SIGSEGV, SIGBUS};
  for (const int number : numbers) ::sigaction(number, &ours, nullptr);
  sigset_t mask{}, mask_after{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  GANTRY_CHECK(count_devices(instance));
  make_failing_calls(instance, bench->state());

  for (const int number : numbers) {
    struct sigaction found {};
    ::sigaction(number, nullptr, &found);
    if (found.sa_handler != handle_signal)
      return bug("the plugin replaces the host's handler of signal ", number, " (",
                 ::strsignal(number), ")");
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  for (const int number : numbers) {
    if (::sigismember(&mask, number) != ::sigismember(&mask_after, number))
      return bug("the plugin blocks or unblocks signal ", number, " on the thread that calls it");
  }
  signals_handled = 0;
  ::raise(SIGINT);
  ::raise(SIGTERM);
  if (signals_handled != 2) return bug("the host's handlers of SIGINT and SIGTERM do not run");
  return {};
}

constexpr Case kLifetimeCases[] = {
    {128, Level::L, Weight::must, "create-changes-no-state",
     "create and destroy change no directory, umask, locale, action of a signal, signal mask, "
     "floating-point mode, standard descriptor or environment",
     "set what a driver requires around its calls only, and restore it", create_changes_no_state},
    {79, Level::D, Weight::must, "leaks-nothing",
     "200 cycles of create, count and destroy leave no thread, descriptor or memory",
     "release in destroy() what create() and count() acquire", leaks_nothing},
    {80, Level::D, Weight::must, "is-destroyed-after-work",
     "memory and streams are released while a copy uses them, then the plugin is destroyed",
     "defer the release until the work is complete, or wait for it", is_destroyed_after_work, "*"},
    {81, Level::D, Weight::must, "lets-the-process-end",
     "exit() on any thread, quick_exit() and _exit() end a process in which the plugin is in use, "
     "with their status and without output",
     "use no static objects with destructors that call a driver; end threads in destroy() only",
     lets_the_process_end, "", end_by},
    {82, Level::D, Weight::must, "survives-fork",
     "a forked child can exit, and the parent can go on",
     "do nothing in static destructors and fork handlers that requires threads or a driver",
     survives_fork},
    {83, Level::D, Weight::should, "leaves-signals-alone",
     "handlers and mask of signals are the host's while the plugin is in use",
     "install no signal handler; block signals only in threads of the plugin",
     leaves_signals_alone},
};

}  // namespace

std::span<const Case> lifetime_cases() { return kLifetimeCases; }

}  // namespace gantry::kit
