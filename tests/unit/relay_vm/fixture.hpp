// SPDX-License-Identifier: Apache-2.0
//
// Assembles an executable and runs it on a machine over a FakeHost, whose device `handles` has
// opaque data. Kernels of the executable's imports work on float32 of the CPU and of `handles`:
//
//     add(a, b, out)   out[i] = a[i] + b[i]
//     step(x, out)     out[i] = x[i] + 1; of int64
//     refuse(...)      fails
#pragma once

#include "plugins/relay_vm/machine.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/relay_assembler.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace gantry::relay::test {

using gantry::test::cpu;
using gantry::test::FakeHost;
using gantry::test::handles;
using gantry::test::RelayAssembler;
using gantry::test::RelayPayload;

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() : pin_(fake.new_pin()) {
    fake.add_function("add", [this](const gantry_env* env, std::span<const gantry_value> args,
                                    gantry_value*, gantry_status*) {
      last_env = *env;
      ++calls;
      const gantry_tensor& out = *gantry_value_tensor(&args[2]);
      for (std::size_t i = 0; i < count_of(out); ++i) {
        const float sum = read<float>(*gantry_value_tensor(&args[0]), i) +
                          read<float>(*gantry_value_tensor(&args[1]), i);
        write(out, i, sum);
      }
      return GANTRY_OK;
    });
    fake.add_function("step", [this](const gantry_env*, std::span<const gantry_value> args,
                                     gantry_value*, gantry_status*) {
      ++calls;
      const std::int64_t next = read<std::int64_t>(*gantry_value_tensor(&args[0]), 0) + 1;
      write(*gantry_value_tensor(&args[1]), 0, next);
      return GANTRY_OK;
    });
    fake.add_function("refuse", [](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                                   gantry_status* status) {
      return gantry_fail(status, GANTRY_UNSUPPORTED, "TEST", "refused by the test");
    });
  }
  ~MachineTest() override {
    machine.reset();
    loaded.reset();
    fake.release(pin_);
  }

  // Keeps nothing alive.
  gantry_object* pin() const { return pin_; }

  // main(x, y): x + y in a storage of 16 bytes, in a function of 9 registers.
  static void add_main(RelayAssembler& code) {
    const auto add = code.packed("add");
    code.function("main", {"x", "y"}, 9);
    code.tensor(dtypes::float32, {2}, 16, 2, 5);
    code.kill_register(4);
    code.invoke_packed(add, {0, 1, 5});
    code.kill_register(0);
    code.ret(5);
  }

  // Assembles the code and starts a machine.
  void start(std::span<const gantry_device_id> devices = {}, MachineLimits limits = {}) {
    read(limits);
    const Status started = machine->initialize(devices, nullptr);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void read(MachineLimits limits = {}) {
    payload = code.payload();
    const gantry_blob raw = payload.blob(pin_);
    Blob blob(raw, fake.node());
    auto made = Loaded::read(Host(fake.table()), blob, memory);
    ASSERT_TRUE(made.ok()) << made.error().message;
    loaded = *made;
    machine = std::make_unique<Machine>(Host(fake.table()), loaded, limits);
  }
  Result<Value> run(std::string_view name, const std::vector<Value>& args = {},
                    const gantry_env* env = nullptr) {
    std::vector<gantry_value> values;
    for (const Value& arg : args) values.push_back(arg.get());
    return machine->run(*loaded->program.find(name), env, values);
  }
  Value result(std::string_view name, const std::vector<Value>& args = {}) {
    auto value = run(name, args);
    EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message);
    return value.ok() ? std::move(*value) : Value();
  }
  // Number of allocations on the heap.
  static std::int64_t allocations_of(const std::function<void()>& body) {
    constexpr fuzz::Cost any{.bytes_for_free = 1 << 30, .nanoseconds_for_free = 60'000'000'000};
    const fuzz::Budget budget(0, any);
    body();
    return budget.allocations();
  }
  std::int64_t allocations_of_run(std::string_view name, const std::vector<Value>& args) {
    std::vector<gantry_value> values;
    for (const Value& arg : args) values.push_back(arg.get());
    const std::uint32_t function = loaded->program.find(name).value();
    return allocations_of([&] { (void)machine->run(function, nullptr, values); });
  }
  Error error_of(std::string_view name, const std::vector<Value>& args = {}) {
    auto value = run(name, args);
    EXPECT_FALSE(value.ok());
    return value.ok() ? Error() : std::move(value).error();
  }
  static std::string text(const Error& error) { return std::string(error.message.text()); }

  template <class T>
  Value tensor(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
               const std::vector<T>& values, gantry_device_id device = cpu) {
    Value made = Host(fake.table()).tensor_new(compact_tensor(dtype, shape, device)).value();
    for (std::size_t i = 0; i < values.size(); ++i) write(*made.tensor(), i, values[i]);
    return made;
  }
  Value floats(const std::vector<float>& values, gantry_device_id device = cpu) {
    return tensor(dtypes::float32, {static_cast<std::int64_t>(values.size())}, values, device);
  }
  Value integer(std::int64_t value) {
    return tensor(dtypes::int64, {}, std::vector<std::int64_t>{value});
  }
  template <class T = float>
  std::vector<T> elements(const Value& value) {
    const gantry_tensor* const from = value.tensor();
    EXPECT_NE(from, nullptr);
    std::vector<T> values;
    for (std::size_t i = 0; from != nullptr && i < count_of(*from); ++i)
      values.push_back(gantry::relay::test::MachineTest::read<T>(*from, i));
    return values;
  }
  std::vector<Value> items(const Value& value) {
    std::vector<Value> kept;
    const auto values = Host(fake.table()).items(value.object()).value();
    for (const gantry_value& item : values) kept.push_back(Host(fake.table()).keep(item).value());
    return kept;
  }

  static std::size_t count_of(const gantry_tensor& tensor) {
    std::size_t count = 1;
    for (const std::int64_t extent : gantry::shape_of(tensor))
      count *= static_cast<std::size_t>(extent);
    return count;
  }
  template <class T>
  T read(const gantry_tensor& tensor, std::size_t i) const {
    T value;
    std::memcpy(&value, fake.memory_of(tensor) + i * sizeof value, sizeof value);
    return value;
  }
  template <class T>
  void write(const gantry_tensor& tensor, std::size_t i, T value) {
    std::memcpy(fake.memory_of(tensor) + i * sizeof value, &value, sizeof value);
  }

  FakeHost fake;
  RelayAssembler code;
  RelayPayload payload;
  std::shared_ptr<StorageMemory> memory = std::make_shared<StorageMemory>("gantry.relay-vm");
  std::shared_ptr<Loaded> loaded;
  std::unique_ptr<Machine> machine;
  // of the kernels
  int calls = 0;
  gantry_env last_env{};

 private:
  gantry_object* pin_;
};

}  // namespace gantry::relay::test
