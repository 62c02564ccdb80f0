// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/builtin.hpp"
#include "plugins/relax/closure.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/opaque.hpp>

#include <gtest/gtest.h>

namespace gantry::relax::test {
namespace {

using gantry::test::FakeHost;

// Objects that outlive a call which has a tensor of its caller as an argument.
class ObjectsOfBorrowedTensors : public ::testing::Test {
 protected:
  void expect_copy(const gantry_value& value) {
    ASSERT_EQ(value.kind, GANTRY_TENSOR);
    const gantry_tensor& copy = *gantry_value_tensor(&value);
    EXPECT_NE(copy.data, data);
    EXPECT_EQ(static_cast<float*>(copy.data)[1], 2);
  }

  FakeHost fake;
  const Host host{fake.table()};
  float data[2] = {1, 2};
  const std::int64_t shape[1] = {2};
  gantry_tensor tensor = compact_tensor(dtypes::float32, shape, gantry::test::cpu, data);
};

TEST_F(ObjectsOfBorrowedTensors, AreTuplesOfCopies) {
  const gantry_value args[] = {tensor_ref_value(&tensor)};
  const auto rows = object_builtins();
  const auto row = std::ranges::find(rows, "vm.builtin.make_tuple", &Builtin::name);
  ASSERT_NE(row, rows.end());

  const auto tuple = row->run(host, {row->usage, nullptr, args});

  ASSERT_TRUE(tuple.ok()) << tuple.error().message;
  expect_copy(host.items(tuple->object()).value()[0]);
}

TEST_F(ObjectsOfBorrowedTensors, AreClosuresWithCopies) {
  fake.add_function("f", {});
  const ObjectRef f = host.find(fake.node(), GANTRY_FIND_IMPORTS, "f").value();
  gantry_value function{};
  function.kind = GANTRY_FUNCTION;
  function.object = f.get();
  const gantry_value captured[] = {tensor_ref_value(&tensor)};

  const auto memory = std::make_shared<StorageMemory>("gantry.relax");
  const auto closure = make_closure(host, memory, function, captured, nullptr);

  ASSERT_TRUE(closure.ok()) << closure.error().message;
  expect_copy(opaque_of<Closure>(host, closure->object()).value()->captured[0].get());
}

}  // namespace
}  // namespace gantry::relax::test
