// SPDX-License-Identifier: Apache-2.0
//
// CPU code of TVM 0.21 to 0.24, for which no golden file exists: C sources compiled against the
// layouts of each release, called with every kind of argument.
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace gantry {
namespace {

using test::linked_releases;
using test::LinkedRelease;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<LinkedRelease> ffi_releases() {
  std::vector<LinkedRelease> found;
  std::ranges::copy_if(linked_releases, std::back_inserter(found),
                       [](const LinkedRelease& release) { return release.minor >= 21; });
  return found;
}

class FfiRelease : public ::testing::TestWithParam<LinkedRelease> {
 protected:
  Function function(const char* name) {
    auto found = model.function(name);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *found : Function();
  }
  Tensor numbers() {
    const Tensor x = runtime.tensor({2, 2}, dtypes::float32).value();
    std::ranges::copy(std::vector<float>{1, 2, 3, 4}, x.elements<float>().begin());
    return x;
  }
  bool is_first() const { return GetParam().minor == 21; }

  Runtime runtime = test::make_runtime();
  // A library without imports has no container.
  Module model = runtime.load(test::link_release(GetParam(), "functions.c", {})).value();
};

TEST_P(FfiRelease, TakesAndReturnsNumbers) {
  EXPECT_EQ(function("sum")(3, 0.25)->number().value(), 3.25);
  EXPECT_EQ(function("negative")(7)->integer().value(), -7);
  EXPECT_TRUE(function("nothing")()->is_none());
}

TEST_P(FfiRelease, TakesTextsInEveryForm) {
  const Function text_size = function("text_size");

  EXPECT_EQ(text_size("a text by address")->integer().value(), 17);
  EXPECT_EQ(text_size(runtime.text("small").value())->integer().value(), 5);
  EXPECT_EQ(text_size(runtime.text("a text in an object").value())->integer().value(), 19);
}

TEST_P(FfiRelease, TakesTensors) {
  const Tensor x = numbers(), y = numbers();

  ASSERT_TRUE(function("scale")(x, 0.5, y).ok());

  EXPECT_THAT(y.elements<float>(), ElementsAre(0.5F, 1, 1.5F, 2));
}

TEST_P(FfiRelease, RaisesErrorsWithTheirKind) {
  const auto called = function("sum")("text", 1);

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().reason, "HOST_CODE");
  ASSERT_TRUE(raised(called.error()));
  EXPECT_EQ(raised(called.error())->kind, "TypeError");
  EXPECT_EQ(raised(called.error())->text, "Mismatched type on argument #0, expected int");
  EXPECT_THAT(called.error().message, HasSubstr("\n  in host function \"sum\" of "));
}

TEST_P(FfiRelease, CallsFunctionsByName) {
  ASSERT_TRUE(runtime
                  .add_function("test.add",
                                [](std::span<const gantry_value> args) -> Result<Any> {
                                  return Any(Value::adopt(int_value(value_int(args[0]).value() +
                                                                    value_int(args[1]).value())));
                                })
                  .ok());

  EXPECT_EQ(function("call_by_name")("test.add", 30, 12)->integer().value(), 42);
}

TEST_P(FfiRelease, PassesTensorsAndTextsToFunctions) {
  std::vector<std::string> seen;
  ASSERT_TRUE(runtime
                  .add_function("test.look",
                                [&](std::span<const gantry_value> args) -> Result<Any> {
                                  for (const gantry_value& arg : args) {
                                    if (const gantry_tensor* tensor = gantry_value_tensor(&arg))
                                      seen.push_back(concat("tensor ", tensor->shape[1]));
                                    if (const auto text = value_text(arg)) seen.emplace_back(*text);
                                  }
                                  return Any();
                                })
                  .ok());

  ASSERT_TRUE(function("call_by_name")("test.look", numbers(), "a text by address",
                                       runtime.text("small").value())
                  .ok());

  EXPECT_THAT(seen, ElementsAre("tensor 2", "a text by address", "small"));
}

TEST_P(FfiRelease, ReadsAndReturnsTheTextsOfFunctions) {
  for (const std::string_view text : {"small", "a text in an object"}) {
    const std::string name = concat("test.", text);
    ASSERT_TRUE(runtime.add_function(name, [this, text](auto) { return runtime.text(text); }).ok());

    EXPECT_EQ(function("size_of_result")(name)->integer().value(),
              static_cast<std::int64_t>(text.size()));
  }
  EXPECT_EQ(function("call_by_name")("test.a text in an object")->text().value(),
            "a text in an object");
}

TEST_P(FfiRelease, ReportsTheErrorOfAFunctionThatItCalls) {
  ASSERT_TRUE(runtime
                  .add_function("test.boom",
                                [this](std::span<const gantry_value>) -> Result<Any> {
                                  return raised_error(runtime.host(), "ValueError",
                                                      "boom from host");
                                })
                  .ok());

  const auto called = function("call_by_name")("test.boom");

  ASSERT_FALSE(called.ok());
  ASSERT_TRUE(raised(called.error())) << called.error().message;
  EXPECT_EQ(raised(called.error())->kind, "ValueError");
  EXPECT_THAT(called.error().message, StartsWith("boom from host\n"));
}

TEST_P(FfiRelease, UsesWorkspaces) { EXPECT_TRUE(function("use_workspace")(4096).ok()); }

TEST_P(FfiRelease, HasAnEntry) {
  EXPECT_EQ(function("__tvm_main__")()->integer().value(), GetParam().minor);
}

TEST_P(FfiRelease, ListsItsFunctions) {
  EXPECT_THAT(model.functions().value(),
              ::testing::UnorderedElementsAre("sum", "negative", "nothing", "text_size", "scale",
                                              "call_by_name", "size_of_result", "use_workspace",
                                              "best_boxes", is_first() ? "entry" : "main"));
}

TEST_P(FfiRelease, TakesOtherObjectsIfItsLayoutIsThatOfTheRuntime) {
  const Any shape = runtime.shape({1}).value();

  const auto called = function("nothing")(shape);

  ASSERT_EQ(called.ok(), !is_first());
  if (!is_first()) return;
  EXPECT_EQ(called.error().reason, "ARGUMENT_KIND");
  EXPECT_THAT(called.error().message,
              StartsWith("argument 0 is a shape, which code of TVM 0.21 and gantry store "
                         "differently\n"));
}

INSTANTIATE_TEST_SUITE_P(Releases, FfiRelease, ::testing::ValuesIn(ffi_releases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
