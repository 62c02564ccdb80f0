// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library_context.hpp"
#include "core/engine/native/packed/packed_call.hpp"
#include "core/engine/native/parallel_launch.hpp"
#include "core/engine/native/runtime_functions.hpp"

#include <gtest/gtest.h>

#include <pthread.h>

#include <string>
#include <thread>

namespace gantry {
namespace {

template <class Function>
Function* runtime_function(std::string_view name) {
  ExporterFacts facts;
  facts.dialect = Dialect::packed;
  return reinterpret_cast<Function*>(find_runtime_function(name, facts)->address);
}

TEST(HostThreadState, ReportsErrorsOutsideOfCalls) {
  EXPECT_EQ(runtime_function<void*(int, int, std::uint64_t, int, int)>("TVMBackendAllocWorkspace")(
                1, 0, 64, 2, 32),
            nullptr);
  EXPECT_EQ(here().error.message,
            "TVMBackendAllocWorkspace is called on a thread that no gantry call has entered");
  EXPECT_EQ(runtime_function<int(int, int, void*)>("TVMBackendFreeWorkspace")(1, 0, nullptr), -1);
  EXPECT_EQ(parallel_launch(nullptr, nullptr, 0), -1);
  EXPECT_EQ(call_from_cpu_code(nullptr, nullptr, nullptr, 0, nullptr, nullptr), -1);
  EXPECT_EQ(here().error.message, "TVMFuncCall receives a handle that is not a function");
  void* function = nullptr;
  EXPECT_EQ(get_function_from_context(nullptr, "f", &function), -1);
  EXPECT_EQ(here().error.message,
            "function \"f\" is looked up by CPU code whose module context is not set");
}

// The destructor of another key may run CPU code when the first one has freed the state.
TEST(HostThreadState, IsAbsentAfterItWasFreed) {
  static pthread_key_t key;
  static int runs;
  static bool is_absent;
  runs = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 is_absent = detail::host_thread == nullptr;
                                 // The second run comes after the destructors of all other keys.
                                 if (++runs == 1) pthread_setspecific(key, value);
                               }),
            0);

  std::thread([] {
    here();
    pthread_setspecific(key, &key);
  }).join();

  pthread_key_delete(key);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(is_absent);
}

TEST(HostThreadState, HasAStreamForOneDevice) {
  int of_call = 0, set = 0;
  const gantry_env env{{4, 1}, &of_call, nullptr, nullptr};
  CpuCall current;
  current.env = &env;
  CpuThread thread;
  thread.call = &current;
  thread.streams = {{{6, 3}, &set}};

  EXPECT_EQ(stream_here(thread, {4, 1}), &of_call);
  EXPECT_EQ(stream_here(thread, {6, 3}), &set);
  for (const gantry_device_id other : {gantry_device_id{4, 2}, gantry_device_id{5, 1},
                                       gantry_device_id{6, 4}, gantry_device_id{7, 3}}) {
    EXPECT_EQ(stream_here(thread, other), nullptr) << other.type << ':' << other.index;
  }
}

// A call on a device of the type begins with its device and restores the previous one.
TEST(HostThreadState, HasADeviceOfEachTypeForACall) {
  const gantry_env on_cpu{{1, 0}, nullptr, nullptr, nullptr},
      on_2{{4, 2}, nullptr, nullptr, nullptr}, on_3{{4, 3}, nullptr, nullptr, nullptr};
  const auto current = [] { return current_index(here(), 4); };
  const std::int32_t before = current();
  select_device(here(), {4, 1});
  {
    const CpuScope outer({}, on_2);
    EXPECT_EQ(current(), 2);
    select_device(here(), {4, 5});
    {
      const CpuScope inner({}, on_cpu);
      EXPECT_EQ(current(), 5);
      select_device(here(), {4, 6});
    }
    EXPECT_EQ(current(), 6);
    {
      const CpuScope inner({}, on_3);
      EXPECT_EQ(current(), 3);
      select_device(here(), {4, 7});
      EXPECT_EQ(current(), 7);
    }
    EXPECT_EQ(current(), 6);
  }
  EXPECT_EQ(current(), 1);
  select_device(here(), {4, before});
}

TEST(HostThreadState, KeepsAMessageOfAnyLength) {
  const std::string text(100'000, 'x');
  runtime_function<void(const char*)>("TVMAPISetLastError")(text.c_str());
  EXPECT_EQ(here().error.message, text);
}

}  // namespace
}  // namespace gantry
