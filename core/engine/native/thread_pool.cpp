// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/thread_pool.hpp"

#include "core/base/cpu_limit.hpp"
#include "core/base/fault_signals.hpp"
#include "core/base/forks.hpp"
#include "core/base/log.hpp"
#include "core/base/process_end.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/base/thread_end.hpp"
#include "core/base/trace/span.hpp"

#include <gantry/abi_boundary.hpp>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>

namespace gantry {
namespace {

// A larger count is an error of configuration: no machine has so many CPUs.
constexpr std::int32_t kMaxThreads = 4096;
static_assert(kMaxThreads <= Barrier::kMaxMembers);

// A forked child has none of the threads that spin.
void forget_spinning_threads_in_children() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_spinning_threads); });
}

// The pieces of one parallel_for. Tasks take the next index until none is left or a lower one has
// failed. Every piece below one that fails is run, so the lowest index that fails is always
// reported.
struct Pieces {
  std::int64_t count;
  gantry_parallel_body body;
  void* self;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> failed_at{INT64_MAX};
  std::mutex mutex{};
  gantry_code code = GANTRY_OK;
  Error error{};

  void run() {
    for (;;) {
      const std::int64_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count || index > failed_at.load(std::memory_order_relaxed)) return;
      StatusBuffer buffer;
      const gantry_code result =
          buffer.call([&](gantry_status* status) { return body(self, index, status); });
      if (result != GANTRY_OK) fail(index, result, buffer);
    }
  }

  void fail(std::int64_t index, gantry_code result, const StatusBuffer& buffer) {
    const std::lock_guard lock(mutex);
    if (index > failed_at.load(std::memory_order_relaxed)) return;
    failed_at.store(index, std::memory_order_relaxed);
    // guard() turns an exception into an error, because none may leave a worker.
    Status status = guard(
        [&]() -> Status { return buffer.error(result, concat("piece ", index, " of ", count)); });
    code = static_cast<gantry_code>(status.error().code);
    error = std::move(status).error();
  }
};

// CPUs that this process may run on.
std::int32_t affine_cpus() {
  // If the set is smaller than the kernel's, sched_getaffinity() fails and a larger set is tried.
  for (int max = CPU_SETSIZE; max <= 64 * CPU_SETSIZE; max *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(max));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(max));
    const bool filled = sched_getaffinity(0, bytes, set) == 0;
    const int count = filled ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (filled) return std::max(1, count);
  }
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace

std::int32_t usable_cpus() {
  const std::int32_t cpus = affine_cpus();
  const auto limit = cpu_limit();
  return limit ? std::min(*limit, cpus) : cpus;
}

namespace {

// The CPUs of `cpus` on which this process may run; all that it may use if the list is empty.
std::int32_t cpus_in(const std::vector<int>& cpus) {
  if (cpus.empty()) return usable_cpus();
  return std::min(usable_cpus(), static_cast<std::int32_t>(cpus.size()));
}

}  // namespace

ThreadPool::ThreadPool(std::int32_t threads, std::chrono::microseconds window, const Log* log,
                       std::vector<int> cpus)
    : log_(log),
      cpus_(std::move(cpus)),
      size_(std::min(threads > 0 ? threads : cpus_in(cpus_), kMaxThreads)),
      limits_{window, cpus_in(cpus_) - 1},
      fork_count_(watch_forks()) {
  forget_spinning_threads_in_children();
}

ThreadPool::~ThreadPool() {
  const NoCancellation guard;
  const bool forked = fork_count_ != fork_count();
  stopping_.store(true, std::memory_order_release);
  for (const auto& worker : workers_) {
    if (forked) {
      // a thread of the parent process, which cannot be joined here
      worker->thread.detach();
    } else {
      worker->post({});
      worker->thread.join();
    }
  }
}

void ThreadPool::place(std::thread& worker) {
  if (cpus_.empty()) return;
  const auto count = static_cast<std::size_t>(cpus_.back()) + 1;
  cpu_set_t* const set = CPU_ALLOC(count);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus_) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  const int failed = pthread_setaffinity_np(worker.native_handle(), bytes, set);
  CPU_FREE(set);
  if (failed == 0 || log_ == nullptr) return;
  log_->warning(Message("threads cannot be placed on the configured CPUs (first ", cpus_.front(),
                        ", last ", cpus_.back(), "): ", std::generic_category().message(failed)));
  // one warning for all workers
  cpus_.clear();
}

