// SPDX-License-Identifier: Apache-2.0
//
// exit(), fork() and pthread_cancel() around plugins. Each process that ends is a child: the
// statement of a death test in "threadsafe" style runs in a new one.
#include <gantry/embed.hpp>
#include "core/base/thread_end.hpp"
#include "tests/faults/cancelled.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/words.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

namespace gantry {
namespace {

using test::cancelled;
using test::Words;
using ::testing::ExitedWithCode;

// A directory with the plugin of lifetime_plugin.cpp and files for it.
class Lifetime {
 public:
  Lifetime() {
    const auto library = test::build_tree() / "tests/fake_plugins/liblifetime_plugin.so";
    test::ManifestBuilder()
        .id("test.lifetime")
        .library(library.string())
        .key("test.lifetime")
        .set("probe", "never")
        .write_to(dir_ / "plugins/lifetime.yaml");
  }

  Runtime runtime() const {
    RuntimeOptions options;
    options.plugin_paths = {(dir_ / "plugins").string()};
    options.only_these_plugins = true;
    options.threads = 2;
    auto made = Runtime::create(options);
    if (!made.ok()) fail(made.error());
    return std::move(*made);
  }
  std::string file(std::string_view order = "") const {
    Words body;
    body.u64(2).str("test.lifetime").str(order).str("_import_tree").u64s({0, 0}).u64s({});
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    const auto path = dir_ / concat("model", order, ".so");
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  // Assertions do not work in a child that ends with exit(); the death test matches this text.
  [[noreturn]] static void fail(const Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.reason.c_str(), error.message.c_str());
    _exit(1);
  }
  template <class T>
  static T value(Result<T> result) {
    if (!result.ok()) fail(result.error());
    return std::move(*result);
  }

 private:
  test::TempDir dir_;
};

struct Held {
  std::optional<Runtime> runtime;
  Module module;
  Function function;

