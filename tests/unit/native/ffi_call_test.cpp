// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/ffi_call.hpp"
#include "core/engine/tensor/object.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string kind_of(const Error& error) {
  if (!error.raised) return "(not raised)";
  const gantry_value value = value_of(error.raised.get());
  const gantry_error* what = gantry_value_error(&value);
  return what != nullptr ? std::string(what->kind.data, what->kind.size) : "(no error)";
}

class FfiCall : public ::testing::Test {
 protected:
  Value done(std::string_view name, std::vector<gantry_value> args = {}) {
    auto result = call_named(node, name, std::move(args));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? std::move(*result) : Value();
  }
  Error error_of(std::string_view name, std::vector<gantry_value> args = {}) {
    auto result = call_named(node, name, std::move(args));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error() : std::move(result).error();
  }
  void add_global(const char* name, const gantry_function_table& table) {
    Ref<FunctionObject> function = new_function({nullptr, &table}, {}, 0).value();
    ASSERT_TRUE(world.globals->add(name, std::move(function)).ok());
  }

  HostWorld world{2};
  Ref<ModuleNode> node = world.load_whole(fixture("ffi.so"));
};

gantry_code give_back(void*, const gantry_env*, const gantry_value* args, std::int32_t,
                      gantry_value* result, gantry_status*) {
  *result = args[0];
  if (holds_object(*result)) gantry_retain(result->object);
  return GANTRY_OK;
}
constexpr gantry_function_table give_back_table{sizeof(gantry_function_table), 0, nullptr,
                                                give_back};

gantry_code refuse(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                   gantry_status* status) {
  return gantry_fail(status, GANTRY_UNSUPPORTED, "TEST", "refused by the test");
}
constexpr gantry_function_table refuse_table{sizeof(gantry_function_table), 0, nullptr, refuse};

TEST_F(FfiCall, PassesEveryKindAsItIs) {
  float data[3] = {1, 2, 4};
  std::int64_t shape[1] = {3};
  gantry_tensor tensor{data, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  gantry_value number{}, small{};
  number.kind = GANTRY_FLOAT;
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text("small"), &small);

  EXPECT_EQ(done("kinds", {int_value(5), number, tensor_ref_value(&tensor), small}).get().i,
            1030711);
  EXPECT_EQ(done("sum", {tensor_ref_value(&tensor)}).get().f, 7);
}

TEST_F(FfiCall, PassesObjectsOfTensorsAndTexts) {
  float data[2] = {1, 2};
  std::int64_t shape[1] = {2};
  const gantry_tensor like{nullptr, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  const Value tensor = owned_value(tensor_new(world.devices, like, "").value());
  std::memcpy(gantry_value_tensor(&tensor.get())->data, data, sizeof data);
  const Value text = new_text(GANTRY_STRING, "longer than seven bytes").value();

  EXPECT_EQ(done("sum", {tensor.get()}).get().f, 3);
  EXPECT_EQ(done("kinds", {tensor.get(), text.get()}).get().i, 7065);
}

TEST_F(FfiCall, PassesObjectsInTheFirstCallOfAThread) {
  const gantry_tensor like{nullptr, {1, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0};
  const Value tensor = owned_value(tensor_new(world.devices, like, "").value());

  std::thread([&] { EXPECT_EQ(done("kinds", {tensor.get()}).get().i, 70); }).join();
}

TEST_F(FfiCall, ReturnsNumbersAndNone) {
  EXPECT_EQ(done("give_back", {int_value(-7)}).get().i, -7);
  EXPECT_EQ(done("give_back", {gantry_value{}}).get().kind, GANTRY_NONE);
}

TEST_F(FfiCall, RejectsABorrowedResult) {
  const Error error = error_of("give_back", {text_value("borrowed")});

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "HOST_RESULT");
  EXPECT_THAT(error.message, StartsWith("it returns "));
}

TEST_F(FfiCall, ReportsTheKindAndTheTextThatTheCodeRaises) {
  const Error error = error_of("raise", {text_value("n is 3")});

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "HOST_CODE");
  EXPECT_EQ(kind_of(error), "ValueError");
  EXPECT_EQ(error.message,
            "n is 3 of 6 bytes\n  in host function \"raise\" of entry 0 \"_lib\" of ffi.so");
}

TEST_F(FfiCall, ReportsATextInOnePart) {
  const Error error = error_of("raise_one");

  EXPECT_EQ(kind_of(error), "TypeError");
  EXPECT_THAT(error.message, StartsWith("one text\n"));
}

TEST_F(FfiCall, ReportsAFailureWithoutAnError) {
  EXPECT_THAT(error_of("fail_silently").message, StartsWith("it fails without an error text"));
}

TEST_F(FfiCall, FindsFunctionsOfTheRuntimeInBothWays) {
  add_global("test.give_back", give_back_table);

  EXPECT_EQ(done("call_import", {text_value("test.give_back"), int_value(3)}).get().i, 3);
  EXPECT_EQ(done("call_from_env", {text_value("test.give_back"), int_value(4)}).get().i, 4);
}

