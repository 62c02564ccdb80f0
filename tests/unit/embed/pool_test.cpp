// SPDX-License-Identifier: Apache-2.0
//
// Pools of threads of the C API, which runtimes share.
#include "tests/unit/embed/embedded.hpp"

#include <gantry/threads.h>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "core/engine/native/thread_pool.hpp"

namespace gantry {
namespace {

using test::BuiltPlugins;
using test::done;
using test::embed;
using test::expect_error;
using test::new_runtime;

Result<ObjectRef> new_pool(std::int32_t threads, std::uint32_t flags = 0) {
  const gantry_pool_options options{sizeof options, flags, threads};
  gantry_object* made = nullptr;
  GANTRY_CHECK(
      done([&](gantry_status* status) { return embed().pool_new(&options, &made, status); }));
  return ObjectRef::adopt(made);
}

Result<ObjectRef> runtime_with(const ObjectRef& pool) {
  BuiltPlugins built;
  built.options.threads = 0;
  built.options.pool = pool.get();
  return new_runtime(&built.options);
}

const gantry_threads& threads_of(const gantry_host* host) {
  return *static_cast<const gantry_threads*>(host->get_extension(host, GANTRY_THREADS_1));
}

// The threads that have run a piece. Each piece waits until `expected` threads have begun one, so
// no thread can run all.
struct Meeting {
  std::size_t expected;
  std::mutex mutex{};
  std::set<std::thread::id> threads{};

  static gantry_code join(void* self, std::int64_t, gantry_status*) {
    Meeting& meeting = *static_cast<Meeting*>(self);
    for (;;) {
      const std::lock_guard lock(meeting.mutex);
      meeting.threads.insert(std::this_thread::get_id());
      if (meeting.threads.size() >= meeting.expected) return GANTRY_OK;
    }
  }
};

TEST(EmbedPool, IsSharedByRuntimes) {
  const ObjectRef pool = new_pool(2).value();
  const ObjectRef first = runtime_with(pool).value(), second = runtime_with(pool).value();
  std::set<std::thread::id> all;

  for (const ObjectRef& runtime : {first, second}) {
    const gantry_host* const host = embed().host(runtime.get());
    EXPECT_EQ(threads_of(host).thread_count(host), 2);
    Meeting meeting{2};
    ASSERT_EQ(threads_of(host).parallel_for(host, 2, Meeting::join, &meeting, nullptr), GANTRY_OK);
    all.insert(meeting.threads.begin(), meeting.threads.end());
  }

  // that of the test and the pool's only worker
  EXPECT_EQ(all.size(), 2u);
}

TEST(EmbedPool, IsKeptByItsRuntimes) {
  ObjectRef pool = new_pool(3).value();
  const ObjectRef runtime = runtime_with(pool).value();

  pool = ObjectRef();

  const gantry_host* const host = embed().host(runtime.get());
  Meeting meeting{3};
  EXPECT_EQ(threads_of(host).parallel_for(host, 3, Meeting::join, &meeting, nullptr), GANTRY_OK);
}

TEST(EmbedPool, HasAThreadForEachCpuThatTheProcessMayUse) {
  gantry_object* made = nullptr;
  test::expect_ok(
      done([&](gantry_status* status) { return embed().pool_new(nullptr, &made, status); }));
  const ObjectRef pool = ObjectRef::adopt(made);
  EXPECT_EQ(pool.get()->kind, GANTRY_POOL);
  const ObjectRef runtime = runtime_with(pool).value();
  const gantry_host* const host = embed().host(runtime.get());

  EXPECT_EQ(threads_of(host).thread_count(host), usable_cpus());
}

TEST(EmbedPool, RunsWithoutSpinning) {
  const ObjectRef pool = new_pool(2, GANTRY_POOL_NO_SPIN).value();
  const ObjectRef runtime = runtime_with(pool).value();
  const gantry_host* const host = embed().host(runtime.get());
  Meeting meeting{2};

  EXPECT_EQ(threads_of(host).parallel_for(host, 2, Meeting::join, &meeting, nullptr), GANTRY_OK);
}

TEST(EmbedPool, RefusesANumberOfThreadsThatIsNone) {
  for (const std::int32_t threads : {-1, 1025}) {
    auto made = new_pool(threads);
    expect_error(made.ok() ? Status() : Status(std::move(made).failure()), Code::invalid,
                 "ARGUMENT_RANGE",
                 concat("pool_new: threads is ", threads, ", expected 0 to 1024"));
  }
}

TEST(EmbedPool, RefusesUnknownFlagsAndNull) {
  auto made = new_pool(1, 2);
  expect_error(made.ok() ? Status() : Status(std::move(made).failure()), Code::unsupported, "FLAGS",
               "gantry_pool_options: flags are 0x2, this version has 0x1");
  expect_error(
      done([](gantry_status* status) { return embed().pool_new(nullptr, nullptr, status); }),
      Code::invalid, "ARGUMENT_KIND", "pool_new: pool is NULL");
}

TEST(EmbedPool, IsNotGivenTogetherWithThreads) {
  const ObjectRef pool = new_pool(2).value();
  BuiltPlugins built;
  built.options.threads = 4;
  built.options.pool = pool.get();
  auto made = new_runtime(&built.options);

  expect_error(made.ok() ? Status() : Status(std::move(made).failure()), Code::invalid, "ARGUMENT",
               "runtime_new: threads is 4, and a pool is given, whose threads the runtime uses");
}

TEST(EmbedPool, IsRequiredToBeAPool) {
  const ObjectRef pool = new_pool(2).value();
  const ObjectRef runtime = runtime_with(pool).value();
  auto made = runtime_with(runtime);

  expect_error(made.ok() ? Status() : Status(std::move(made).failure()), Code::invalid,
               "ARGUMENT_KIND", "runtime_new: the object is of kind 96, expected a pool");
}

TEST(EmbedPool, IsRefusedInAForkedChildAndReleasedThere) {
  ObjectRef pool = new_pool(2).value();
  const pid_t child = fork();
  if (child == 0) {
    const auto made = runtime_with(pool);
    const bool refused = !made.ok() && made.error().reason == "PROCESS_FORKED";
    pool = ObjectRef();
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gantry
