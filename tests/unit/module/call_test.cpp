// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/module_graph.hpp"
#include "tests/unit/module/fake_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace gantry {
namespace {

using test::fake_node;
using test::plain_function;

gantry_function_table calls(test::PlainCall code) {
  return {sizeof(gantry_function_table), 0, nullptr, code};
}

// An object that counts its destructions.
struct Counted {
  gantry_object header;
  int ends = 0;
};
Counted counted() {
  return {fresh_header(GANTRY_OBJECT,
                       [](void* self, std::int32_t) { ++static_cast<Counted*>(self)->ends; })};
}

TEST(Call, PassesEnvAndArgumentsAndReturnsTheResult) {
  const auto table = calls([](void*, const gantry_env* env, const gantry_value* args,
                              std::int32_t count, gantry_value* result, gantry_status*) {
    result->kind = GANTRY_INT;
    result->i = env->device.index * 100 + args[count - 1].i;
    return gantry_code{GANTRY_OK};
  });
  const auto function = plain_function(table);
  const gantry_env env{{4, 3}, nullptr, nullptr, nullptr};
  gantry_value args[2] = {{GANTRY_INT, 0, {5}}, {GANTRY_INT, 0, {6}}};

  const auto result = call(*function, &env, args);

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->get().i, 306);
}

TEST(Call, WithoutEnvRunsOnTheFirstCpu) {
  const auto table = calls([](void*, const gantry_env* env, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status*) {
    result->kind = GANTRY_DEVICE;
    result->device = env->device;
    return gantry_code{GANTRY_OK};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->get().device.type, 1);
  EXPECT_EQ(result->get().device.index, 0);
}

TEST(Call, WithoutEnvRunsOnTheFunctionsDeviceType) {
  const auto table = calls([](void*, const gantry_env* env, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status*) {
    result->kind = GANTRY_DEVICE;
    result->device = env->device;
    return gantry_code{GANTRY_OK};
  });
  const auto function = new_function({nullptr, &table}, {}, 7).value();

  const auto result = call(*function, nullptr, {});

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->get().device.type, 7);
  EXPECT_EQ(result->get().device.index, 0);
}

TEST(Call, PassesAnErrorObjectOfTheCallee) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_INVALID, "RAISED", "ValueError: no");
    gantry_error what{};
    what.kind = gantry_text("ValueError");
    status->error = reinterpret_cast<gantry_object*>(std::move(new_error(what)).value().take());
    return gantry_code{GANTRY_INVALID};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  ASSERT_TRUE(result.error().raised);
  const auto* error = reinterpret_cast<const gantry_error*>(result.error().raised.get() + 1);
  EXPECT_EQ(std::string(error->kind.data, error->kind.size), "ValueError");
  EXPECT_EQ(result.error().raised.get()->counts & UINT32_MAX, 1u) << "nobody else holds it";
}

TEST(Call, KeepsAnErrorObjectWithoutAText) {
  const auto table = calls([](void* self, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_INVALID, "RAISED", "");
    status->error = static_cast<gantry_object*>(self);
    return gantry_code{GANTRY_INVALID};
  });
  Counted object = counted();
  {
    const auto result = call(*plain_function(table, &object), nullptr, {});

    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "a global function fails with code 5 and without a text");
    EXPECT_EQ(result.error().raised.get(), &object.header);
  }
  EXPECT_EQ(object.ends, 1);
}

TEST(Call, ReturnsTheTextOfTheCalleeUnchanged) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_EXHAUSTED, "DEVICE_MEMORY", "12 bytes free, 13 wanted");
    status->native_code = -4;
    return gantry_code{GANTRY_EXHAUSTED};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::exhausted);
  EXPECT_EQ(result.error().reason, "DEVICE_MEMORY");
  EXPECT_EQ(result.error().native_code, -4);
  EXPECT_EQ(result.error().message, "12 bytes free, 13 wanted");
}

TEST(Call, ReportsACalleeWithoutAText) {
  const auto table =
      calls([](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
               gantry_status*) { return gantry_code{GANTRY_INVALID}; });

  const auto result = call(*plain_function(table, nullptr, fake_node("mute")), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().message,
            "a function of module \"mute\" fails with code 5 and without a text");
}

TEST(Call, NamesACalleeThatThrows) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status*) -> gantry_code {
    *result = {GANTRY_INT, 0, {}};
    throw std::runtime_error("seven");
  });
  auto node = fake_node("wild");
  node->plugin = "acme.npu";

  const auto result = call(*plain_function(table, nullptr, node), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::bug);
  EXPECT_EQ(result.error().reason, "EXCEPTION");
  EXPECT_EQ(result.error().message, "a function of module \"wild\" made by acme.npu throws: seven");
}

