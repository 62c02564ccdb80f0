// SPDX-License-Identifier: Apache-2.0
#include <gantry/handle.hpp>

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/cxx/fake_host_table.hpp"

namespace gantry {
namespace {

using test::FakeHostTable;
using ::testing::ElementsAre;

class HandleTest : public ::testing::Test {
 protected:
  ~HandleTest() override { EXPECT_EQ(fake.alive, 0) << "objects still alive"; }
  Value text(std::string_view text) { return std::move(host.text(text)).value(); }

  FakeHostTable fake;
  Host host{&fake};
};
using ValueTest = HandleTest;
using HostTest = HandleTest;

TEST_F(ValueTest, ReleasesItsObjectOnce) {
  {
    Value first = text("abc");
    const Value second = first;
    EXPECT_EQ(first.object()->counts & UINT32_MAX, 2u);
    const Value third = std::move(first);
    EXPECT_EQ(first.object(), nullptr);
    EXPECT_EQ(third.object()->counts & UINT32_MAX, 2u);
    EXPECT_EQ(third.object(), second.object());
  }
  EXPECT_EQ(fake.alive, 0);
}

TEST_F(ValueTest, ReleasesItsObjectOnAssignment) {
  Value value = text("abc");
  value = text("def");
  EXPECT_EQ(fake.alive, 1);
  value = *&value;
  EXPECT_EQ(value_text(value.get()), "def");
  value = Value();
  EXPECT_EQ(fake.alive, 0);
}

TEST_F(ValueTest, TransfersItsReference) {
  Value value = text("abc");

  const gantry_value given = value.take();

  EXPECT_EQ(value.kind(), GANTRY_NONE);
  EXPECT_EQ(fake.alive, 1);
  gantry_release(given.object);
}

TEST_F(ValueTest, HoldsNumbers) {
  const Value number = Value::adopt(int_value(7));
  const Value copy = number;
  EXPECT_EQ(value_int(copy.get()), 7);
  EXPECT_EQ(copy.object(), nullptr);
}

using ObjectRefTest = HandleTest;

TEST_F(ObjectRefTest, CountsItsReferences) {
  Value value = text("abc");
  {
    ObjectRef shared = ObjectRef::share(value.object());
    ObjectRef copy = shared;
    EXPECT_EQ(value.object()->counts & UINT32_MAX, 3u);
    ObjectRef moved = std::move(copy);
    EXPECT_FALSE(copy);
    EXPECT_EQ(value.object()->counts & UINT32_MAX, 3u);
    moved = ObjectRef();
    EXPECT_EQ(value.object()->counts & UINT32_MAX, 2u);
  }
  EXPECT_EQ(value.object()->counts & UINT32_MAX, 1u);
  EXPECT_FALSE(ObjectRef::share(nullptr));

  ObjectRef adopted = ObjectRef::adopt(value.take().object);
  gantry_object* given = adopted.take();
  EXPECT_FALSE(adopted);
  gantry_release(given);
}

TEST(ValueReaders, ReadEveryFormOfAText) {
  const gantry_bytes bytes = {"a\0c", 3};
  gantry_value cstring{};
  cstring.kind = GANTRY_CSTRING;
  cstring.cstring = "abc";
  gantry_value small{};
  small.kind = GANTRY_SMALL_STRING;
  small.small_size = 2;
  small.small[0] = 'h';
  small.small[1] = 'i';
  const gantry_value by_reference = bytes_ref_value(&bytes);
  const gantry_value number = int_value(1);

  EXPECT_EQ(value_text(cstring), "abc");
  EXPECT_EQ(value_text(by_reference), std::string_view("a\0c", 3));
  EXPECT_EQ(value_text(small), "hi");
  EXPECT_EQ(value_text(number), std::nullopt);
}

TEST(ValueReaders, ReadNumbersOfTheirKindOnly) {
  EXPECT_EQ(value_int(int_value(-3)), -3);
  EXPECT_EQ(value_int(bool_value(true)), 1);
  EXPECT_EQ(value_int(float_value(1.5)), std::nullopt);
  EXPECT_EQ(float_value(1.5).f, 1.5);
  EXPECT_EQ(device_value({4, 1}).device.type, 4);
  EXPECT_EQ(dtype_value({2, 32, 1}).dtype.bits, 32);
}

TEST(ValueReaders, FindATensorByReference) {
  gantry_tensor tensor{};
  const gantry_value reference = tensor_ref_value(&tensor);
  const gantry_value number = int_value(1);

  EXPECT_EQ(gantry_value_tensor(&reference), &tensor);
  EXPECT_EQ(gantry_value_tensor(&number), nullptr);
}

TEST_F(HostTest, MakesShapes) {
  const Value shape = std::move(host.shape(std::vector<std::int64_t>{2, 3})).value();

  ASSERT_TRUE(value_shape(shape.get()));
  EXPECT_THAT(*value_shape(shape.get()), ElementsAre(2, 3));
  EXPECT_EQ(value_shape(int_value(1)), std::nullopt);
}

TEST_F(HostTest, MakesArraysAndMapsThatKeepTheirItems) {
  Value map;
  {
    const Value array = std::move(host.array({text("a"), Value::adopt(int_value(5))})).value();
    map = std::move(host.map({{text("key"), array}})).value();
  }

  const auto entries = host.items(map.object()).value();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(value_text(entries[0]), "key");
  const auto items = host.items(entries[1].object).value();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(value_text(items[0]), "a");
  EXPECT_EQ(value_int(items[1]), 5);
}

TEST_F(HostTest, MakesTensorsAndViewsOnThem) {
  gantry_tensor like{};
  like.ndim = 0;
  Value view;
  {
    const Value tensor = std::move(host.tensor_new(like, "texture")).value();
    EXPECT_STREQ(static_cast<const char*>(tensor.tensor()->data), "texture");
    view = std::move(host.tensor_view(*tensor.tensor(), tensor.object())).value();
  }
  EXPECT_STREQ(static_cast<const char*>(view.tensor()->data), "texture");
  EXPECT_TRUE(host.tensor_copy(like, *view.tensor(), nullptr).ok());

  like.ndim = 1;
  const Status copied = host.tensor_copy(like, *view.tensor(), nullptr);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().message, "ndim differs");
}

TEST_F(HostTest, CopiesATensorToADevice) {
  gantry_tensor from{};
  from.dtype = dtypes::int8;

  const Value copy = std::move(host.tensor_copied(from, {2, 1}, nullptr, "texture")).value();

  EXPECT_EQ(copy.tensor()->device.type, 2);
  EXPECT_EQ(copy.tensor()->device.index, 1);
  EXPECT_TRUE(same_dtype(copy.tensor()->dtype, dtypes::int8));
  EXPECT_STREQ(static_cast<const char*>(copy.tensor()->data), "texture");
  EXPECT_EQ(fake.copies, 1);
}

TEST_F(HostTest, CopiesBorrowedValues) {
  const Value object = text("abc");
  gantry_value cstring{};
  cstring.kind = GANTRY_CSTRING;
  cstring.cstring = "def";
  const gantry_bytes bytes = {"ghi", 3};

  const Value kept = std::move(host.keep(object.get())).value();
  EXPECT_EQ(kept.object(), object.object());
  EXPECT_EQ(kept.object()->counts & UINT32_MAX, 2u);
  EXPECT_EQ(std::move(host.keep(cstring)).value().kind(), GANTRY_STRING);
  EXPECT_EQ(std::move(host.keep(bytes_ref_value(&bytes))).value().kind(), GANTRY_BYTES);
  EXPECT_EQ(std::move(host.keep(int_value(3))).value().get().i, 3);

  gantry_tensor tensor{};
  const Result<Value> refused = host.keep(tensor_ref_value(&tensor));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(refused.error().message, "value is a tensor by reference, which cannot be kept");
}

TEST_F(HostTest, FindsAndCallsFunctions) {
  const Value module = text("a module");
  const ObjectRef run = std::move(host.find(module.object(), GANTRY_FIND_IMPORTS, "run")).value();
  const Value argument = text("x");

  const Result<Value> result = host.call(run.get(), nullptr, {{argument.get()}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->object(), argument.object());

  const Result<ObjectRef> missing = host.find(module.object(), GANTRY_FIND_IMPORTS, "walk");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().message, "no such function, there is \"run\"");
}

TEST_F(HostTest, ReturnsTheHostsErrors) {
  fake.room = 0;
  const Result<Value> text = host.text("abc");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::exhausted);
  EXPECT_EQ(text.error().message, "no room for another object");

