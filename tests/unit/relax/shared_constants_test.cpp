// SPDX-License-Identifier: Apache-2.0
//
// Constants as results: a caller may write what it receives.
#include "plugins/relax/shared_constants.hpp"

#include "tests/support/placed_bytes.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;

class ConstantResults : public VmTest {
 protected:
  void call(std::int64_t to, const char* builtin, const std::vector<std::int64_t>& args) {
    auto known = builtins_.find(builtin);
    if (known == builtins_.end()) known = builtins_.emplace(builtin, code.packed(builtin)).first;
    code.call(to, known->second, args);
  }
  float* floats_of(const gantry_value& value) const {
    return reinterpret_cast<float*>(fake.memory_of(*gantry_value_tensor(&value)));
  }
  std::vector<float> elements(const gantry_value& value) const {
    const float* const first = floats_of(value);
    return {first, first + 2};
  }
  std::span<const gantry_value> items(const Value& array) const {
    return Host(fake.table()).items(array.object()).value();
  }

  std::map<std::string, std::int64_t, std::less<>> builtins_;
};

TEST_F(ConstantResults, AreCopies) {
  for (const gantry_device_id device : {cpu, handles}) {
    code = gantry::test::RelaxAssembler();
    builtins_.clear();
    const auto constant = code.floats({2}, {1, 2});
    code.function("main", {}, 1);
    call(0, "vm.builtin.copy", {constant});
    code.ret(0);
    start(std::vector{device});

    const Value first = run("main").value();
    floats_of(first.get())[0] = 7;

    EXPECT_THAT(elements(run("main").value().get()), ElementsAre(1, 2));
  }
}

TEST_F(ConstantResults, AreCopiesInArraysAndAsViews) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {"x"}, 4);
  call(1, "vm.builtin.reshape", {constant, code.shape({2, 1})});
  call(2, "vm.builtin.make_tuple", {relax_register(1), relax_register(0)});
  call(3, "vm.builtin.make_tuple", {relax_register(2), constant});
  code.ret(3);
  start();

  for (int i = 0; i < 2; ++i) {
    const Value outer = run("main", {int_value(5)}).value();
    const Value inner = Host(fake.table()).keep(items(outer)[0]).value();

    EXPECT_THAT(elements(items(inner)[0]), ElementsAre(1, 2));
    EXPECT_EQ(items(inner)[1].i, 5);
    EXPECT_THAT(elements(items(outer)[1]), ElementsAre(1, 2));
    floats_of(items(inner)[0])[1] = 8;
    floats_of(items(outer)[1])[0] = 9;
  }
}

TEST_F(ConstantResults, AreCopiedOnce) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {}, 1);
  call(0, "vm.builtin.make_tuple", {constant, constant});
  code.ret(0);
  start();

  const Value twice = run("main").value();

  EXPECT_EQ(items(twice)[0].object, items(twice)[1].object);
}

// Code of v0.10 and later loads 64 bytes at once.
TEST_F(ConstantResults, AreViewsOfTheFileAtMultiplesOf64BytesOnly) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {}, 1);
  call(0, "vm.builtin.copy", {constant});
  code.ret(0);
  payload = code.payload();
  const std::uint64_t data_at = gantry::test::offset_of(payload.bytes.bytes(), {1, 2});
  gantry_object* const pin = fake.new_pin();

  for (const std::uint64_t past : {0, 4, 8, 16, 32, 48, 64, 96}) {
    const gantry::test::PlacedBytes placed(payload.bytes.bytes(), data_at, past);
    gantry_blob raw = payload.blob(pin);
    raw.data = placed.bytes().data();
    Blob blob(raw, fake.node());
    const auto executable = Loaded::read(Host(fake.table()), blob, memory).value();
    fake.copies.clear();

    const SharedConstants* const constants = executable->constants(cpu, nullptr).value();

    EXPECT_EQ(fake.copies.size(), past % 64 == 0 ? 0u : 1u) << past;
    EXPECT_NE(constants, nullptr);
  }
  fake.release(pin);
}

// Constants of two devices of one type differ.
TEST_F(ConstantResults, AreOnTheDeviceThatIsRequested) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {}, 1);
  call(0, "vm.builtin.copy", {constant});
  code.ret(0);
  read();
  fake.copies.clear();

  const auto* const first = loaded->constants(handles, nullptr).value();
  const auto* const second = loaded->constants({4, 1}, nullptr).value();
  const auto* const on_cpu = loaded->constants(cpu, nullptr).value();

  EXPECT_NE(first, second);
  EXPECT_NE(first, on_cpu);
  EXPECT_EQ(loaded->constants({4, 1}, nullptr).value(), second);
  EXPECT_GE(std::ranges::count(fake.copies, 8), 2);
}

TEST_F(ConstantResults, LeaveOtherResultsAsTheyAre) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("main", {"x"}, 2);
  call(1, "vm.builtin.make_tuple", {constant});
  call(1, "vm.builtin.make_tuple", {relax_register(0)});
  code.ret(1);
  code.function("same", {"x"}, 1);
  code.ret(0);
  start();
  const Host host(fake.table());
  const Value x = host.text("a text that is an object").value();
  const std::size_t before = fake.allocations.size();

  EXPECT_EQ(run("same", {x.get()}).value().object(), x.object());
  EXPECT_EQ(items(run("main", {x.get()}).value())[0].object, x.object());
  EXPECT_EQ(fake.allocations.size(), before);
}

TEST_F(ConstantResults, HaveALimitOfNestingAndItems) {
  const auto constant = code.floats({2}, {1, 2});
  code.function("nested", {}, 1);
  call(0, "vm.builtin.make_tuple", {constant});
  for (int i = 0; i < 256; ++i) call(0, "vm.builtin.make_tuple", {relax_register(0)});
  code.ret(0);
  code.function("wide", {}, 1);
  call(0, "vm.builtin.make_tuple", {constant});
  for (int i = 0; i < 40; ++i)
    call(0, "vm.builtin.make_tuple", {relax_register(0), relax_register(0)});
  code.ret(0);
  start();

  const Error nested = error_of("nested"), wide = error_of("wide");

  EXPECT_EQ(nested.code, Code::exhausted);
  EXPECT_EQ(nested.reason, "VM_DEPTH");
  EXPECT_EQ(nested.message, "arrays of the result are nested more than 256 times, the limit");
  EXPECT_EQ(wide.code, Code::exhausted);
  EXPECT_EQ(wide.reason, "VM_DEPTH");
  EXPECT_EQ(wide.message, "the result has more than 65536 items, the limit");
}

}  // namespace
}  // namespace gantry::relax::test
