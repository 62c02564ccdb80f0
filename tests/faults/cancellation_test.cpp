// SPDX-License-Identifier: Apache-2.0
//
// pthread_cancel() inside CPU code, and at every cancellation point of libc that a load, a call
// and the destruction of a runtime reach. The process must not end, and no lock may remain held:
// after each, another thread does the same work.
#include <gantry/embed.hpp>
#include "tests/faults/cancelled.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <optional>

namespace {

// The cancellation points that this thread has reached, and the one that cancels it; 0: none.
thread_local int points = 0, point_of_cancellation = 0;

void reach_point() {
  if (point_of_cancellation != 0 && ++points == point_of_cancellation) {
    pthread_cancel(pthread_self());
  }
}

template <class Function>
Function* real(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Precede those of libc, also for libstdc++.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  reach_point();
  return real("open", &open)(path, flags, mode);
}
int close(int descriptor) {
  reach_point();
  return real("close", &close)(descriptor);
}
ssize_t read(int descriptor, void* to, size_t size) {
  reach_point();
  return real("read", &read)(descriptor, to, size);
}
ssize_t write(int descriptor, const void* from, size_t size) {
  reach_point();
  return real("write", &write)(descriptor, from, size);
}
int pthread_join(pthread_t thread, void** result) {
  reach_point();
  return real("pthread_join", &pthread_join)(thread, result);
}
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  reach_point();
  return real("pthread_cond_wait", &pthread_cond_wait)(condition, mutex);
}
}

namespace gantry {
namespace {

using test::cancelled;

const std::filesystem::path& artifact() {
  static const std::filesystem::path path =
      test::build_tree() / "tests/faults/cancelled_artifact.so";
  return path;
}

// ---- in CPU code ------------------------------------------------------------------------------

TEST(CancellationInCpuCode, PassesThroughACall) {
  test::HostWorld world{2};
  const auto node = world.load_whole(artifact());

  EXPECT_EQ(cancelled([&] { (void)test::call_named(node, "wait"); }), PTHREAD_CANCELED);

  EXPECT_EQ(test::call_named(node, "one").value().get().i, 1);
}

TEST(CancellationInCpuCode, PassesThroughAParallelRegion) {
  test::HostWorld world{2};
  const auto node = world.load_whole(artifact());
  (void)test::call_named(node, "region");

  EXPECT_EQ(cancelled([&] { (void)test::call_named(node, "wait_in_region"); }), PTHREAD_CANCELED);

  EXPECT_EQ(test::call_named(node, "region").value().get().i, 1);
  EXPECT_TRUE(world.pool.try_run(
      2, [](void*, std::int32_t, std::int32_t) {}, nullptr));
}

// The linker would keep its lock.
TEST(CancellationInCpuCode, IsDeferredWhileAConstructorRuns) {
  test::HostWorld world{2};
  setenv("GANTRY_TEST_WAIT", "1", 1);

  void* const result = cancelled([&] {
    const auto library = world.open(artifact());
    // The cancellation is pending.
    EXPECT_TRUE(library.ok());
    pthread_testcancel();
  });
  unsetenv("GANTRY_TEST_WAIT");

  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(world.open(artifact()).ok());
}

TEST(CancellationInCpuCode, IsDeferredWhileAPoolIsDestroyed) {
  std::optional<ThreadPool> pool(2);
  ASSERT_TRUE(pool->try_run(
      2, [](void*, std::int32_t, std::int32_t) {}, nullptr));

  void* const result = cancelled([&] {
    // Until the cancellation is pending.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    usleep(60 * 1000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
    pool.reset();
    pthread_testcancel();
  });

  EXPECT_EQ(result, PTHREAD_CANCELED);
}

// ---- at every cancellation point ---------------------------------------------------------------

class CancellationPoint : public ::testing::Test {
 protected:
  CancellationPoint() {
    // A copy, so that each test runs the library's constructors.
    const auto library = dir_ / "liblifetime_plugin.so";
    std::filesystem::copy_file(test::build_tree() / "tests/fake_plugins/liblifetime_plugin.so",
                               library);
    test::ManifestBuilder()
        .id("test.lifetime")
        .library(library.string())
        .key("test.lifetime")
        .set("probe", "never")
        .write_to(dir_ / "plugins/lifetime.yaml");
    test::Words body;
    body.u64(2).str("test.lifetime").str("").str("_import_tree").u64s({0, 0}).u64s({});
    const test::Words container = test::Words().u64(body.size()).bytes(body.bytes());
    test::write_file(model_,
                     test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
  }

  Runtime runtime() const {
    RuntimeOptions options;
    options.plugin_paths = {(dir_ / "plugins").string()};
    options.only_these_plugins = true;
    options.threads = 2;
    return Runtime::create(options).value();
  }

  Result<Module> load_model(const Runtime& runtime) const {
    return Runtime(runtime).load(model_.string());
  }

  // Loads with a plugin and as CPU code, and calls a function of each.
  void use(const Runtime& runtime) const {
    EXPECT_EQ(load_model(runtime)->function("one").value()()->integer().value(), 1);
    const auto code = Runtime(runtime).load(golden_.string());
    EXPECT_TRUE(code.ok()) << code.error().message;
  }

  // Cancels a thread at each point that `body` reaches, and calls `after` each time. Returns the
  // number of points.
  static int sweep(const std::function<void()>& body, const std::function<void()>& after) {
    for (int n = 1;; ++n) {
      struct Shared {
        const std::function<void()>& body;
        int n;
        int reached = 0;
      } shared{body, n};
      pthread_t thread{};
      pthread_create(
          &thread, nullptr,
          [](void* data) -> void* {
            auto& here = *static_cast<Shared*>(data);
            points = 0;
            point_of_cancellation = here.n;
            here.body();
            here.reached = points;
            point_of_cancellation = 0;
            pthread_testcancel();
            return nullptr;
          },
          &shared);
      void* result = nullptr;
      pthread_join(thread, &result);
      after();
      if (result != PTHREAD_CANCELED) return shared.reached;
    }
  }

 private:
  test::TempDir dir_;
  std::filesystem::path model_ = dir_ / "model.so";
  std::filesystem::path golden_ = test::golden("tvm-0.12/axpy2_c.so");
};

TEST_F(CancellationPoint, IsDeferredWhileAPluginIsOpened) {
  // A lock that remains held ends the test.
  alarm(60);
  const Runtime shared = runtime();
  setenv("GANTRY_TEST_WAIT", "1", 1);
  bool is_open = false;

  void* const result = cancelled([&] {
    is_open = load_model(shared).ok();
    pthread_testcancel();
  });
  unsetenv("GANTRY_TEST_WAIT");

  EXPECT_TRUE(is_open);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  use(shared);
  alarm(0);
}

TEST_F(CancellationPoint, OfARuntimeLeavesNoLock) {
  alarm(60);

  const int points = sweep([&] { use(runtime()); }, [&] { use(runtime()); });

  EXPECT_GT(points, 5);
  alarm(0);
}

TEST_F(CancellationPoint, OfASharedRuntimeLeavesNoLock) {
  alarm(60);
  Runtime shared = runtime();

  const int points = sweep(
      [&] {
        shared = runtime();
        use(shared);
      },
      [&] { use(shared); });

  EXPECT_GT(points, 5);
  alarm(0);
}

}  // namespace
}  // namespace gantry
