// SPDX-License-Identifier: Apache-2.0
//
// Cases 51, 63 to 70 and 77 of README.md: functions that run on the device, called as compiled CPU
// code calls them.
#include "core/engine/module/module.hpp"
#include "under_test.hpp"

#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>

#include <cstring>
#include <thread>

namespace gantry::conformance {
namespace {

class DeviceCall : public DeviceTest {
 protected:
  // The module of the artifact whose functions run on the device.
  Module device_module() {
    std::vector<Module> left = {runtime->load(path_of(GetParam())).value()};
    while (!left.empty()) {
      const Module module = std::move(left.back());
      left.pop_back();
      if (module.type_key().value() == GetParam().type_key) return module;
      const std::vector<Module> imports = module.imports().value();
      left.insert(left.end(), imports.begin(), imports.end());
    }
    ADD_FAILURE() << path_of(GetParam()) << " imports no " << GetParam().type_key;
    return {};
  }
  Tensor host_vector(std::int64_t size, float value) {
    const std::int64_t shape[] = {size};
    Tensor host = runtime->tensor(shape, {2, 32, 1}).value();
    for (float& element : host.elements<float>()) element = value;
    return host;
  }
};

// 51: c = a + 2 b; the size is not a multiple of a work-group size.
TEST_P(DeviceCall, ComputesTheResult) {
  const Function function = axpy2();
  for (const std::int64_t size : {1, 63, 64, 65, 1000, 100003}) {
    const Tensor a = vector(size, 1, 1), b = vector(size, 100, 3), c = vector(size, -1, 0);

    const auto called = function(a, b, c);

    ASSERT_TRUE(called.ok()) << called.error().message;
    const std::vector<float> found = elements(c), as = elements(a), bs = elements(b);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_FLOAT_EQ(found[i], as[i] + 2 * bs[i]) << i << " of " << size;
  }
}

TEST_P(DeviceCall, RunsOnEachDeviceOfItsKind) {
  const Function function = axpy2();
  for (std::int32_t i = 0; i < count(); ++i) {
    const Tensor a = vector(100, 1, 1, i), b = vector(100, 2, 2, i), c = vector(100, 0, 0, i);

    const auto called = function(a, b, c);

    ASSERT_TRUE(called.ok()) << i << ": " << called.error().message;
    EXPECT_EQ(elements(c)[99], 100 + 2 * 200) << i;
  }
}

// The call enqueues its work into the stream of its env: it is complete when that stream is.
TEST_P(DeviceCall, RunsInTheStreamOfItsEnv) {
  const TestStream stream(device);
  if (stream.is_absent()) GTEST_SKIP() << GetParam().kind << " has its default stream only";
  const Function function = axpy2();
  const Tensor a = vector(5000, 1, 1), b = vector(5000, 2, 2), c = vector(5000, 0, 0);
  const gantry_env env{{device.id.type, 0}, stream.get(), nullptr, nullptr};
  gantry_value args[3] = {};
  const Tensor* const tensors[] = {&a, &b, &c};
  for (std::size_t i = 0; i < 3; ++i)
    args[i].kind = GANTRY_TENSOR, args[i].object = tensors[i]->get();

  const auto called = function.call(args, &env);
  ASSERT_TRUE(called.ok()) << called.error().message;
  ASSERT_TRUE(synchronize(stream.get()).ok());

  EXPECT_EQ(elements(c)[4999], 5000 + 2 * 10000);
}

// 65
TEST_P(DeviceCall, RefusesAWrongNumberOfArguments) {
  const Function function = axpy2();
  const Tensor a = vector(100, 1, 1), b = vector(100, 2, 2), c = vector(100, 0, 0);

  // TVM's code reads an argument before it checks its kind, so only the number of arguments is
  // wrong here.
  for (const auto& refused : {function(a, b), function(a, b, c, c), function()}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid) << refused.error().message;
    EXPECT_FALSE(refused.error().message.empty());
  }
  // A valid call still succeeds.
  ASSERT_TRUE(function(a, b, c).ok());
  EXPECT_EQ(elements(c)[0], 1 + 2 * 2);
}

TEST_P(DeviceCall, RefusesATensorOfAnotherDevice) {
  if (device.id.type == cpu_device_type) GTEST_SKIP() << "there is one CPU";
  const Function function = axpy2();
  const Tensor a = vector(100, 1, 1), c = vector(100, 0, 0);
  const std::int64_t shape[] = {100};
  const Tensor elsewhere = runtime->tensor(shape, {2, 32, 1}, "cpu").value();

  const auto refused = function(a, elsewhere, c);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid) << refused.error().message;
}

