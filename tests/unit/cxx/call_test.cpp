// SPDX-License-Identifier: Apache-2.0
#include <gantry/call.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/cxx/fake_host_table.hpp"

namespace gantry {
namespace {

using ::testing::ElementsAre;

gantry_value object_of_kind(std::int32_t kind) {
  gantry_value value{};
  value.kind = kind;
  return value;
}

constexpr gantry_env no_device{};

struct BadCall {
  std::string name;
  std::vector<gantry_value> args;
  std::function<Status(const Call&)> read;
  std::string reason;
  std::string message;
};
void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }

// Reads one argument and discards it.
template <auto read>
Status first(const Call& call) {
  GANTRY_CHECK((call.*read)(0));
  return {};
}

class CallRefuses : public ::testing::TestWithParam<BadCall> {};

TEST_P(CallRefuses, NamingTheArgument) {
  const BadCall& bad = GetParam();

  const Status status = bad.read(Call{"set(x[, y], ...)", &no_device, bad.args});

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().reason, bad.reason);
  EXPECT_EQ(status.error().message, "set(x[, y], ...): " + bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CallRefuses,
    ::testing::Values(BadCall{"Count",
                              {int_value(1)},
                              [](const Call& c) { return c.count_is(2); },
                              "ARGUMENT_COUNT",
                              "argument count is 1, expected 2"},
                      BadCall{"CountBelowTheRange",
                              {},
                              [](const Call& c) { return c.count_is(1, 2); },
                              "ARGUMENT_COUNT",
                              "argument count is 0, expected 1 to 2"},
                      BadCall{"CountAboveTheRange",
                              {int_value(1), int_value(2), int_value(3)},
                              [](const Call& c) { return c.count_is(1, 2); },
                              "ARGUMENT_COUNT",
                              "argument count is 3, expected 1 to 2"},
                      BadCall{"Integer",
                              {float_value(1)},
                              first<&Call::integer>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is a float, expected an integer"},
                      BadCall{"Real",
                              {device_value({1, 0})},
                              first<&Call::real>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is a device, expected a float"},
                      BadCall{"Text",
                              {int_value(1)},
                              first<&Call::text>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is an integer, expected a string or bytes"},
                      BadCall{"Device",
                              {int_value(1)},
                              first<&Call::device>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is an integer, expected a device"},
                      BadCall{"Dtype",
                              {int_value(1)},
                              first<&Call::dtype>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is an integer, expected a dtype"},
                      BadCall{"Shape",
                              {int_value(1)},
                              first<&Call::shape>,
                              "ARGUMENT_KIND",
                              "argument 0 (x) is an integer, expected a shape"},
                      BadCall{"Object",
                              {object_of_kind(GANTRY_MODULE)},
                              [](const Call& c) -> Status {
                                GANTRY_CHECK(c.object(0, GANTRY_FUNCTION));
                                return {};
                              },
                              "ARGUMENT_KIND",
                              "argument 0 (x) is a module, expected a function"},
                      BadCall{"Tensor",
                              {int_value(1)},
                              [](const Call& c) -> Status {
                                GANTRY_CHECK(c.tensor(0));
                                return {};
                              },
                              "ARGUMENT_KIND",
                              "argument 0 (x) is an integer, expected a tensor"},
                      BadCall{"Absent",
                              {},
                              first<&Call::integer>,
                              "ARGUMENT_COUNT",
                              "argument 0 (x) is absent, expected an integer"},
                      BadCall{"LargeNumber",
                              {int_value(4294967297)},
                              first<&Call::integer32>,
                              "ARGUMENT",
                              "argument 0 (x) is 4294967297, expected a number of 32 bits"},
                      BadCall{"SmallNumber",
                              {int_value(-2147483649)},
                              first<&Call::integer32>,
                              "ARGUMENT",
                              "argument 0 (x) is -2147483649, expected a number of 32 bits"},
                      BadCall{"SecondName",
                              {int_value(1), float_value(1)},
                              [](const Call& c) -> Status {
                                GANTRY_CHECK(c.integer(1));
                                return {};
                              },
                              "ARGUMENT_KIND",
                              "argument 1 (y) is a float, expected an integer"},
                      BadCall{"NoName",
                              {int_value(1), int_value(1), float_value(1)},
                              [](const Call& c) -> Status {
                                GANTRY_CHECK(c.integer(2));
                                return {};
                              },
                              "ARGUMENT_KIND",
                              "argument 2 is a float, expected an integer"},
                      BadCall{"Value",
                              {},
                              [](const Call& c) -> Status { return c.refuse("x is ", 3); },
                              "ARGUMENT",
                              "x is 3"}),
    [](const auto& test) { return test.param.name; });

TEST(Call, ReadsItsArguments) {
  gantry_tensor tensor{};
  gantry_value text{};
  text.kind = GANTRY_CSTRING;
  text.cstring = "abc";
  gantry_value dtype{};
  dtype.kind = GANTRY_DTYPE;
  dtype.dtype = dtypes::int8;
  test::FakeHostTable fake;
  const Value shape = std::move(Host(&fake).shape(std::vector<std::int64_t>{3, 4})).value();
  const std::vector<gantry_value> args = {
      int_value(7), bool_value(true),     float_value(0.5),
      text,         device_value({2, 1}), tensor_ref_value(&tensor),
      dtype,        shape.get()};
  const Call call{"f()", &no_device, args};

  EXPECT_EQ(call.integer(0).value(), 7);
  EXPECT_EQ(call.integer(1).value(), 1);
  EXPECT_EQ(call.real(0).value(), 7);
  EXPECT_EQ(call.real(2).value(), 0.5);
  EXPECT_EQ(call.text(3).value(), "abc");
  EXPECT_EQ(call.device(4)->index, 1);
  EXPECT_EQ(call.tensor(5).value(), &tensor);
  EXPECT_TRUE(same_dtype(call.dtype(6).value(), dtypes::int8));
  EXPECT_THAT(call.shape(7).value(), ElementsAre(3, 4));
  EXPECT_TRUE(call.count_is(8).ok());
  EXPECT_TRUE(call.count_is(0, 8).ok());
}

TEST(Call, ComparesATensorWithWhatIsExpected) {
  gantry_tensor tensor{};
  tensor.dtype = dtypes::int8;
  const std::vector<gantry_value> args = {tensor_ref_value(&tensor)};
  const gantry_env env{{2, 1}, nullptr, nullptr, nullptr};

  const auto refused =
      Call{"f(x)", &env, args}.tensor(0, {.dtype = dtypes::float32, .place = TensorPlace::any});
  const auto unnamed = Call{{}, &env, args}.tensor(0, {.place = TensorPlace::call});
  tensor.device = {2, 1};
  const auto taken = Call{"f(x)", &env, args}.tensor(0, {.place = TensorPlace::call});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "ARGUMENT_DTYPE");
  EXPECT_EQ(refused.error().message,
            "f(x): argument 0 (x) is int8[] on device 0:0, expected float32[...]");
  ASSERT_FALSE(unnamed.ok());
  EXPECT_EQ(unnamed.error().message,
            "argument 0 is int8[] on device 0:0, expected any dtype[...] on cuda:1");
  EXPECT_EQ(taken.value(), &tensor);
}

}  // namespace
}  // namespace gantry
