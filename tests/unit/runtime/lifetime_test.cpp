// SPDX-License-Identifier: Apache-2.0
//
// Handles may be released in any order (core/decisions/0001-life-of-a-runtime.md), and a load leaks
// nothing.
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace gantry {
namespace {

using test::Digits;
using test::digits_file;
using test::make_runtime;

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  if (DIR* dir = opendir(directory)) {
    while (readdir(dir) != nullptr) ++count;
    closedir(dir);
  }
  return count;
}

std::size_t lines_of(const char* file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
}

// Of this process, in KiB, from /proc/self/status: "VmRSS:".
long status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field)) return std::stol(line.substr(field.size()));
  }
  return -1;
}

TEST(Lifetime, TensorMayOutliveItsExecutorModuleAndRuntime) {
  Tensor output;
  std::vector<float> before;
  {
    Runtime runtime = make_runtime();
    const Digits digits(runtime);
    Module model = runtime.load(digits_file()).value();
    Executor executor = Executor::create(runtime, model, {"cpu"}).value();
    ASSERT_TRUE(digits.run(executor, 7));
    output = executor.output(0).value();
    before.assign(output.elements<float>().begin(), output.elements<float>().end());
  }

  EXPECT_THAT(before, testing::ElementsAreArray(output.elements<float>()));
}

TEST(Lifetime, ExecutorMayOutliveItsModuleAndRuntime) {
  std::optional<Digits> digits;
  std::optional<Executor> executor;
  {
    Runtime runtime = make_runtime();
    digits.emplace(runtime);
    executor = Executor::create(runtime, runtime.load(digits_file()).value(), {"cpu"}).value();
  }

  EXPECT_TRUE(digits->run(*executor, 3));
}

TEST(Lifetime, FunctionKeepsItsModule) {
  Function function;
  Tensor a, b, c;
  {
    Runtime runtime = make_runtime();
    function =
        runtime.load(test::golden("tvm-0.12/axpy2_llvm.so").string())->function("axpy2").value();
    for (Tensor* tensor : {&a, &b, &c}) *tensor = runtime.tensor({4}, {2, 32, 1}).value();
  }
  for (std::size_t i = 0; i < 4; ++i)
    a.elements<float>()[i] = 1, b.elements<float>()[i] = static_cast<float>(i);

  const auto called = function(a, b, c);

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_THAT(c.elements<float>(), testing::ElementsAre(1, 3, 5, 7));
}

TEST(Lifetime, SecondRuntimeRunsTheSameFileAfterTheFirstIsClosed) {
  Runtime second = make_runtime();
  const Digits digits(second);
  std::optional<Executor> ours;
  {
    Runtime first = make_runtime();
    Executor theirs = Executor::create(first, first.load(digits_file()).value(), {"cpu"}).value();
    ours = Executor::create(second, second.load(digits_file()).value(), {"cpu"}).value();
    ASSERT_TRUE(digits.run(theirs, 0));
    ASSERT_TRUE(digits.run(*ours, 0));
  }

  EXPECT_TRUE(digits.run(*ours, 1));
}

TEST(Load, ReturnsTheSameModuleForTheSameFile) {
  Runtime runtime = make_runtime();
  const Module once = runtime.load(digits_file()).value();

  const Module again = runtime.load(digits_file()).value();

  EXPECT_EQ(once.get(), again.get());
}

TEST(Load, ReturnsANewModuleAfterEverythingWasReleased) {
  Runtime runtime = make_runtime();
  const Digits digits(runtime);
  { const Module dropped = runtime.load(digits_file()).value(); }

  Executor executor =
      Executor::create(runtime, runtime.load(digits_file()).value(), {"cpu"}).value();

  EXPECT_TRUE(digits.run(executor, 5));
}

