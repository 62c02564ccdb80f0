// SPDX-License-Identifier: Apache-2.0
//
// Calls through gantry::Function, which are compiled into the program. unit/module/call_test.cpp has
// those of the core.
#include "core/engine/module/function.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A function that records its arguments.
class FunctionHandle : public testing::Test {
 protected:
  using Body = std::function<gantry_code(gantry_value*, gantry_status*)>;

  FunctionHandle() {
    auto made = *new_function({this, &table_}, {}, 0);
    function = Function(ObjectRef::adopt(reinterpret_cast<gantry_object*>(made.take())));
  }

  Function function;
  Body body = [](gantry_value*, gantry_status*) { return gantry_code{GANTRY_OK}; };
  std::vector<gantry_value> values;
  std::vector<std::int32_t> kinds;
  gantry_device_id device{};

 private:
  static constexpr gantry_function_table table_{
      sizeof(gantry_function_table), 0, nullptr,
      [](void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
         gantry_value* result, gantry_status* status) {
        auto& test = *static_cast<FunctionHandle*>(self);
        test.device = env->device;
        test.values.assign(args, args + count);
        test.kinds.clear();
        for (const gantry_value& value : test.values) test.kinds.push_back(value.kind);
        return test.body(result, status);
      }};
};

TEST_F(FunctionHandle, PassesNumbersAndTensors) {
  const Runtime runtime = test::make_runtime();
  const Tensor tensor = runtime.tensor({2}, {2, 32, 1}).value();

  ASSERT_TRUE(function(std::int32_t{-3}, true, 2.5f, 0.25, tensor, std::uint8_t{200}).ok());

  EXPECT_THAT(kinds, ElementsAre(GANTRY_INT, GANTRY_BOOL, GANTRY_FLOAT, GANTRY_FLOAT, GANTRY_TENSOR,
                                 GANTRY_INT));
  EXPECT_EQ(values[0].i, -3);
  EXPECT_EQ(values[1].i, 1);
  EXPECT_EQ(values[2].f, 2.5);
  EXPECT_EQ(values[3].f, 0.25);
  EXPECT_EQ(values[4].object, tensor.get());
  EXPECT_EQ(values[5].i, 200);
  EXPECT_EQ(device.type, cpu_device_type);
}

TEST_F(FunctionHandle, PassesOtherArguments) {
  ASSERT_TRUE(function().ok());
  EXPECT_THAT(kinds, IsEmpty());

  ASSERT_TRUE(function("text", std::string("other text")).ok());
  EXPECT_THAT(kinds, ElementsAre(GANTRY_CSTRING, GANTRY_CSTRING));

  ASSERT_TRUE(function(1, Tensor()).ok());
  EXPECT_THAT(kinds, ElementsAre(GANTRY_INT, GANTRY_NONE));

  ASSERT_TRUE(function(Any(), gantry_device_id{4, 1}).ok());
  EXPECT_THAT(kinds, ElementsAre(GANTRY_NONE, GANTRY_DEVICE));

  const gantry_value one = int_value(1);
  ASSERT_TRUE(function.call({&one, 1}).ok());
  EXPECT_THAT(kinds, ElementsAre(GANTRY_INT));
}

TEST_F(FunctionHandle, PassesTheEnvOfACall) {
  const gantry_env env{{4, 3}, nullptr, nullptr, nullptr};

  ASSERT_TRUE(function.call({}, &env).ok());

  EXPECT_EQ(device.type, 4);
  EXPECT_EQ(device.index, 3);
}

TEST_F(FunctionHandle, ThatIsEmptyIsRefused) {
  const auto called = Function()(1);

  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(called.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(called.error().message, "call: the object is not a function");
}

TEST_F(FunctionHandle, ReportsFailures) {
  body = [](gantry_value*, gantry_status* status) {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", "the driver is gone");
  };
  auto called = function(1);
  EXPECT_EQ(called.error().code, Code::unavailable);
  EXPECT_EQ(called.error().reason, "DRIVER");
  EXPECT_EQ(called.error().message, "the driver is gone");

  body = [](gantry_value*, gantry_status*) { return gantry_code{GANTRY_INVALID}; };
  called = function(1);
  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(called.error().message, "function fails as invalid without a reason");

  body = [](gantry_value*, gantry_status*) -> gantry_code { throw std::runtime_error("oops"); };
  called = function(1);
  EXPECT_EQ(called.error().code, Code::bug);
  EXPECT_EQ(called.error().reason, "EXCEPTION");
  EXPECT_EQ(called.error().message, "function throws: oops");
}

TEST_F(FunctionHandle, ReturnsASmallText) {
  body = [](gantry_value* result, gantry_status*) {
    gantry_value_small(GANTRY_SMALL_STRING, gantry_text("small"), result);
    return gantry_code{GANTRY_OK};
  };

  EXPECT_EQ(function(1)->text().value(), "small");
}

TEST_F(FunctionHandle, PassesAnErrorObjectOfTheCallee) {
  gantry_error what{};
  what.kind = gantry_text("ValueError");
  auto raised = new_error(what);
  ASSERT_TRUE(raised.ok());
  gantry_object* const object = (*raised).base();
  body = [object](gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_INVALID, "RAISED", "a text");
    gantry_retain(object);
    status->error = object;
    return gantry_code{GANTRY_INVALID};
  };

  {
    const auto called = function(1);
    EXPECT_EQ(called.error().raised.get(), object);
  }

  EXPECT_EQ(object->counts & UINT32_MAX, 1u) << "each reference is released";
}

}  // namespace
}  // namespace gantry