TEST(Call, IgnoresATextThatWasThereBeforeTheCall) {
  const auto table =
      calls([](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
               gantry_status*) { return gantry_code{GANTRY_INVALID}; });
  char text[128];
  gantry_status status{sizeof status, GANTRY_OK, text, sizeof text, 0, nullptr};
  gantry_fail(&status, GANTRY_BUG, "", "of another call");
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table), nullptr, nullptr, 0, &result, &status), GANTRY_INVALID);

  EXPECT_EQ(status.code, GANTRY_INVALID);
  EXPECT_STREQ(text, "a global function fails with code 5 and without a text");
}

TEST(Call, ConvertsAnUnknownCodeToBug) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_INVALID, "", "odd");
    return gantry_code{-1};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::bug);
  EXPECT_EQ(result.error().message,
            "odd\n  a global function fails with code -1, which is not a code of the ABI");
}

// Passes on the failure of the function that it calls.
constexpr char bad_text[] = "caf\xe9";
gantry_code call_another(void* self, const gantry_env* env, const gantry_value* args,
                         std::int32_t count, gantry_value* result, gantry_status* status) {
  return call(*static_cast<FunctionObject*>(self), env, args, count, result, status);
}

TEST(Call, NamesTheCalleeWhoseTextIsNotUtf8AlsoIfAnotherFunctionCallsIt) {
  const auto inner_table = calls([](void* self, const gantry_env*, const gantry_value*,
                                    std::int32_t, gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", bad_text);
    status->native_code = -4;
    status->error = static_cast<gantry_object*>(self);
    return gantry_code{GANTRY_UNAVAILABLE};
  });
  const auto outer_table = calls(call_another);
  Counted object = counted();
  auto culprit = fake_node("culprit"), graph = fake_node("graph");
  culprit->plugin = "acme.npu";
  graph->plugin = "gantry.graph";
  const Ref<FunctionObject> inner = plain_function(inner_table, &object, culprit);
  {
    const auto result = call(*plain_function(outer_table, inner.get(), graph), nullptr, {});

    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::unavailable);
    EXPECT_EQ(result.error().reason, "DRIVER");
    EXPECT_EQ(result.error().native_code, -4);
    EXPECT_EQ(result.error().raised.get(), &object.header);
    EXPECT_EQ(
        result.error().message,
        "caf\\xe9\n  a function of module \"culprit\" made by acme.npu returns a text that is "
        "not UTF-8");
  }
  EXPECT_EQ(object.ends, 1);
}

TEST(Call, ReleasesTheResultOfACalleeThatFails) {
  const auto table = calls([](void* self, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status* status) {
    *result = value_of(static_cast<gantry_object*>(self));
    return gantry_fail(status, GANTRY_INVALID, "", "no");
  });
  Counted object = counted();
  char text[128];
  gantry_status status{sizeof status, GANTRY_OK, text, sizeof text, 0, nullptr};
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table, &object), nullptr, nullptr, 0, &result, &status),
            GANTRY_INVALID);

  EXPECT_EQ(object.ends, 1);
  EXPECT_EQ(result.kind, GANTRY_NONE);
  EXPECT_STREQ(text, "no\n  a global function writes a result although it fails");
}

TEST(Call, RejectsABorrowedResult) {
  constexpr std::int32_t kinds[] = {
      GANTRY_TENSOR_REF, GANTRY_CSTRING, GANTRY_BYTES_REF, 10, 13, 63, -1};
  for (const std::int32_t kind : kinds) {
    const auto table = calls([](void* self, const gantry_env*, const gantry_value*, std::int32_t,
                                gantry_value* result, gantry_status*) {
      result->kind = *static_cast<std::int32_t*>(self);
      return gantry_code{GANTRY_OK};
    });
    std::int32_t self = kind;

    const auto result = call(*plain_function(table, &self), nullptr, {});

    ASSERT_FALSE(result.ok()) << kind;
    EXPECT_EQ(result.error().code, Code::bug);
    EXPECT_EQ(result.error().message, concat("a global function returns a value of kind ", kind,
                                             ", which is not a kind of result"));
  }
}

TEST(Call, RefusesAnObjectAtAddressZero) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status*) {
    result->kind = 99;
    return gantry_code{GANTRY_OK};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::bug);
  EXPECT_EQ(result.error().reason, "RESULT_KIND");
  EXPECT_EQ(result.error().message, "a global function returns an object of kind 99 at address 0");
}

TEST(Call, WorksWithoutAStatus) {
  const auto table =
      calls([](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
               gantry_status* status) { return gantry_fail(status, GANTRY_CANCELLED, "", "x"); });
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table), nullptr, nullptr, 0, &result, nullptr), GANTRY_CANCELLED);
}

TEST(Call, ReplacesATextWhoseCodeIsNotSet) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    status->text[0] = 'x';
    status->text_size = 1;
    return gantry_code{GANTRY_INVALID};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "a global function fails with code 5 and without a text");
}