std::int32_t ThreadPool::start_workers() {
  if (started_) return size();
  started_ = true;
  const std::int32_t wanted = size();
  const SignalsBlocked blocked;
  try {
    workers_.reserve(static_cast<std::size_t>(wanted) - 1);
    for (std::int32_t task = 1; task < wanted; ++task) {
      const std::string name = concat("gantry-", task);
      auto worker = std::make_unique<Worker>();
      Worker& here = *worker;
      worker->thread = std::thread([this, &here, task] { work(here, task); });
      // Owned by the pool before anything else can fail: a thread must be joined.
      workers_.push_back(std::move(worker));
      pthread_setname_np(here.thread.native_handle(), name.c_str());
      place(here.thread);
    }
  } catch (const std::exception& failure) {
    // std::system_error or std::bad_alloc
    const auto started = static_cast<std::int32_t>(workers_.size()) + 1;
    size_.store(started, std::memory_order_relaxed);
    const auto warn = [&]() -> Status {
      log_->warning(Message("the thread pool has ", started, " threads instead of ", wanted, ": ",
                            failure.what()));
      return {};
    };
    // The warning is omitted if there is no memory for its text.
    if (log_) (void)guard(warn).ok();
  }
  return size();
}

void ThreadPool::work(Worker& worker, std::int32_t task) {
  keep_this_thread();
  const FaultStack stack;
  for (;;) {
    worker.posts.wait_until([](std::uint32_t posts) { return posts % 2 != 0; }, limits_);
    if (stopping_.load(std::memory_order_acquire)) return;
    if (worker.claim()) run_task(worker.launch, task);
  }
}

void ThreadPool::run_task(const Launch& launch, std::int32_t task) {
  // The task has ended also if pthread_cancel() unwinds it. On a thread that must last, its results
  // would be missing, which the other tasks must not find.
  struct Ending {
    Barrier& barrier;
    bool has_returned = false;
    ~Ending() {
      // A forced unwinding is no exception.
      const bool is_unwound = !has_returned && std::uncaught_exceptions() == 0;
      if (is_unwound && is_thread_kept())
        end_for_thread("code of a model or a plugin", "a thread of the pool");
      barrier.leave();
    }
  };
  Ending ending{barrier_};
  if (trace_ == nullptr) [[likely]] {
    launch.body(launch.data, task, launch.tasks);
  } else {
    const Span span(trace_, "task", "task");
    launch.body(launch.data, task, launch.tasks);
  }
  ending.has_returned = true;
}

bool ThreadPool::try_run(std::int32_t tasks, Body body, void* data) {
  if (tasks == 1 || tasks > size() || size() == 1) return false;
  if (fork_count_ != fork_count()) return false;
  if (busy_.exchange(true, std::memory_order_acquire)) return false;

  const std::int32_t available = start_workers();
  if (tasks == 0) tasks = available;
  const bool runs = tasks > 1 && tasks <= available;
  if (!runs) {
    busy_.store(false, std::memory_order_release);
    return false;
  }
  barrier_.reset(static_cast<std::uint32_t>(tasks));
  // Waits for the other tasks, which use this stack, also when pthread_cancel() unwinds this one.
  struct Ending {
    ThreadPool& pool;
    ~Ending() {
      pool.barrier_.wait_until_empty();
      pool.busy_.store(false, std::memory_order_release);
    }
  };
  const Ending ending{*this};
  const Launch launch{body, data, tasks};
  for (std::int32_t i = 1; i < tasks; ++i) worker_of(i).post(launch);
  run_task(launch, 0);
  // The tasks that were posted last are the least likely to be claimed meanwhile.
  for (std::int32_t i = tasks - 1; i > 0; --i) {
    if (worker_of(i).claim()) run_task(launch, i);
  }
  return true;
}

gantry_code ThreadPool::parallel_for(std::int64_t count, gantry_parallel_body body, void* self,
                                     gantry_status* status) {
  if (count <= 0) return GANTRY_OK;
  Pieces pieces{count, body, self};
  const auto run = [](void* data, std::int32_t, std::int32_t) {
    static_cast<Pieces*>(data)->run();
  };
  const auto tasks = static_cast<std::int32_t>(std::min<std::int64_t>(count, size()));
  if (!try_run(tasks, run, &pieces)) pieces.run();
  if (pieces.code == GANTRY_OK) return GANTRY_OK;
  return to_status(pieces.error, status);
}

}  // namespace gantry