// 66: data that begin between two elements, or at an address below the alignment that compilers
// assume. A device that accepts them computes correct results.
TEST_P(DeviceCall, AcceptsOrRefusesUnalignedData) {
  const Function function = axpy2();
  const Tensor a = vector(101, 1, 1), b = vector(101, 2, 2), c = vector(101, 0, 0);
  const bool is_address = (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) == 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> locations = {{0, 4}, {0, 2}, {0, 1}};
  // TVM's CPU code for the CPU does not check addresses. GPUs detect them in a kernel, after which
  // the device is unusable.
  if (is_address && device.id.type != cpu_device_type) locations.emplace_back(4, 0);
  for (const auto& [address, offset] : locations) {
    gantry_tensor shifted[3];
    gantry_value args[3] = {};
    std::int64_t size = 100;
    const Tensor* const whole[] = {&a, &b, &c};
    for (std::size_t i = 0; i < 3; ++i) {
      shifted[i] = *whole[i]->dlpack();
      shifted[i].data = static_cast<char*>(shifted[i].data) + address;
      shifted[i].byte_offset += offset;
      shifted[i].shape = &size;
      args[i].kind = GANTRY_TENSOR_REF;
      args[i].p = &shifted[i];
    }

    const auto called = function.call(args);

    ASSERT_TRUE(synchronize().ok()) << address << ", " << offset;
    if (called.ok()) {
      ASSERT_EQ((address + offset) % 4, 0u)
          << "a device accepts a float at address " << address + offset;
      EXPECT_EQ(elements(c)[1], 2 + 2 * 4) << address << ", " << offset;
      continue;
    }
    EXPECT_EQ(called.error().code, Code::invalid) << called.error().message;
    EXPECT_FALSE(called.error().message.empty());
  }
  // A valid call still succeeds.
  ASSERT_TRUE(function(a, b, c).ok());
  EXPECT_EQ(elements(c)[0], 1 + 2 * 2);
}

// 63
TEST_P(DeviceCall, DoesNotFindUnknownNames) {
  if (*GetParam().type_key == 0) GTEST_SKIP() << "the host's own code, tested in unit_native";
  const Module module = device_module();
  ASSERT_TRUE(module);
  const auto& node = *reinterpret_cast<const ModuleNode*>(module.get());
  const std::string names[] = {"no_such_kernel", "", std::string(1 << 20, 'k'),
                               std::string("axpy2\0kernel", 12)};
  for (const std::string& name : names) {
    gantry_function function{};
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* failure) {
      return node.table.load()->get_function(node.self, {name.data(), name.size()}, &function,
                                             failure);
    });
    EXPECT_EQ(code, GANTRY_NOT_FOUND) << name.substr(0, 20);
    EXPECT_EQ(function.table, nullptr);
  }
}