TEST(Call, AddsATextToACodeWithoutOne) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    status->code = GANTRY_INVALID;
    return gantry_code{GANTRY_INVALID};
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "a global function fails with code 5 and without a text");
}

TEST(Call, KeepsTheReasonInAStatusWithoutABuffer) {
  const auto table = calls(
      [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
         gantry_status* status) { return gantry_fail(status, GANTRY_INVALID, "FAKE", "lost"); });
  gantry_status status{sizeof status, GANTRY_OK, nullptr, 0, 0, nullptr};
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table), nullptr, nullptr, 0, &result, &status), GANTRY_INVALID);

  EXPECT_EQ(status.code, GANTRY_INVALID);
  EXPECT_STREQ(status.reason, "FAKE");
}

TEST(Call, SetsTheCodeOfTheStatusToTheReturnedOne) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_EXHAUSTED, "", "full");
    return gantry_code{GANTRY_INVALID};
  });
  char text[128];
  gantry_status status{sizeof status, GANTRY_OK, text, sizeof text, 0, nullptr};
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table), nullptr, nullptr, 0, &result, &status), GANTRY_INVALID);

  EXPECT_EQ(status.code, GANTRY_INVALID);
  EXPECT_STREQ(text, "full");
}

TEST(Call, ReturnsTheLastCodeOfTheAbiAndConvertsTheNextOne) {
  const auto table = calls([](void* self, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status* status) {
    gantry_fail(status, GANTRY_INVALID, "", "odd");
    return *static_cast<gantry_code*>(self);
  });
  gantry_code last = GANTRY_LOST, next = GANTRY_LOST + 1;

  EXPECT_EQ(call(*plain_function(table, &last), nullptr, {}).error().message, "odd");
  const auto unknown = call(*plain_function(table, &next), nullptr, {});
  EXPECT_EQ(unknown.error().code, Code::bug);
  EXPECT_EQ(unknown.error().message, concat("odd\n  a global function fails with code ", next,
                                            ", which is not a code of the ABI"));
}

TEST(Call, ClearsAnObjectAtAddressZeroOfACalleeThatFails) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status* status) {
    result->kind = 99;
    return gantry_fail(status, GANTRY_INVALID, "", "no");
  });

  const auto result = call(*plain_function(table), nullptr, {});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no\n  a global function writes a result although it fails");
}

TEST(Call, ReleasesTheResultOfACalleeThatThrows) {
  const auto table = calls([](void* self, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value* result, gantry_status*) -> gantry_code {
    *result = value_of(static_cast<gantry_object*>(self));
    throw std::runtime_error("seven");
  });
  Counted object = counted();
  gantry_value result{};

  EXPECT_EQ(call(*plain_function(table, &object), nullptr, nullptr, 0, &result, nullptr),
            GANTRY_BUG);

  EXPECT_EQ(object.ends, 1);
  EXPECT_EQ(result.kind, GANTRY_NONE);
}

TEST(Call, ClearsTheResultAndTheStatusOfAnEarlierCall) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t,
                              gantry_value*, gantry_status*) { return gantry_code{GANTRY_OK}; });
  Counted object = counted();
  char text[128];
  gantry_status status{sizeof status, GANTRY_OK, text, sizeof text, 0, nullptr};
  gantry_fail(&status, GANTRY_BUG, "", "of another call");
  status.error = &object.header;
  gantry_value result{GANTRY_INT, 0, {7}};

  EXPECT_EQ(call(*plain_function(table), nullptr, nullptr, 0, &result, &status), GANTRY_OK);

  EXPECT_EQ(result.kind, GANTRY_NONE);
  EXPECT_EQ(status.code, GANTRY_OK);
  EXPECT_EQ(status.text_size, 0u);
  EXPECT_EQ(status.error, nullptr);
}

// Nothing reads the arguments.
TEST(Call, AcceptsAsManyArgumentsAsACountCanState) {
  const auto table = calls([](void*, const gantry_env*, const gantry_value*, std::int32_t count,
                              gantry_value* result, gantry_status*) {
    *result = {GANTRY_INT, 0, {count}};
    return gantry_code{GANTRY_OK};
  });
  const auto function = plain_function(table);
  const gantry_value one{};

  const auto most = call(*function, nullptr, {&one, std::size_t{INT32_MAX}});
  ASSERT_TRUE(most.ok()) << most.error().message;
  EXPECT_EQ(most->get().i, INT32_MAX);

  const auto more = call(*function, nullptr, {&one, std::size_t{INT32_MAX} + 1});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::invalid);
  EXPECT_EQ(more.error().message, "a call has 2147483648 arguments, maximum is 2147483647");
}

}  // namespace
}  // namespace gantry