  fake.room = 1;
  const Value object = this->text("abc");
  const auto items = host.items(object.object());
  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().message, "no array, no map");

  const Result<Value> silent = host.call(object.object(), nullptr, {});
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().message, "host function call fails as unavailable without a reason");
}

// The runtime has assigned 64 to the device; 65 is none.
TEST_F(HostTest, NamesDevices) {
  fake.device_get = [](const gantry_host*, gantry_device_id id, gantry_device* out,
                       gantry_status* status) -> gantry_code {
    static const gantry_device_table table = [] {
      gantry_device_table named{};
      named.name = "quasar";
      return named;
    }();
    if (id.type != 64) return gantry_fail(status, GANTRY_NOT_FOUND, "DEVICE", "no such device");
    *out = {nullptr, &table, id};
    return GANTRY_OK;
  };

  EXPECT_EQ(host.device_text({64, 1}), "quasar:1");
  EXPECT_EQ(host.device_text({65, 0}), "device 65:0");
  EXPECT_EQ(host.device_text({4, 2}), "opencl:2");
  EXPECT_EQ(device_text_of({}), "device 0:0");
}

TEST_F(HostTest, LogsAndReadsCancellation) {
  const gantry_env env{};

  host.log(GANTRY_LOG_WARNING, "hot");

  EXPECT_THAT(fake.logged, ElementsAre("1:hot"));
  EXPECT_TRUE(host.is_cancelled(&env));
  EXPECT_FALSE(host.is_cancelled(nullptr));
}

}  // namespace
}  // namespace gantry