// 64, 67
TEST_P(DeviceCall, ListedKernelsExistAndCheckTheNumberOfArguments) {
  if (*GetParam().type_key == 0) GTEST_SKIP() << "the host's own code, tested in unit_native";
  const Module module = device_module();
  ASSERT_TRUE(module);
  const auto names = module.functions();
  ASSERT_TRUE(names.ok()) << names.error().message;
  ASSERT_FALSE(names->empty());
  const gantry_env env{{device.id.type, 0}, nullptr, nullptr, nullptr};
  for (const std::string& name : *names) {
    const auto kernel = module.function(name);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    gantry_value result{};
    StatusBuffer status;
    const auto& object = *reinterpret_cast<const gantry_function_cell*>(kernel->get());
    const gantry_code code = status.call([&](gantry_status* failure) {
      return object.target.table->call(object.target.self, &env, nullptr, 0, &result, failure);
    });
    EXPECT_EQ(code, GANTRY_INVALID) << name;
    EXPECT_EQ(result.kind, GANTRY_NONE) << name;
    const Error error = status.error(code, "it");
    EXPECT_NE(error.message.text().find(name), std::string::npos) << error.message;
    EXPECT_EQ(error.reason, "ARGUMENT_COUNT") << error.message;
  }
}

// 68: each thread has its own stream if the device supports streams; 1,024 calls in all.
TEST_P(DeviceCall, RunsOnManyThreadsAtOnce) {
  const Function function = axpy2();
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(64);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const TestStream stream(device);
      const gantry_env env{{device.id.type, 0}, stream.get(), nullptr, nullptr};
      const Tensor a = vector(500, 0, 1), b = vector(500, 1, 0), c = vector(500, 0, 0);
      gantry_value args[3] = {};
      const Tensor* const tensors[] = {&a, &b, &c};
      for (std::size_t i = 0; i < 3; ++i)
        args[i].kind = GANTRY_TENSOR, args[i].object = tensors[i]->get();
      for (int k = 0; k < 16 && wrong[t].empty(); ++k) {
        const auto addend = static_cast<float>(t * 16) + static_cast<float>(k);
        Status done = runtime->copy(host_vector(500, addend), a);
        if (done.ok()) {
          const auto called = function.call(args, &env);
          if (!called.ok()) done = called.error();
        }
        if (done.ok()) done = synchronize(stream.get());
        if (!done.ok())
          wrong[t] = done.error().message;
        else if (elements(c)[7] != addend + 2)
          wrong[t] = "results of another call";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

// 69, 70
TEST_P(DeviceCall, FunctionsAndTensorsOutliveTheRuntime) {
  Function function = axpy2();
  Tensor a = vector(100, 1, 1), b = vector(100, 2, 2), c = vector(100, 0, 0);
  device = {};
  // releases the last handle of the first runtime
  runtime = Runtime::create();

  const auto called = function(a, b, c);

  ASSERT_TRUE(called.ok()) << called.error().message;
  function = Function();
  a = b = Tensor();
  c = Tensor();
}

// 77
TEST_P(DeviceCall, DoesNotChangeTheStateOfTheCallersThread) {
  sigset_t signals_before, signals_after;
  cpu_set_t cpus_before, cpus_after;
  const std::string locale_before = setlocale(LC_ALL, nullptr);
  const int rounding_before = fegetround(), traps_before = fegetexcept();
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_before);
  sched_getaffinity(0, sizeof cpus_before, &cpus_before);

  const Function function = axpy2();
  const Tensor a = vector(100, 1, 1), b = vector(100, 2, 2), c = vector(100, 0, 0);
  ASSERT_TRUE(function(a, b, c).ok());
  ASSERT_EQ(elements(c)[1], 2 + 2 * 4);

  pthread_sigmask(SIG_SETMASK, nullptr, &signals_after);
  sched_getaffinity(0, sizeof cpus_after, &cpus_after);
  EXPECT_EQ(setlocale(LC_ALL, nullptr), locale_before);
  EXPECT_EQ(fegetround(), rounding_before);
  EXPECT_EQ(fegetexcept(), traps_before);
  EXPECT_TRUE(CPU_EQUAL(&cpus_before, &cpus_after));
  for (int s = 1; s < 32; ++s)
    EXPECT_EQ(sigismember(&signals_before, s), sigismember(&signals_after, s)) << s;
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceCall, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