TEST_F(FfiCall, ReportsAFunctionThatNobodyHas) {
  const Error error = error_of("call_import", {text_value("test.nobody")});

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.message, HasSubstr("while CPU code looks up \"test.nobody\""));
}

TEST_F(FfiCall, TakesFunctionsAsArguments) {
  const auto function = new_function({nullptr, &give_back_table}, {}, 0).value();
  const Value text = new_text(GANTRY_STRING, "returned by a function").value();

  const Value result = done("call", {value_of(function.base()), text.get()});

  EXPECT_EQ(text_of(result.get()), "returned by a function");
}

TEST_F(FfiCall, KeepsTheErrorOfAFunctionThatItCalls) {
  const auto function = new_function({nullptr, &refuse_table}, {}, 0).value();

  const Error error = error_of("call", {value_of(function.base())});

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "TEST");
  EXPECT_THAT(error.message, StartsWith("refused by the test\n"));
}

TEST_F(FfiCall, RejectsAHandleThatIsNotAFunction) {
  const Value text = new_text(GANTRY_STRING, "not a function").value();

  EXPECT_THAT(error_of("call", {text.get()}).message,
              StartsWith("TVMFFIFunctionCall receives a handle that is not a function\n"));
}

TEST_F(FfiCall, InitializesASlotOnceUnlessThatFails) {
  EXPECT_EQ(kind_of(error_of("init_once", {int_value(1)})), "RuntimeError");
  EXPECT_EQ(done("init_once", {int_value(0)}).get().i, 2);
  EXPECT_EQ(done("init_once", {int_value(0)}).get().i, 2);
}

TEST_F(FfiCall, RejectsAnInitializerWithoutHandle) {
  EXPECT_THAT(error_of("init_without_handle").message,
              StartsWith("an initializer of compiled code returns no handle\n"));
}

TEST_F(FfiCall, ProvidesTheStreamOfTheCall) {
  int stream = 0;
  const gantry_env env{{2, 1}, &stream, nullptr, nullptr};
  const Ref<FunctionObject> function = function_of(node, "stream");
  const gantry_value own[] = {int_value(2), int_value(1)}, other[] = {int_value(2), int_value(0)};

  EXPECT_EQ(call(*function, &env, own).value().get().p, &stream);
  EXPECT_EQ(call(*function, &env, other).value().get().p, nullptr);
}

TEST_F(FfiCall, ProvidesWorkspaces) { done("workspace", {int_value(4096)}); }

TEST_F(FfiCall, RunsTasksOnThePool) { EXPECT_EQ(done("parallel", {int_value(2)}).get().i, 3); }

TEST_F(FfiCall, MovesValuesOfALists) {
  const auto function = new_function({nullptr, &give_back_table}, {}, 0).value();
  const Value text = new_text(GANTRY_STRING, "an object with a count").value();
  Value first = text, second = owned_value(Ref<FunctionObject>::share(function.get()));
  gantry_value list[2] = {first.take(), second.take()}, address{};
  address.kind = GANTRY_POINTER;
  address.p = list;

  const Value left = done("use_list", {address, value_of(function.base())});

  EXPECT_EQ(left.get().i, GANTRY_NONE);
  EXPECT_EQ(list[0].kind, GANTRY_NONE);
  EXPECT_EQ(list[1].object, text.get().object);
  EXPECT_EQ(text.get().object->counts & UINT32_MAX, 2u);
  EXPECT_EQ(function->header.counts & UINT32_MAX, 1u);
  const Value rest = Value::adopt(list[1]);
}

// Code of TVM 0.21, whose objects have a shorter header and other numbers.
class FfiCall21 : public FfiCall {
 protected:
  FfiCall21() {
    const_cast<Artifact&>(*node->artifact).container.facts.dialect = Dialect::ffi_0_21;
  }
};

TEST_F(FfiCall21, ReceivesTensorsAndTextsByAddress) {
  std::int64_t shape[1] = {2};
  const gantry_tensor like{nullptr, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  const Value tensor = owned_value(tensor_new(world.devices, like, "").value());
  const Value text = new_text(GANTRY_STRING, "longer than seven bytes").value();
  const Value bytes = new_text(GANTRY_BYTES, "longer than seven bytes").value();

  EXPECT_EQ(done("kinds", {tensor.get(), text.get(), bytes.get(), int_value(1)}).get().i, 7080901);
}

TEST_F(FfiCall21, ReturnsNoObjectsOfItsOwn) {
  const Error error = error_of("own_text");

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "HOST_RESULT");
  EXPECT_THAT(error.message,
              StartsWith("it returns a string, which only code of the same runtime can take\n"));
}

TEST_F(FfiCall21, RejectsOtherObjects) {
  const std::int64_t dims[] = {1};
  const auto shape = new_shape(dims).value();

  const Error error = error_of("kinds", {value_of(shape.base())});

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "ARGUMENT_KIND");
  EXPECT_THAT(error.message, StartsWith("argument 0 is "));
}

}  // namespace
}  // namespace gantry::test
