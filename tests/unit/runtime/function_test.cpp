// SPDX-License-Identifier: Apache-2.0
//
// Calls through the public handle, which are compiled into the caller.
#include "core/engine/module/function.hpp"
#include "core/engine/native/packed/tvm_abi.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A function that records its calls: "target 2" through the table, "packed 2" with arguments in the
// layout of host code.
class FunctionHandle : public testing::Test {
 protected:
  using Body = std::function<gantry_code(gantry_value*, gantry_status*)>;

  FunctionHandle() {
    auto made = *new_function({this, &table_}, {}, 0);
    object_ = made.get();
    function = Function(Object::adopt(reinterpret_cast<gantry_object*>(made.take())));
  }
  void accept_packed() { object_->packed = packed; }

  Function function;
  Body body = [](gantry_value*, gantry_status*) { return gantry_code{GANTRY_OK}; };
  std::vector<std::string> calls;
  std::vector<PackedValue> values;
  std::vector<int> codes;
  gantry_device_id device{};

 private:
  static gantry_code packed(void* self, const gantry_env* env, void* values, int* codes,
                            std::int32_t count, gantry_value* result, gantry_status* status) {
    auto& test = *static_cast<FunctionHandle*>(self);
    test.calls.push_back(concat("packed ", count));
    test.device = env->device;
    test.values.assign(static_cast<PackedValue*>(values),
                       static_cast<PackedValue*>(values) + count);
    test.codes.assign(codes, codes + count);
    return test.body(result, status);
  }
  static constexpr gantry_function_table table_{
      sizeof(gantry_function_table), 0, nullptr,
      [](void* self, const gantry_env* env, const gantry_value*, std::int32_t count,
         gantry_value* result, gantry_status* status) {
        auto& test = *static_cast<FunctionHandle*>(self);
        test.calls.push_back(concat("target ", count));
        test.device = env->device;
        return test.body(result, status);
      }};

  FunctionObject* object_ = nullptr;
};

TEST_F(FunctionHandle, LaysNumbersAndTensorsOutForHostCode) {
  accept_packed();
  Runtime runtime = test::make_runtime();
  const Tensor tensor = runtime.tensor({2}, {2, 32, 1}).value();

  ASSERT_TRUE(function(std::int32_t{-3}, true, 2.5f, 0.25, tensor, std::uint8_t{200}).ok());

  EXPECT_THAT(calls, ElementsAre("packed 6"));
  EXPECT_THAT(codes, ElementsAre(kPackedInt, kPackedInt, kPackedFloat, kPackedFloat, kPackedTensor,
                                 kPackedInt));
  EXPECT_EQ(values[0].i, -3);
  EXPECT_EQ(values[1].i, 1);
  EXPECT_EQ(values[2].f, 2.5);
  EXPECT_EQ(values[3].f, 0.25);
  EXPECT_EQ(values[4].p, tensor.dlpack());
  EXPECT_EQ(values[5].i, 200);
  EXPECT_EQ(device.type, 1);
}

TEST_F(FunctionHandle, PassesOtherArgumentsThroughTheTable) {
  accept_packed();

  ASSERT_TRUE(function().ok());
  ASSERT_TRUE(function("text").ok());
  ASSERT_TRUE(function(1, Tensor()).ok());
  ASSERT_TRUE(function(1, Any()).ok());
  const gantry_value one{GANTRY_INT, 0, {1}};
  ASSERT_TRUE(function.call({&one, 1}).ok());

  EXPECT_THAT(calls, ElementsAre("target 0", "target 1", "target 2", "target 2", "target 1"));
}

TEST_F(FunctionHandle, CallsAFunctionThatIsNotHostCodeThroughTheTable) {
  ASSERT_TRUE(function(1, 2.0).ok());

  EXPECT_THAT(calls, ElementsAre("target 2"));
}

TEST_F(FunctionHandle, ThatIsEmptyIsRefused) {
  const auto called = Function()(1);

  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(called.error().message, "function handle is empty");
}

// Each ends a call both through the table and with the layout of host code.
TEST_F(FunctionHandle, ReportsFailuresOfBothKindsOfCalls) {
  for (const bool with_packed : {false, true}) {
    if (with_packed) accept_packed();

    body = [](gantry_value*, gantry_status* status) {
      return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", "the driver is gone");
    };
    auto called = function(1);
    EXPECT_EQ(called.error().code, Code::unavailable);
    EXPECT_EQ(called.error().reason, "DRIVER");
    EXPECT_EQ(called.error().message, "the driver is gone");

    body = [](gantry_value*, gantry_status*) { return gantry_code{GANTRY_INVALID}; };
    called = function(1);
    EXPECT_EQ(called.error().message, "a global function fails with code 5 and without a text");

    body = [](gantry_value*, gantry_status*) -> gantry_code { throw std::runtime_error("oops"); };
    called = function(1);
    EXPECT_EQ(called.error().reason, "EXCEPTION");
    EXPECT_EQ(called.error().message, "a global function throws: oops");

    body = [](gantry_value* result, gantry_status*) {
      result->kind = GANTRY_CSTRING;
      result->cstring = "borrowed";
      return gantry_code{GANTRY_OK};
    };
    called = function(1);
    EXPECT_EQ(called.error().reason, "RESULT_KIND");

    body = [](gantry_value* result, gantry_status*) {
      result->kind = GANTRY_TENSOR;
      return gantry_code{GANTRY_OK};
    };
    called = function(1);
    EXPECT_THAT(called.error().message, HasSubstr("returns an object of kind 70 at address 0"));
  }
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
