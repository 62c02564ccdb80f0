// SPDX-License-Identifier: Apache-2.0
//
// Threads and lifetime: which calls into a plugin may overlap, and which call is the last. The host
// cannot detect races inside a plugin; the thread sanitizer checks the plugins of this tree (preset
// tsan).
#include "tests/faults/plugin_at_work.hpp"
#include "tests/support/built_runtime.hpp"

#include <gantry/embed/executor.hpp>

#include <gmock/gmock.h>

#include <dlfcn.h>

#include <algorithm>
#include <any>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

namespace gantry {
namespace {

using test::breaker;
using Plugin = test::PluginAtWork;
using namespace std::chrono_literals;

constexpr gantry_dtype int32{0, 32, 1};

// Two threads wait for each other here.
class Rendezvous {
 public:
  bool meet() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    both_.notify_all();
    return both_.wait_for(lock, 20s, [&] { return arrived_ >= 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable both_;
  int arrived_ = 0;
};

void on_two_threads(const std::function<void()>& body) {
  std::thread other(body);
  body();
  other.join();
}

class PluginInParallel : public Plugin, public testing::WithParamInterface<const char*> {};

// The core holds no lock while it calls a plugin: two threads of the program can be in one
// function.
TEST_P(PluginInParallel, IsCalledFromTwoThreadsAtOnce) {
  Runtime made = runtime();
  const Module module = made.load(file()).value();
  const Function function = module.function("call").value();
  const std::int64_t shape[] = {4};
  const Tensor there = made.tensor(shape, int32, "breaker").value();
  Rendezvous rendezvous;
  std::atomic<int> met = 0, missed = 0;
  breaker().inside = [&](const char* where) {
    if (where == std::string_view(GetParam())) ++(rendezvous.meet() ? met : missed);
  };

  on_two_threads([&] {
    const Tensor here = made.tensor(shape, int32).value();
    EXPECT_TRUE(module.functions().ok());
    EXPECT_TRUE(module.function("call").ok());
    EXPECT_TRUE(function().ok());
    EXPECT_TRUE(made.tensor(shape, int32, "breaker").ok());
    EXPECT_TRUE(made.copy(there, here).ok());
    EXPECT_TRUE(made.devices().ok());
  });

  breaker().inside = {};
  EXPECT_GE(met, 2);
  EXPECT_EQ(missed, 0);
}

INSTANTIATE_TEST_SUITE_P(In, PluginInParallel,
                         testing::Values("get_function", "list_functions", "call", "device.count",
                                         "device.attribute", "device.alloc", "device.copy",
                                         "device.free"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '.' || c == '_'; }, 'X');
                           return name;
                         });

TEST_F(Plugin, WithTheParallelFlagLoadsPayloadsInParallel) {
  breaker().loader_flags = GANTRY_LOADER_PARALLEL;
  Runtime made = runtime();
  ASSERT_TRUE(made.load(file()).ok()) << "opens the plugin";
  const std::vector<std::string> files = {file(), file()};
  Rendezvous rendezvous;
  std::atomic<int> met = 0, next = 0;
  breaker().inside = [&](const char* where) {
    if (where == std::string_view("load_binary") && rendezvous.meet()) ++met;
  };

  on_two_threads([&] { EXPECT_TRUE(made.load(files[static_cast<std::size_t>(next++)]).ok()); });

  breaker().inside = {};
  EXPECT_EQ(met, 2);
}

TEST_F(Plugin, WithoutTheParallelFlagLoadsOnePayloadAtATime) {
  Runtime made = runtime();
  ASSERT_TRUE(made.load(file()).ok()) << "opens the plugin";
  std::vector<std::string> files;
  for (int i = 0; i < 8; ++i) files.push_back(file());
  std::atomic<int> within = 0, max = 0, next = 0, loads = 0;
  breaker().inside = [&](const char* where) {
    if (where != std::string_view("load_binary")) return;
    const int now = ++within;
    if (now > max) max = now;
    std::this_thread::sleep_for(5ms);
    --within;
    ++loads;
  };

  on_two_threads([&] {
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(made.load(files[static_cast<std::size_t>(next++)]).ok());
  });

  breaker().inside = {};
  EXPECT_EQ(loads, 8);
  EXPECT_EQ(max, 1);
}

// Functions of an executor that record the calling thread.
struct Serial {
  std::atomic<int> within = 0, max = 0, calls = 0;
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> strangers = 0;
}* serial = nullptr;

gantry_code serial_call(void*, const gantry_env*, const gantry_value*, std::int32_t,
                        gantry_value* result, gantry_status*) {
  const int now = ++serial->within;
  if (now > serial->max) serial->max = now;
  if (std::this_thread::get_id() != serial->caller) ++serial->strangers;
  ++serial->calls;
  result->kind = GANTRY_INT;
  result->i = 1;
  --serial->within;
  return GANTRY_OK;
}
constexpr gantry_function_table kSerialFunction = {.struct_size = sizeof(gantry_function_table),
                                                   .call = serial_call};
constexpr gantry_module_table kSerialModule = {
    .struct_size = sizeof(gantry_module_table),
    .flags = GANTRY_MODULE_SERIAL,
    .type_name = "serial",
    .destroy = [](void*) {},
    .get_function = [](void*, gantry_bytes, gantry_function* out, gantry_status*) -> gantry_code {
      *out = {nullptr, &kSerialFunction};
      return GANTRY_OK;
    }};

gantry_code make_serial(gantry_value* result, gantry_status* status) {
  const gantry_host* host = breaker().host;
  return host->module_new(host, nullptr, {nullptr, &kSerialModule}, 0, result, status);
}

// The owner of an executor selects the thread; the core must not call it from any other.
TEST_F(Plugin, WithASerialModuleIsCalledOnlyByTheExecutorsThread) {
  Serial noted;
  serial = &noted;
  breaker().call = make_serial;
  Runtime made = runtime();
  const Module module = made.load(file()).value();

  auto executor = Executor::create(made, module, {"cpu"}, "call");
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const std::int64_t shape[] = {4};
  const Tensor input = made.tensor(shape, int32).value();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(executor->set_input("x", input).ok());
    EXPECT_TRUE(executor->run().ok());
    EXPECT_FALSE(executor->output(0).ok()) << "a number is not a tensor";
  }

