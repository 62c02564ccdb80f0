// SPDX-License-Identifier: Apache-2.0
//
// Assembles an executable, and runs it on a machine in a fake host.
#pragma once

#include "plugins/relax/vm.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/relax_assembler.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::relax::test {

using gantry::test::cpu;
using gantry::test::FakeHost;
using gantry::test::handles;
using gantry::test::relax_function;
using gantry::test::relax_immediate;
using gantry::test::relax_register;
using gantry::test::relax_vm;
using gantry::test::relax_void;

class VmTest : public ::testing::Test {
 protected:
  VmTest() : pin_(fake.new_pin()) {
    fake.add_function("add", [](const gantry_env*, std::span<const gantry_value> args,
                                gantry_value* result, gantry_status*) {
      *result = int_value(args[0].i + args[1].i);
      return GANTRY_OK;
    });
    fake.add_function("refuse", [](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                                   gantry_status* status) {
      return gantry_fail(status, GANTRY_UNSUPPORTED, "TEST", "refused by the test");
    });
  }
  ~VmTest() override {
    vm.reset();
    loaded.reset();
    fake.release(pin_);
  }

  // Assembles the code and starts a machine on the CPU.
  void start(std::span<const gantry_device_id> devices = {}) {
    read();
    const Status started = vm->initialize(devices, nullptr);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void read() {
    payload = code.payload();
    const gantry_blob raw = payload.blob(pin_);
    Blob blob(raw, fake.node());
    loaded = Loaded::read(Host(fake.table()), blob, memory).value();
    vm = std::make_unique<Vm>(Host(fake.table()), loaded);
  }
  Result<Value> run(std::string_view name, std::vector<gantry_value> args = {}) {
    return vm->run(*loaded->program.find(name), env, args);
  }
  std::int64_t number(std::string_view name, std::vector<gantry_value> args = {}) {
    auto result = run(name, std::move(args));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? value_int(result->get()).value_or(-999) : -999;
  }
  Error error_of(std::string_view name, std::vector<gantry_value> args = {}) {
    auto result = run(name, std::move(args));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error() : std::move(result).error();
  }

  // Of the last error that was raised.
  std::string kind_of(const Error& error) const {
    return error.raised ? fake.error_kinds.back() : "(not raised)";
  }

  FakeHost fake;
  // of runs
  const gantry_env* env = nullptr;
  gantry::test::RelaxAssembler code;
  gantry::test::RelaxPayload payload;
  std::shared_ptr<StorageMemory> memory = std::make_shared<StorageMemory>("gantry.relax");
  std::shared_ptr<const Loaded> loaded;
  std::unique_ptr<Vm> vm;

 private:
  gantry_object* pin_;
};

}  // namespace gantry::relax::test