  explicit Held(const Lifetime& lifetime) : runtime(lifetime.runtime()) {
    module = Lifetime::value(runtime->load(lifetime.file()));
    function = Lifetime::value(module.function("one"));
    Lifetime::value(function());
  }
};

class ProcessEnd : public testing::Test {
 protected:
  ProcessEnd() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  Lifetime lifetime;
};
using PluginThatCallsExit = ProcessEnd;

TEST_F(ProcessEnd, OfAGlobalRuntimeCallsNoPlugin) {
  EXPECT_EXIT(
      {
        // Like an object of namespace scope: created before the plugin is opened, destroyed after
        // it.
        static std::optional<Held> global;
        global.emplace(lifetime);
        std::exit(0);
      },
      ExitedWithCode(0), "^$");
}

TEST_F(ProcessEnd, KeepsTheExitStatusAndPrintsNothing) {
  for (const int wanted : {0, 1, 3, 255}) {
    EXPECT_EXIT(
        {
          static std::optional<Held> global;
          global.emplace(lifetime);
          std::exit(wanted);
        },
        ExitedWithCode(wanted), "^$");
  }
}

TEST_F(ProcessEnd, OfAStaticModuleThatIsCreatedLaterReportsNothing) {
  EXPECT_EXIT(
      {
        static const Held held(lifetime);
        std::exit(0);
      },
      ExitedWithCode(0), "^$");
}

// Calls functions in a static destructor, which runs while the process exits.
struct CallsAtTheEnd {
  std::optional<Held> held;
  ~CallsAtTheEnd() {
    const auto called = held->function();
    std::fprintf(stderr, "call: %s\n", called.ok() ? "OK" : called.error().reason.c_str());
    const auto found = held->module.function("one");
    std::fprintf(stderr, "look-up: %s\n", found.ok() ? "OK" : found.error().reason.c_str());
  }
};

TEST_F(ProcessEnd, OnAnotherThreadEndsCallsWithAnError) {
  EXPECT_EXIT(
      {
        static CallsAtTheEnd at_the_end;
        at_the_end.held.emplace(lifetime);
        std::thread([] { std::exit(0); }).join();
      },
      ExitedWithCode(0), "^call: PROCESS_ENDS\nlook-up: PROCESS_ENDS\n$");
}

TEST_F(ProcessEnd, OfAGlobalRuntimeWithoutModulesCallsNoPlugin) {
  EXPECT_EXIT(
      {
        static std::optional<Runtime> global;
        global = lifetime.runtime();
        Lifetime::value(global->load(lifetime.file()));
        std::exit(0);
      },
      ExitedWithCode(0), "^$");
}

// Code of the plugin that runs during a load may create static objects.
TEST_F(ProcessEnd, PrecedesStaticObjectsThatAreOlderThanTheLastLoad) {
  EXPECT_EXIT(
      {
        static const Held first(lifetime);
        static CallsAtTheEnd at_the_end;
        at_the_end.held = first;
        Lifetime::value(Runtime(*first.runtime).load(lifetime.file("other")));
        std::exit(0);
      },
      ExitedWithCode(0), "^call: PROCESS_ENDS\nlook-up: PROCESS_ENDS\n$");
}

TEST_F(PluginThatCallsExit, IsNamedAndTheStatusIsNotZero) {
  EXPECT_EXIT(
      {
        const Held held(lifetime);
        (void)Lifetime::value(held.module.function("exit"))();
      },
      ExitedWithCode(70),
      "^gantry: plugin test.lifetime called exit\\(\\), which ends this process with status 70\n$");
}

using PluginThatEndsItsThread = ProcessEnd;

TEST_F(PluginThatEndsItsThread, IsNamedIfTheThreadMustLast) {
  for (const char* const order : {"leave", "cancel"}) {
    EXPECT_EXIT(
        {
          keep_this_thread();
          const Held held(lifetime);
          (void)Runtime(*held.runtime).load(lifetime.file(order));
          _exit(0);
        },
        ExitedWithCode(70),
        "^gantry: plugin test.lifetime ended a thread in load_binary by pthread_exit\\(\\) or "
        "pthread_cancel\\(\\), which ends this process with status 70\n$");
  }
}

// A thread that a plugin has started, and a thread-local object that it has created in a thread of
// the application, may use its code after the last runtime has ended.
TEST(PluginLibrary, IsThereForItsThreadsAndThreadLocalObjects) {
  const Lifetime lifetime;
  std::thread([&] {
    {
      const Held held(lifetime);
      Lifetime::value(Lifetime::value(held.module.function("start"))());
    }
    // The object is destroyed here, without a runtime.
  }).join();

  const Held later(lifetime);
  EXPECT_EQ(later.module.function("join").value()()->integer().value(), 2);
}

// Runs `body`, which must return, in a forked child.
//
// returns  exit status of the child: 0, unless `body` ends the child with another
int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

class Fork : public testing::Test {
 protected:
  Lifetime lifetime;
};

TEST_F(Fork, ChildCallsNoPluginAndEnds) {
  std::optional<Held> held(lifetime);

  const int status = in_child([&] {
    const auto called = held->function();
    const auto loaded = held->runtime->load(lifetime.file("other"));
    const bool refused = !called.ok() && called.error().reason == "PROCESS_FORKED" &&
                         !loaded.ok() && loaded.error().reason == "PROCESS_FORKED";
    held.reset();
    if (!refused) _exit(2);
  });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(held->function()->integer().value(), 1) << "the parent continues";
}

TEST_F(Fork, ChildOpensNoPlugin) {
  const Held held(lifetime);

  const int status = in_child([&] {
    const auto loaded = lifetime.runtime().load(lifetime.file("other"));
    if (loaded.ok() || loaded.error().reason != "PROCESS_FORKED") _exit(2);
    if (!loaded.error().message.text().starts_with("plugin test.lifetime")) _exit(3);
  });

  EXPECT_EQ(status, 0);
}

TEST_F(Fork, ChildThatExecsIsUndisturbed) {
  const Held held(lifetime);

  const int status = in_child([] { execl("/bin/sh", "sh", "-c", "exit 5", nullptr); });

  EXPECT_EQ(status, 5);
  EXPECT_EQ(held.function()->integer().value(), 1);
}

TEST_F(Fork, BeforePluginsAreOpenedChangesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Runtime runtime = lifetime.runtime();
        const int status = in_child([&] {
          const Held held(lifetime);
          if (held.function()->integer().value() != 1) _exit(2);
        });
        std::exit(status);
      },
      ExitedWithCode(0), "^$");
}

class Cancellation : public testing::Test {
 protected:
  Lifetime lifetime;
};

TEST_F(Cancellation, PassesThroughACall) {
  const Held held(lifetime);
  const Function sleep = held.module.function("sleep").value();

  EXPECT_EQ(cancelled([&] { (void)sleep(); }), PTHREAD_CANCELED);

  EXPECT_EQ(held.function()->integer().value(), 1);
}

TEST_F(Cancellation, PassesThroughALoad) {
  const Held held(lifetime);

  EXPECT_EQ(cancelled([&] { (void)Runtime(*held.runtime).load(lifetime.file("sleep")); }),
            PTHREAD_CANCELED);

  const auto again = Runtime(*held.runtime).load(lifetime.file("again"));
  EXPECT_TRUE(again.ok()) << again.error().message;
}

TEST_F(Cancellation, IsDeferredWhileAModuleIsDestroyed) {
  const Held held(lifetime);
  const Function destroys = held.module.function("destroys").value();
  const std::int64_t before = destroys()->integer().value();
  std::optional<Module> module = Runtime(*held.runtime).load(lifetime.file("other")).value();

  void* const result = cancelled([&] {
    // Until the cancellation is pending.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    usleep(60 * 1000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
    module.reset();
    pthread_testcancel();
  });

  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(destroys()->integer().value(), before + 1);
}

}  // namespace
}  // namespace gantry
