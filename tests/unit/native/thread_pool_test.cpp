// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/thread_pool.hpp"

#include "core/base/log.hpp"
#include "core/base/thread_end.hpp"
#include "tests/unit/native/sleepers_held.hpp"

#include <gantry/abi.h>
#include <gantry/abi_boundary.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace {
// number of threads that can be started
std::atomic<int> threads_left{INT_MAX};
}  // namespace

// Replaces the function of libc in this program.
extern "C" GANTRY_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                            void* (*start)(void*), void* argument) {
  if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

namespace gantry {
namespace {

struct Tasks {
  std::atomic<int> begun{0};
  std::atomic<std::int32_t> tasks{0};
  // one bit for each task
  std::atomic<std::uint64_t> seen{0};

  static void run(void* data, std::int32_t task, std::int32_t tasks) {
    auto& self = *static_cast<Tasks*>(data);
    self.seen |= std::uint64_t{1} << task;
    self.tasks = tasks;
    ++self.begun;
    // returns only if all tasks run concurrently
    while (self.begun < tasks) std::this_thread::yield();
  }
};

TEST(ThreadPool, RunsAllTasksAtTheSameTime) {
  ThreadPool pool(8);
  Tasks all, three;

  EXPECT_TRUE(pool.try_run(0, Tasks::run, &all));
  EXPECT_TRUE(pool.try_run(3, Tasks::run, &three));

  EXPECT_EQ(all.tasks, 8);
  EXPECT_EQ(all.seen, 0xffu);
  EXPECT_EQ(three.tasks, 3);
  EXPECT_EQ(three.seen, 0x7u);
}

TEST(ThreadPool, RunsNothingForInvalidTaskCountsOrWithOneThread) {
  ThreadPool one(1), four(4);
  Tasks tasks;

  EXPECT_FALSE(one.try_run(0, Tasks::run, &tasks));
  EXPECT_FALSE(four.try_run(1, Tasks::run, &tasks));
  EXPECT_FALSE(four.try_run(5, Tasks::run, &tasks));
  EXPECT_EQ(tasks.begun, 0);
}

TEST(ThreadPool, StartsNoThreadsForALaunchThatItRefuses) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  ThreadPool pool(4);
  const auto before = threads();

  EXPECT_FALSE(pool.try_run(1, Tasks::run, nullptr));
  EXPECT_FALSE(pool.try_run(5, Tasks::run, nullptr));

  EXPECT_EQ(threads(), before);
}

TEST(ThreadPool, StartsItsThreadsOnce) {
  const auto named = [](std::string_view name) {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string found;
      std::getline(std::ifstream(task.path() / "comm"), found);
      count += found == name;
    }
    return count;
  };
  ThreadPool pool(3);
  Tasks first, second;

  ASSERT_TRUE(pool.try_run(0, Tasks::run, &first));
  ASSERT_TRUE(pool.try_run(0, Tasks::run, &second));

  EXPECT_EQ(named("gantry-1"), 1);
  EXPECT_EQ(named("gantry-2"), 1);
}

TEST(ThreadPool, HasTheThreadsThatCanBeStarted) {
  std::vector<std::string> lines;
  const Log log(LogLevel::warning,
                [&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  ThreadPool pool(4, std::chrono::microseconds(400), &log);
  Tasks four, all;

  threads_left = 1;
  EXPECT_FALSE(pool.try_run(4, Tasks::run, &four));
  threads_left = INT_MAX;

  EXPECT_EQ(four.begun, 0);
  EXPECT_EQ(pool.size(), 2);
  EXPECT_THAT(lines, ::testing::ElementsAre("the thread pool has 2 threads instead of 4: Resource "
                                            "temporarily unavailable"));
  EXPECT_TRUE(pool.try_run(0, Tasks::run, &all));
  EXPECT_EQ(all.tasks, 2);
}

TEST(ThreadPool, RunsNothingIfNoThreadCanBeStarted) {
  ThreadPool pool(2);
  Tasks tasks;

  threads_left = 0;
  EXPECT_FALSE(pool.try_run(0, Tasks::run, &tasks));
  threads_left = INT_MAX;

  EXPECT_EQ(tasks.begun, 0);
}

TEST(ThreadPool, HasOneThreadForEachUsableCpuByDefault) {
  EXPECT_EQ(ThreadPool(0).size(), usable_cpus());

  cpu_set_t before, first;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &first);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
  EXPECT_EQ(usable_cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(ThreadPool, DoesNotChangeTheAffinityOfItsCaller) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  ThreadPool pool(2);
  Tasks tasks;
  pool.try_run(0, Tasks::run, &tasks);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(4);
  for (int i = 0; i < 3; ++i) {
    Tasks tasks;
    ASSERT_TRUE(pool.try_run(0, Tasks::run, &tasks));
    EXPECT_EQ(tasks.seen, 0xfu);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// The threads that ran the tasks of a launch.
struct Runners {
  std::thread::id of[2];

  static void run(void* data, std::int32_t task, std::int32_t) {
    static_cast<Runners*>(data)->of[task] = std::this_thread::get_id();
  }
};

TEST(ThreadPool, RunsTasksOfSleepingWorkersOnTheCaller) {
  ThreadPool pool(2, std::chrono::microseconds(0));
  const test::SleepersHeld held;
  Runners start, runners;
  ASSERT_TRUE(pool.try_run(0, Runners::run, &start));
  test::SleepersHeld::wait_for(1);

  ASSERT_TRUE(pool.try_run(0, Runners::run, &runners));

  EXPECT_THAT(runners.of, ::testing::Each(std::this_thread::get_id()));
}

TEST(ThreadPool, RunsTasksOnWorkersThatWakeAfterTheirTaskHasRun) {
  ThreadPool pool(2, std::chrono::microseconds(0));
  Runners start;
  Tasks tasks;
  {
    const test::SleepersHeld held;
    ASSERT_TRUE(pool.try_run(0, Runners::run, &start));
    test::SleepersHeld::wait_for(1);
    ASSERT_TRUE(pool.try_run(0, Runners::run, &start));
  }

  ASSERT_TRUE(pool.try_run(0, Tasks::run, &tasks));

  EXPECT_EQ(tasks.begun, 2);
  EXPECT_EQ(tasks.seen, 0x3u);
}

TEST(ThreadPool, RejectsANestedLaunch) {
  struct Inner {
    ThreadPool* pool;
    std::atomic<int> refused{0};
  } inner{.pool = nullptr};
  ThreadPool pool(4);
  inner.pool = &pool;

  ASSERT_TRUE(pool.try_run(
      0,
      [](void* data, std::int32_t, std::int32_t) {
        auto& self = *static_cast<Inner*>(data);
        if (!self.pool->try_run(2, Tasks::run, nullptr)) ++self.refused;
      },
      &inner));

  EXPECT_EQ(inner.refused, 4);
}

struct Meeting {
  ThreadPool* pool;
  std::int64_t rounds;
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> wrong{0};

  static void run(void* data, std::int32_t, std::int32_t tasks) {
    auto& self = *static_cast<Meeting*>(data);
    for (std::int64_t round = 1; round <= self.rounds; ++round) {
      self.sum.fetch_add(1, std::memory_order_relaxed);
      self.pool->barrier().arrive();
      if (self.sum.load(std::memory_order_relaxed) != round * tasks) ++self.wrong;
      self.pool->barrier().arrive();
    }
  }
};

TEST(ThreadPool, SynchronizesTasksAtBarriers) {
  ThreadPool pool(6);
  for (const std::int32_t tasks : {6, 2, 5, 6}) {
    Meeting meeting{&pool, 300};
    ASSERT_TRUE(pool.try_run(tasks, Meeting::run, &meeting));
    EXPECT_EQ(meeting.wrong, 0);
    EXPECT_EQ(meeting.sum, 300 * tasks);
  }
}

TEST(ThreadPool, ServesManyCallersWithoutLosingATask) {
  ThreadPool pool(3);
  std::atomic<int> served{0}, alone{0}, wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        Meeting meeting{&pool, 2};
        if (pool.try_run(round % 2 ? 0 : 2, Meeting::run, &meeting)) {
          ++served;
          if (meeting.wrong != 0) ++wrong;
        } else {
          ++alone;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(served + alone, 6 * 300);
  EXPECT_GT(served, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, EndsWhileItsWorkersSpinOrSleep) {
  for (int i = 0; i < 20; ++i) {
    ThreadPool pool(4);
    Tasks tasks;
    pool.try_run(0, Tasks::run, &tasks);
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(ThreadPool, EndsTheProcessIfATaskEndsItsThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // It may run the task itself.
        keep_this_thread();
        ThreadPool pool(2);
        pool.try_run(
            2,
            [](void*, std::int32_t task, std::int32_t) {
              if (task == 1) pthread_exit(nullptr);
            },
            nullptr);
        _exit(0);
      },
      ::testing::ExitedWithCode(70),
      "^gantry: code of a model or a plugin ended a thread of the pool by pthread_exit\\(\\) or "
      "pthread_cancel\\(\\), which ends this process with status 70\n$");
}

#if !defined(__SANITIZE_THREAD__)
TEST(ThreadPool, RunsNothingInAForkedChild) {
  ThreadPool pool(2);
  Tasks tasks;
  ASSERT_TRUE(pool.try_run(0, Tasks::run, &tasks));

  const pid_t child = fork();
  if (child == 0) {
    Tasks more;
    _exit(pool.try_run(0, Tasks::run, &more) ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, MayBeDestroyedInAForkedChild) {
  std::optional<ThreadPool> pool(2);
  Tasks tasks;
  ASSERT_TRUE(pool->try_run(0, Tasks::run, &tasks));

  const pid_t child = fork();
  if (child == 0) {
    pool.reset();
    _exit(0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, CountsNoSpinningThreadsInAForkedChild) {
  ThreadPool pool(2, std::chrono::seconds(1));
  Tasks tasks;
  ASSERT_TRUE(pool.try_run(0, Tasks::run, &tasks));
  while (spinning_threads() == 0) std::this_thread::yield();

  const pid_t child = fork();
  if (child == 0) _exit(spinning_threads());
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}
#endif

TEST(Barrier, DoesNotWaitForMembersThatHaveLeft) {
  const SpinLimits limits{};
  Barrier barrier(limits);
  barrier.reset(3);
  std::thread waiting([&] { barrier.arrive(); });
  barrier.leave();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  barrier.leave();
  waiting.join();
}

TEST(Barrier, WaitsUntilAllMembersHaveLeft) {
  const SpinLimits limits{};
  Barrier barrier(limits);
  barrier.reset(2);
  std::atomic<bool> left{false};
  std::thread other([&] {
    barrier.arrive();
    left = true;
    barrier.leave();
  });
  barrier.arrive();
  barrier.leave();

  barrier.wait_until_empty();

  EXPECT_TRUE(left);
  other.join();
}

// --- parallel_for ---

TEST(ThreadPool, ReportsAPieceThatThrows) {
  ThreadPool pool(4);
  StatusBuffer buffer;

  const gantry_code code = pool.parallel_for(
      64, [](void*, std::int64_t, gantry_status*) -> gantry_code { throw 7; }, nullptr,
      buffer.get());

  EXPECT_EQ(code, GANTRY_BUG);
  EXPECT_EQ(buffer.error(code, "pool").message,
            "piece 0 of 64 throws: exception that is not a std::exception");
}

struct Pieces {
  std::vector<std::atomic<int>> runs;
  std::set<std::int64_t> failing;
  explicit Pieces(std::size_t count) : runs(count) {}

  static gantry_code run(void* data, std::int64_t index, gantry_status* status) {
    auto& self = *static_cast<Pieces*>(data);
    ++self.runs[static_cast<std::size_t>(index)];
    if (!self.failing.contains(index)) return GANTRY_OK;
    gantry_fail(status, GANTRY_CANCELLED, "PIECE", concat("piece ", index).c_str());
    return GANTRY_CANCELLED;
  }
};

TEST(ParallelFor, RunsEachPieceOnce) {
  for (const std::int32_t threads : {1, 4}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {1, 3, 1000}) {
      Pieces pieces(static_cast<std::size_t>(count));
      EXPECT_EQ(pool.parallel_for(count, Pieces::run, &pieces, nullptr), GANTRY_OK);
      for (const auto& runs : pieces.runs) EXPECT_EQ(runs, 1);
    }
  }
}

TEST(ParallelFor, DoesNothingForNoPieces) {
  ThreadPool pool(2);
  EXPECT_EQ(pool.parallel_for(0, nullptr, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(pool.parallel_for(-5, nullptr, nullptr, nullptr), GANTRY_OK);
}

TEST(ParallelFor, ReportsTheFirstFailedPiece) {
  for (const std::int32_t threads : {1, 4}) {
    ThreadPool pool(threads);
    Pieces pieces(100);
    pieces.failing = {7, 8, 50};
    StatusBuffer buffer;

    const gantry_code code = pool.parallel_for(100, Pieces::run, &pieces, buffer.get());

    EXPECT_EQ(code, GANTRY_CANCELLED);
    EXPECT_EQ(buffer.error(code, "").message, "piece 7");
    EXPECT_EQ(buffer.error(code, "").reason, "PIECE");
  }
}

TEST(ParallelFor, RunsNoPieceAfterAFailedOne) {
  ThreadPool pool(1);
  Pieces pieces(3);
  pieces.failing = {1};

  EXPECT_EQ(pool.parallel_for(3, Pieces::run, &pieces, nullptr), GANTRY_CANCELLED);

  EXPECT_EQ(pieces.runs[1], 1);
  EXPECT_EQ(pieces.runs[2], 0);
}

struct TwoFailures {
  // the piece that fails after the other
  std::int64_t last;
  std::atomic<bool> begun[2] = {false, false};

  static gantry_code run(void* data, std::int64_t index, gantry_status* status) {
    auto& self = *static_cast<TwoFailures*>(data);
    self.begun[index] = true;
    while (!self.begun[1 - index]) std::this_thread::yield();
    // The result is the same if the other piece fails later.
    if (index == self.last) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gantry_fail(status, GANTRY_CANCELLED, "PIECE", concat("piece ", index).c_str());
    return GANTRY_CANCELLED;
  }
};

TEST(ParallelFor, ReportsTheLowestFailedPieceInAnyOrder) {
  ThreadPool pool(2);
  for (const std::int64_t last : {0, 1}) {
    TwoFailures pieces{last};
    StatusBuffer buffer;

    const gantry_code code = pool.parallel_for(2, TwoFailures::run, &pieces, buffer.get());

    EXPECT_EQ(code, GANTRY_CANCELLED);
    EXPECT_EQ(buffer.error(code, "").message, "piece 0");
  }
}

TEST(ParallelFor, RunsInnerPiecesOnTheirCallersThread) {
  struct Outer {
    ThreadPool* pool;
    std::atomic<int> inner{0}, moved{0};
  };
  struct Inner {
    Outer* outer;
    std::thread::id thread;
  };
  ThreadPool pool(4);
  Outer outer{.pool = &pool};

  const gantry_code code = pool.parallel_for(
      8,
      [](void* data, std::int64_t, gantry_status* status) {
        auto* self = static_cast<Outer*>(data);
        Inner inner{self, std::this_thread::get_id()};
        return self->pool->parallel_for(
            5,
            [](void* in, std::int64_t, gantry_status*) -> gantry_code {
              auto* piece = static_cast<Inner*>(in);
              ++piece->outer->inner;
              if (std::this_thread::get_id() != piece->thread) ++piece->outer->moved;
              return GANTRY_OK;
            },
            &inner, status);
      },
      &outer, nullptr);

  EXPECT_EQ(code, GANTRY_OK);
  EXPECT_EQ(outer.inner, 40);
  EXPECT_EQ(outer.moved, 0);
}

}  // namespace
}  // namespace gantry