TEST(Load, WorksWhileOnlyAFunctionOfAnEarlierLoadIsAlive) {
  Runtime runtime = make_runtime();
  const std::string file = test::golden("tvm-0.12/axpy2_llvm.so").string();
  const Function kept = runtime.load(file)->function("axpy2").value();

  const Function fresh = runtime.load(file)->function("axpy2").value();

  Tensor t[6];
  for (Tensor& tensor : t) {
    tensor = runtime.tensor({1}, {2, 32, 1}).value();
    tensor.elements<float>()[0] = 2;
  }
  ASSERT_TRUE(kept(t[0], t[1], t[2]).ok());
  ASSERT_TRUE(fresh(t[3], t[4], t[5]).ok());
  EXPECT_EQ(t[2].elements<float>()[0], 6);
  EXPECT_EQ(t[5].elements<float>()[0], 6);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The system lists a thread for a moment after it was joined.
std::size_t settled_threads() {
  std::size_t count = entries_of("/proc/self/task");
  for (int unchanged = 0; unchanged < 10;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::size_t now = entries_of("/proc/self/task");
    unchanged = now == count ? unchanged + 1 : 0;
    count = now;
  }
  return count;
}

// The system resources of a process.
struct Holdings {
  std::size_t descriptors = entries_of("/proc/self/fd");
  std::size_t threads = settled_threads();
  std::size_t mappings = lines_of("/proc/self/maps");
  long memory_kib = status_kib("VmRSS:");
};

// The resources after the first cycles equal those after all cycles.
template <class Cycle>
void expect_flat(std::int64_t cycles, Cycle cycle) {
  constexpr std::int64_t warm = 100;
  constexpr long slack_kib = 512;
  for (std::int64_t i = 0; i < warm; ++i) cycle(i);
  malloc_trim(0);
  const Holdings before;

  for (std::int64_t i = warm; i < cycles; ++i) cycle(i);

  malloc_trim(0);
  const Holdings after;
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  // A sanitizer keeps freed memory, and mappings of every thread.
  if (kSanitized) return;
  EXPECT_LE(after.memory_kib, before.memory_kib + slack_kib);
  // The number of mappings of the allocator varies; a leak would add hundreds.
  EXPECT_LE(after.mappings, before.mappings + 8);
}

TEST(Lifetime, TenThousandLoadsLeakNothing) {
  Runtime runtime = make_runtime();
  const Digits digits(runtime);

  expect_flat(kSanitized ? 300 : 10'000, [&](std::int64_t i) {
    Module model = runtime.load(digits_file()).value();
    Executor executor = Executor::create(runtime, model, {"cpu"}).value();
    ASSERT_TRUE(digits.run(executor, i % 360));
  });
}

TEST(Lifetime, ThousandRuntimesLeakNothing) {
  expect_flat(kSanitized ? 200 : 1'000, [&](std::int64_t i) {
    Runtime runtime = make_runtime();
    const Digits digits(runtime);
    Module model = runtime.load(digits_file()).value();
    Executor executor = Executor::create(runtime, model, {"cpu"}).value();
    ASSERT_TRUE(digits.run(executor, i % 360));
  });
}

using LifetimeDeathTest = testing::Test;

// Exits from main and from another thread while runtime, module, executor and tensor are alive.
TEST(LifetimeDeathTest, ProcessExitsCleanlyWithAllObjectsAlive) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const bool from_worker : {false, true}) {
    EXPECT_EXIT(
        {
          auto* runtime = new Runtime(make_runtime());
          auto* executor = new Executor(
              Executor::create(*runtime, runtime->load(digits_file()).value(), {"cpu"}).value());
          const Digits digits(*runtime);
          if (!digits.run(*executor, 0)) std::exit(9);
          // destroyed during exit
          static Tensor output = executor->output(0).value();
          if (from_worker) {
            std::thread([] { std::exit(0); }).join();
          }
          std::exit(0);
        },
        testing::ExitedWithCode(0), "^$");
  }
}

}  // namespace
}  // namespace gantry
