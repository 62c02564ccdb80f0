// SPDX-License-Identifier: Apache-2.0
//
// Functions of the embedder, called directly and by code that TVM 0.27 compiled.
#include "tests/unit/runtime/digits.hpp"

#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class AddedFunction : public ::testing::Test {
 protected:
  // A function of compiled code that calls test.host_fn or test.boom.
  Function compiled(const char* name) {
    auto model = runtime.load(test::golden("relax/tir_call_packed_llvm.so").string());
    EXPECT_TRUE(model.ok()) << model.error().message;
    return model->function(name).value();
  }
  // Adds test.boom, and returns the error of the compiled code that calls it.
  Error error_through_compiled_code(gantry::AddedFunction boom) {
    EXPECT_TRUE(runtime.add_function("test.boom", std::move(boom)).ok());
    const auto called = compiled("boom")(9);
    EXPECT_FALSE(called.ok());
    return called.ok() ? Error() : called.error();
  }

  Runtime runtime = test::make_runtime();
};

Result<Any> sum(std::span<const gantry_value> args) {
  std::int64_t total = 0;
  for (const gantry_value& arg : args) total += value_int(arg).value_or(0);
  return Any(Value::adopt(int_value(total)));
}

TEST_F(AddedFunction, IsCalledByItsName) {
  ASSERT_TRUE(runtime.add_function("test.sum", sum).ok());

  const Function found = runtime.function("test.sum").value();

  EXPECT_EQ(found(1, 2, 3)->integer().value(), 6);
  EXPECT_EQ(found()->integer().value(), 0);
}

TEST_F(AddedFunction, ReceivesTheArgumentsOfCompiledCode) {
  std::vector<std::string> received;
  ASSERT_TRUE(runtime
                  .add_function("test.host_fn",
                                [&](std::span<const gantry_value> args) -> Result<Any> {
                                  received = {concat(gantry_value_tensor(&args[0])->shape[0]),
                                              concat(value_int(args[1]).value()),
                                              std::string(value_text(args[2]).value()),
                                              concat(args[3].f)};
                                  return Any();
                                })
                  .ok());
  const Tensor tensor = runtime.tensor({4}, {2, 32, 1}).value();
  std::fill_n(tensor.elements<float>().begin(), 4, 1.0f);

  const auto called = compiled("callhost")(tensor, 9);

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_THAT(received, ElementsAre("4", "9", "a tag string", "1.5"));
}

TEST_F(AddedFunction, IsFoundByCodeThatWasLoadedBefore) {
  const Function boom = compiled("boom");
  EXPECT_THAT(boom(9).error().message.text(), HasSubstr("test.boom"));
  ASSERT_TRUE(runtime.add_function("test.boom", sum).ok());

  EXPECT_TRUE(boom(9).ok());
}

TEST_F(AddedFunction, RaisesAnErrorThroughCompiledCode) {
  const Error error = error_through_compiled_code([this](auto) -> Result<Any> {
    return raised_error(runtime.host(), "ValueError", "boom\n\nfrom host");
  });

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "HOST_CODE");
  EXPECT_THAT(error.message.text(), StartsWith("boom\n  from host\n  in host function \"boom\""));
  ASSERT_TRUE(raised(error));
  EXPECT_EQ(raised(error)->kind, "ValueError");
  EXPECT_EQ(raised(error)->text, "boom\n\nfrom host");
}

TEST_F(AddedFunction, ReturnsAnErrorThroughCompiledCode) {
  const Error error = error_through_compiled_code(
      [](auto) -> Result<Any> { return unavailable("the camera is off").with_reason("CAMERA"); });

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "CAMERA");
  EXPECT_THAT(error.message.text(), StartsWith("the camera is off\n"));
  EXPECT_FALSE(raised(error));
}

TEST_F(AddedFunction, ThrowsAnExceptionThroughCompiledCode) {
  const Error error =
      error_through_compiled_code([](auto) -> Result<Any> { throw std::runtime_error("no file"); });

  EXPECT_EQ(error.code, Code::bug);
  EXPECT_EQ(error.reason, "EXCEPTION");
  EXPECT_THAT(error.message.text(), StartsWith("no file\n"));
}

TEST_F(AddedFunction, OfANameInUseIsRefused) {
  ASSERT_TRUE(runtime.add_function("test.sum", sum).ok());

  const Status again = runtime.add_function("test.sum", sum);
  const Status of_core = runtime.add_function("__tvm_set_device", sum);

  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().message, "global function \"test.sum\" exists already");
  EXPECT_EQ(of_core.error().message, "global function \"__tvm_set_device\" exists already");
}

TEST_F(AddedFunction, WithoutANameOrABodyIsRefused) {
  const Status nameless = runtime.add_function("", sum);
  const Status empty = runtime.add_function("test.sum", {});

  EXPECT_EQ(nameless.error().code, Code::invalid);
  EXPECT_EQ(nameless.error().message, "function_add: the function has an empty name");
  EXPECT_EQ(empty.error().code, Code::invalid);
  EXPECT_EQ(empty.error().message, "function_add: the function is empty");
}

TEST_F(AddedFunction, ThatIsMissingIsReportedWithThoseThatExist) {
  ASSERT_TRUE(runtime.add_function("test.sum", sum).ok());

  const auto missing = runtime.function("test.som");

  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().reason, "GLOBAL_MISSING");
  EXPECT_EQ(missing.error().message,
            "global function \"test.som\" not found, and no plugin offers it; global functions: "
            "__tvm_set_device, runtime.TVMSetStream, test.sum");
}

TEST(AddedFunctionState, EndsWithTheRuntime) {
  const auto state = std::make_shared<int>(7);
  {
    Runtime runtime = test::make_runtime();
    ASSERT_TRUE(runtime
                    .add_function("test.state",
                                  [state](auto) -> Result<Any> {
                                    return Any(Value::adopt(int_value(*state)));
                                  })
                    .ok());
    ASSERT_FALSE(runtime.add_function("test.state", [state](auto) { return Any(); }).ok());
    EXPECT_EQ(state.use_count(), 2);
  }
  EXPECT_EQ(state.use_count(), 1);
}

TEST(AddedFunctionState, IsKeptByAHandleOfTheFunction) {
  const auto state = std::make_shared<int>(7);
  Function function;
  {
    Runtime runtime = test::make_runtime();
    ASSERT_TRUE(runtime
                    .add_function("test.state",
                                  [state](auto) -> Result<Any> {
                                    return Any(Value::adopt(int_value(*state)));
                                  })
                    .ok());
    function = runtime.function("test.state").value();
  }

  EXPECT_EQ(function()->integer().value(), 7);
  function = {};
  EXPECT_EQ(state.use_count(), 1);
}

TEST_F(AddedFunction, IsCalledAndAddedOnSeveralThreads) {
  constexpr int threads = 4, calls = 100;
  std::atomic<int> count{0};
  ASSERT_TRUE(runtime
                  .add_function("test.boom",
                                [&](auto) -> Result<Any> {
                                  ++count;
                                  return Any();
                                })
                  .ok());
  const Function boom = compiled("boom");
  std::atomic<int> added{0};
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        for (int call = 0; call < calls; ++call) {
          EXPECT_TRUE(boom(9).ok());
          added += runtime.add_function(concat("test.", call), sum).ok();
        }
      });
    }
  }

  EXPECT_EQ(count, threads * calls);
  EXPECT_EQ(added, calls);
}

}  // namespace
}  // namespace gantry