  EXPECT_GE(noted.calls, 30);
  EXPECT_EQ(noted.max, 1);
  EXPECT_EQ(noted.strangers, 0);
}

// Objects that an application can hold after it has released the runtime.
struct Kept {
  const char* name;
  std::any (*keep)(Runtime& runtime, const Module& module);
};
class PluginThatIsStillInUse : public Plugin, public testing::WithParamInterface<Kept> {};

TEST_P(PluginThatIsStillInUse, IsDestroyedAfterItsLastObject) {
  std::mutex mutex;
  std::vector<std::string> seen;
  breaker().inside = [&](const char* where) {
    const std::lock_guard lock(mutex);
    seen.emplace_back(where);
  };
  std::any kept;
  {
    Runtime made = runtime();
    const Module module = made.load(file()).value();
    kept = GetParam().keep(made, module);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "destroy"), 0) << "it is in use";

  kept.reset();

  EXPECT_EQ(std::count(seen.begin(), seen.end(), "destroy"), 1);
  EXPECT_EQ(seen.back(), "destroy");
}

INSTANTIATE_TEST_SUITE_P(
    By, PluginThatIsStillInUse,
    testing::Values(Kept{"AModule",
                         [](Runtime&, const Module& module) -> std::any { return module; }},
                    Kept{"AFunction",
                         [](Runtime&, const Module& module) -> std::any {
                           return module.function("call").value();
                         }},
                    Kept{"ATensor",
                         [](Runtime& made, const Module&) -> std::any {
                           const std::int64_t shape[] = {4};
                           return made.tensor(shape, int32, "breaker").value();
                         }},
                    Kept{"AModuleItMade",
                         [](Runtime&, const Module& module) -> std::any {
                           breaker().call = make_serial;
                           return module.function("call").value()().value();
                         }},
                    Kept{"AFunctionItMade",
                         [](Runtime&, const Module& module) -> std::any {
                           breaker().call = [](gantry_value* result, gantry_status* status) {
                             const gantry_host* host = breaker().host;
                             return host->function_new(host, nullptr, {nullptr, &kSerialFunction},
                                                       0, result, status);
                           };
                           return module.function("call").value()().value();
                         }},
                    Kept{"AListOfWhatItMade",
                         [](Runtime&, const Module& module) -> std::any {
                           breaker().call = [](gantry_value* result, gantry_status* status) {
                             const gantry_host* host = breaker().host;
                             gantry_value made{};
                             make_serial(&made, status);
                             const gantry_code code =
                                 host->items_new(host, GANTRY_ARRAY, &made, 1, result, status);
                             gantry_release(made.object);
                             return code;
                           };
                           return module.function("call").value()().value();
                         }}),
    [](const auto& test) { return test.param.name; });

// A plugin's library stays loaded: its code may be on a stack, in a thread or in a driver's
// callback. The library of an artifact is unloaded.
TEST(PluginLibrary, IsNeverUnloaded) {
  const std::string artifact = test::golden("tvm-0.12/digits_mlp_llvm.so").string();
  const auto is_mapped = [](const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  };
  {
    Runtime made = test::new_runtime();
    const Module module = made.load(artifact).value();
    EXPECT_TRUE(is_mapped(GANTRY_GRAPH_PLUGIN));
    EXPECT_TRUE(is_mapped(artifact));
  }

  EXPECT_TRUE(is_mapped(GANTRY_GRAPH_PLUGIN));
  EXPECT_FALSE(is_mapped(artifact));
}

}  // namespace
}  // namespace gantry
