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
// Workers start at the first launch, never change their affinity, spin for some microseconds
// between launches and then sleep. A launch allocates nothing.
#pragma once

#include "core/native/barrier.hpp"
#include "core/native/signal.hpp"

#include <gantry/threads.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace gantry {

class Log;

// CPUs that this process may run on (taskset, cpuset), at least 1.
std::int32_t usable_cpus();

class ThreadPool {
 public:
  // threads  [in]   workers and caller together; 0 or less: usable_cpus()
  // log      [in]   borrowed, may be NULL; receives a warning if fewer threads can be started
  explicit ThreadPool(std::int32_t threads, const Log* log = nullptr);
  // Precondition: no launch is running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Tasks that can run concurrently. Decreases at the first launch if threads cannot be started.
  std::int32_t size() const { return size_.load(std::memory_order_relaxed); }

  // One task of a launch. Must not throw.
  using Body = void (*)(void* data, std::int32_t task, std::int32_t tasks);

  // Runs body(data, 0, n) .. body(data, n - 1, n) concurrently, task 0 on the calling thread, and
  // waits for all.
  //
  // tasks    [in]   n; 0: size()
  // returns  false if nothing has run: the pool is busy or has one thread only, n is 1 or above
  //          size(), or this process is a forked child, which has none of the threads
  // thread   any; also from within a task
  // costs    about a microsecond when the workers are awake
  bool try_run(std::int32_t tasks, Body body, void* data);

  // The barrier of the launch that is running, for its tasks.
  Barrier& barrier() { return barrier_; }

  // See gantry/threads.h.
  gantry_code parallel_for(std::int64_t count, gantry_parallel_body body, void* self,
                           gantry_status* status);

 private:
  struct alignas(64) Worker {
    Signal posted;
    std::thread thread;
  };

  std::int32_t start_workers();
  void work(Worker& worker, std::int32_t task);

  const Log* log_;
  std::atomic<std::int32_t> size_;
  std::uint32_t spins_;
  unsigned fork_generation_;
  // guarded by busy_
  bool started_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};

  // The launch that is running; owned by the thread that set busy_.
  alignas(64) std::atomic<bool> busy_{false};
  Body body_ = nullptr;
  void* data_ = nullptr;
  std::int32_t tasks_ = 0;
  Barrier barrier_;
  alignas(64) std::atomic<std::int32_t> pending_{0};
  Signal done_;
};

}  // namespace gantry
