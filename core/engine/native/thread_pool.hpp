// SPDX-License-Identifier: Apache-2.0
//
// The thread pool of one runtime. All tasks of a launch run concurrently, so they may wait for each
// other.
//
//     caller ── task 0
//     worker 0 ── task 1
//     worker 1 ── task 2 ...
//
// The pool runs one launch at a time. While it is busy, another launch, also one from within a
// task, runs on its own thread only.
//
// When the caller has run task 0, it also runs the tasks whose workers have not started them. A
// launch therefore does not wait for a worker that sleeps or has no CPU.
//
// Workers start at the first launch, change their affinity only as configured, spin for a limited
// time between launches and then sleep (spin.hpp). A launch allocates nothing.
#pragma once

#include "core/engine/native/barrier.hpp"
#include "core/engine/native/spin.hpp"
#include "core/engine/native/waitable_counter.hpp"

#include <gantry/threads.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace gantry {

class Log;
class TraceRecorder;

// CPUs that this process may use: those on which it may run (taskset, cpuset), and no more than its
// control groups allow in time (core/base/cpu_limit.hpp). At least 1.
std::int32_t usable_cpus();

class ThreadPool {
 public:
  // threads  [in]   workers and caller together; 0 or less: usable_cpus()
  // window   [in]   time that a waiting thread spins before it sleeps
  // log      [in]   borrowed, may be NULL; receives a warning if fewer threads can be started
  // cpus     [in]   on which the workers run; empty: where the process may. The caller's thread is
  //                 not changed
  explicit ThreadPool(std::int32_t threads,
                      std::chrono::microseconds window = std::chrono::microseconds(400),
                      const Log* log = nullptr, std::vector<int> cpus = {});
  // Precondition: no launch is running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Records each task in a trace from now on. Precondition: no launch has been made.
  //
  // trace    [in]   borrowed, outlives the pool
  void record_tasks(TraceRecorder& trace) { trace_ = &trace; }

  // Tasks that can run concurrently. Decreases at the first launch if threads cannot be started.
  std::int32_t size() const { return size_.load(std::memory_order_relaxed); }

  // of its threads when they wait
  const SpinLimits& limits() const { return limits_; }

  // One task of a launch. Must not throw.
  using Body = void (*)(void* data, std::int32_t task, std::int32_t tasks);

  // Runs body(data, 0, n) .. body(data, n - 1, n) concurrently and waits for all. Task 0 runs on
  // the calling thread.
  //
  // tasks    [in]   n; 0: size()
  // returns  false if nothing has run: the pool is busy or has one thread only, n is 1 or above
  //          size(), or this process is a forked child, which has none of the threads
  // thread   any; also from within a task
  // costs    a fraction of a microsecond when the workers are awake, a system call for each worker
  //          that sleeps
  bool try_run(std::int32_t tasks, Body body, void* data);

  // The barrier of the launch that is running, for its tasks.
  Barrier& barrier() { return barrier_; }

  // See gantry/threads.h.
  gantry_code parallel_for(std::int64_t count, gantry_parallel_body body, void* self,
                           gantry_status* status);

 private:
  // A launch, copied to each worker, so that a post moves a single cache line between CPUs.
  struct Launch {
    Body body;
    void* data;
    std::int32_t tasks;
  };
  struct alignas(64) Worker {
    // Odd from the post of a task until the worker or the caller claims it.
    WaitableCounter posts;
    // changed only while the counter is even
    Launch launch{};
    std::thread thread;

    void post(const Launch& next) {
      launch = next;
      posts.add(1);
      posts.wake();
    }
    bool claim() {
      const std::uint32_t now = posts.value();
      return now % 2 != 0 && posts.replace(now, now + 1);
    }
  };

  std::int32_t start_workers();
  void work(Worker& worker, std::int32_t task);
  void run_task(const Launch& launch, std::int32_t task);
  Worker& worker_of(std::int32_t task) { return *workers_[static_cast<std::size_t>(task) - 1]; }

  void place(std::thread& worker);

  const Log* log_;
  // NULL: nothing is recorded
  TraceRecorder* trace_ = nullptr;
  std::vector<int> cpus_;
  std::atomic<std::int32_t> size_;
  SpinLimits limits_;
  // In a forked child the pool of the parent has no threads.
  unsigned fork_count_;
  // guarded by busy_
  bool started_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};

  // set by the thread whose launch is running
  alignas(64) std::atomic<bool> busy_{false};
  alignas(64) Barrier barrier_{limits_};
};

}  // namespace gantry
