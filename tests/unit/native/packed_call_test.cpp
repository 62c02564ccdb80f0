// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_call.hpp"

#include "core/base/trace/span.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/native/packed_call.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace gantry::test {
namespace {

TEST_F(PackedCall, PassesEachKindWithItsTypeCode) {
  gantry_tensor tensor{};
  const gantry_bytes bytes{"abc", 3};
  gantry_value bytes_ref = value_of_kind(GANTRY_BYTES_REF);
  bytes_ref.bytes = &bytes;
  const Value text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const Value blob(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());
  const Ref<FunctionObject> echo = function_of(node, "echo");

  const auto result = call_named(
      node, "codes_of",
      {int_value(1), value_of_kind(GANTRY_BOOL), value_of_kind(GANTRY_FLOAT),
       value_of_kind(GANTRY_POINTER), value_of_kind(GANTRY_NONE), value_of_kind(GANTRY_DTYPE),
       value_of_kind(GANTRY_DEVICE), tensor_ref_value(&tensor), text_value("x"), text.get(),
       bytes_ref, blob.get(), value_of_kind(GANTRY_SMALL_STRING), value_of_kind(GANTRY_SMALL_BYTES),
       value_of(echo.base()), value_of(node.base())});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(static_cast<std::uint64_t>(result->get().i), 0x00234567BBCCBCA9u);
}

// Callers that lay out arguments themselves enter through FunctionObject::packed.
TEST_F(PackedCall, IsEnteredWithArgumentsInItsOwnLayout) {
  const Ref<FunctionObject> sum = function_of(node, "sum");
  const Ref<FunctionObject> raise = function_of(node, "raise_text");
  PackedValue values[] = {{.i = 2}, {.i = 5}};
  int codes[] = {kPackedInt, kPackedInt};
  gantry_value result{};
  ASSERT_NE(sum->packed, nullptr);
  EXPECT_EQ(sum->cpp_call, nullptr) << "tvm-ffi calls it whenever it is not NULL";

  EXPECT_EQ(sum->packed(sum->target.self, &sum->env, values, codes, 2, &result, nullptr),
            GANTRY_OK);
  EXPECT_EQ(result.kind, GANTRY_INT);
  EXPECT_EQ(result.i, 7);

  values[0].s = "no luck";
  codes[0] = kPackedString;
  result = {};
  StatusBuffer status;
  const gantry_code code =
      raise->packed(raise->target.self, &raise->env, values, codes, 1, &result, status.get());
  EXPECT_EQ(status.error(code, "raise").message, refused_in("no luck", "raise_text"));
}

TEST_F(PackedCall, TranslatesTensorsInItsOwnLayout) {
  artifact_of(*node).device_numbers = {{5, 100}};
  const Ref<FunctionObject> device_of = function_of(node, "device_of_tensor");
  gantry_tensor tensor{};
  tensor.device = {100, 0};
  PackedValue value{.p = &tensor};
  int code = kPackedTensor;
  gantry_value result{};

  ASSERT_EQ(device_of->packed(device_of->target.self, &device_of->env, &value, &code, 1, &result,
                              nullptr),
            GANTRY_OK);

  EXPECT_EQ(result.i, 5);

  StatusBuffer status;
  code = kPackedObject;
  const gantry_code refused = device_of->packed(device_of->target.self, &device_of->env, &value,
                                                &code, 1, &result, status.get());
  EXPECT_EQ(status.error(refused, "").message, "argument 0 is not an object of this runtime");
}

TEST_F(PackedCall, RejectsANegativeNumberOfArguments) {
  const Ref<FunctionObject> sum = function_of(node, "sum");
  gantry_value result{};
  StatusBuffer status;

  const gantry_code code =
      host_function_table()->call(sum->target.self, &sum->env, nullptr, -1, &result, status.get());
  EXPECT_EQ(status.error(code, "").message, "a call has -1 arguments, minimum is 0");

  EXPECT_EQ(call_from_cpu_code(sum.get(), nullptr, nullptr, -1, nullptr, nullptr), -1);
  EXPECT_EQ(here().error.message, "a call has -1 arguments, minimum is 0");
}

TEST_F(PackedCall, OfATracedArtifactHasNoOtherEntry) {
  TraceRecorder trace;
  artifact_of(*node).trace = &trace;

  EXPECT_EQ(function_of(node, "sum")->packed, nullptr);
  EXPECT_EQ(call_named(node, "sum", {int_value(1)})->get().i, 1);
}

TEST_F(PackedCall, AcceptsATensorObject) {
  gantry_tensor like{};
  like.device = {kCpu, 0};
  like.dtype = {2, 32, 1};
  auto tensor = tensor_new(world.devices, like);
  ASSERT_TRUE(tensor.ok());

  const auto result = call_named(node, "device_of_tensor", {value_of(tensor->base())});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->get().i, kCpu);
}

TEST_F(PackedCall, ReturnsEachKindOfValue) {
  const gantry_value number = float_value(2.5);
  gantry_value pointer = value_of_kind(GANTRY_POINTER);
  pointer.p = this;
  const gantry_value dtype = dtype_value({2, 16, 4});
  const gantry_value device = device_value({4, 2});

  EXPECT_EQ(call_named(node, "echo")->get().kind, GANTRY_NONE);
  EXPECT_EQ(call_named(node, "echo", {int_value(-3)})->get().i, -3);
  EXPECT_EQ(call_named(node, "echo", {number})->get().f, 2.5);
  EXPECT_EQ(call_named(node, "echo", {pointer})->get().p, this);
  EXPECT_EQ(call_named(node, "echo", {dtype})->get().dtype.lanes, 4);
  EXPECT_EQ(call_named(node, "echo", {device})->get().device.index, 2);
  const auto boolean = call_named(node, "return_code", {int_value(15), int_value(7)});
  EXPECT_EQ(boolean->get().kind, GANTRY_BOOL);
  EXPECT_EQ(boolean->get().i, 1);
  for (const std::int64_t truth : {0, 1}) {
    EXPECT_EQ(call_named(node, "return_code", {int_value(15), int_value(truth)})->get().i, truth);
  }
  const auto narrow =
      call_named(node, "return_code", {int_value(kPackedDtype), int_value(0x7700010802)});
  EXPECT_EQ(narrow->get().i, 0x00010802) << "bytes outside of the type";
}

TEST_F(PackedCall, CopiesTheTextsThatItReturns) {
  std::string text = "hello";
  const gantry_bytes bytes{"a\0b", 3};
  gantry_value bytes_ref = value_of_kind(GANTRY_BYTES_REF);
  bytes_ref.bytes = &bytes;

  const auto back = call_named(node, "echo", {text_value(text.c_str())});
  const auto blob = call_named(node, "echo", {bytes_ref});
  text = "other";

  ASSERT_TRUE(back.ok() && blob.ok());
  EXPECT_EQ(back->get().kind, GANTRY_SMALL_STRING);
  EXPECT_EQ(text_of(back->get()), "hello");
  EXPECT_EQ(blob->get().kind, GANTRY_SMALL_BYTES);
  EXPECT_EQ(text_of(blob->get()), std::string("a\0b", 3));
}

TEST_F(PackedCall, RetainsTheFunctionsAndModulesThatItReturns) {
  Value kept;
  {
    const Ref<FunctionObject> sum = function_of(node, "sum");
    kept = *call_named(node, "echo", {value_of(sum.base())});
  }
  const auto module = call_named(node, "echo", {value_of(node.base())});

  ASSERT_EQ(kept.get().kind, GANTRY_FUNCTION);
  auto& function = *reinterpret_cast<FunctionObject*>(kept.get().object);
  const gantry_value args[] = {int_value(2), int_value(5)};
  EXPECT_EQ(call(function, nullptr, args)->get().i, 7);
  EXPECT_EQ(module->get().object, node.base());
}

TEST_F(PackedCall, ReadsSmallStringsAndSmallBytes) {
  gantry_value small = value_of_kind(GANTRY_SMALL_STRING);
  small.small_size = 7;
  std::memcpy(small.small, "abcdefg", 8);
  gantry_value bytes = value_of_kind(GANTRY_SMALL_BYTES);
  bytes.small_size = 8;
  std::memcpy(bytes.small, "a\0cdefgh", 8);

  EXPECT_EQ(call_named(node, "length_of", {small})->get().i, 7);
  EXPECT_EQ(call_named(node, "length_of", {bytes})->get().i, 8);
}

TEST_F(PackedCall, ReadsTextAndBytesObjects) {
  const Value text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const Value bytes(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());

  EXPECT_EQ(call_named(node, "length_of", {text.get()})->get().i, 13);
  EXPECT_EQ(call_named(node, "length_of", {bytes.get()})->get().i, 14);
}

TEST_F(PackedCall, HasNoLimitOnArguments) {
  std::vector<gantry_value> args;
  for (int i = 1; i <= 300; ++i) args.push_back(int_value(i));

  EXPECT_EQ(call_named(node, "sum", args)->get().i, 300 * 301 / 2);

  const Ref<FunctionObject> sum = function_of(node, "sum");
  ASSERT_TRUE(world.globals->add("sum", sum).ok());
  args.insert(args.begin(), text_value("sum"));
  EXPECT_EQ(call_named(node, "call_by_name", args)->get().i, 300 * 301 / 2);
}

TEST_F(PackedCall, DoesNotReportAnErrorThatItsCalleeHandled) {
  const Ref<FunctionObject> raise = function_of(node, "raise_text");
  static constexpr gantry_function_table table{
      sizeof(gantry_function_table), 0, nullptr,
      [](void* self, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
         gantry_status*) -> gantry_code {
        const gantry_value args[] = {text_value("handled")};
        EXPECT_FALSE(call(*static_cast<FunctionObject*>(self), nullptr, args).ok());
        return GANTRY_OK;
      }};
  const auto handles = std::move(new_function({raise.get(), &table}, {}, 0)).value();

  const auto result =
      call_named(node, "call_and_return", {int_value(-1), value_of(handles.base())});

  EXPECT_EQ(message_of(result),
            refused_in("it fails without an error text: it was compiled without them",
                       "call_and_return"));
}

TEST_F(PackedCall, DoesNotReportAnErrorThatAnEarlierCallIgnored) {
  const auto mute = function_of(node, "raise_text");
  ASSERT_TRUE(call_named(node, "call_and_return",
                         {int_value(0), value_of(mute.base()), text_value("ignored")})
                  .ok());

  EXPECT_EQ(
      message_of(call_named(node, "fail_mute")),
      refused_in("it fails without an error text: it was compiled without them", "fail_mute"));
}

struct BadArgument {
  std::string name;
  gantry_value value;
  std::string message;
};
class PackedCallRejects : public PackedCall, public ::testing::WithParamInterface<BadArgument> {};

TEST_P(PackedCallRejects, AtTheWrongArgument) {
  const auto result = call_named(node, "echo", {int_value(1), GetParam().value});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(result.error().message, refused_in("argument 1 is " + GetParam().message, "echo"));
}

constexpr char kTakes[] =
    "; CPU code takes numbers, texts, tensors, pointers, devices, dtypes, functions and modules";
INSTANTIATE_TEST_SUITE_P(
    Arguments, PackedCallRejects,
    ::testing::Values(
        BadArgument{"Map", value_of_kind(GANTRY_MAP), std::string("a map") + kTakes},
        BadArgument{"Shape", value_of_kind(GANTRY_SHAPE), std::string("a shape") + kTakes},
        BadArgument{"Array", value_of_kind(GANTRY_ARRAY), std::string("an array") + kTakes},
        BadArgument{"Object", value_of_kind(GANTRY_OBJECT), std::string("an object") + kTakes},
        BadArgument{"Kind99", value_of_kind(99), std::string("of kind 99") + kTakes},
        BadArgument{"NullTensor", value_of_kind(GANTRY_TENSOR_REF), "a tensor at address 0"},
        BadArgument{"NullText", value_of_kind(GANTRY_CSTRING), "a string at address 0"},
        BadArgument{"NullBytes", value_of_kind(GANTRY_BYTES_REF), "bytes at address 0"},
        BadArgument{"LongSmallText", small(GANTRY_SMALL_STRING, 8, "abcdefg"),
                    "a small string of 8 bytes, maximum is 7"},
        BadArgument{"OpenSmallText", small(GANTRY_SMALL_STRING, 3, "abcdefg"),
                    "a small string that is not padded with zeros"},
        BadArgument{"LongSmallBytes", small(GANTRY_SMALL_BYTES, 9, "abcdefg"),
                    "small bytes of 9 bytes, maximum is 8"},
        BadArgument{"NulInText", small(GANTRY_SMALL_STRING, 3, "a\0c\0\0\0\0"),
                    "a string with a NUL inside, which CPU code cannot take"}),
    [](const auto& test) { return test.param.name; });

TEST_F(PackedCall, RejectsResultsThatHaveNoOwner) {
  constexpr std::pair<int, const char*> cases[] = {
      {7, " (a tensor), which only the runtime that created it can own"},
      {13, " (a tensor), which only the runtime that created it can own"},
      {8, ", which cannot be passed to callers"},
      {14, ", which cannot be passed to callers"},
      {16, ", which cannot be passed to callers"},
      {-1, ", which cannot be passed to callers"},
      {9, ", but the object is not one of this runtime"},
      {10, ", but the object is not one of this runtime"},
      {11, " (a string) at address 0"},
      {12, " (bytes) at address 0"},
  };
  for (const auto& [code, why] : cases) {
    const auto result = call_named(node, "return_code", {int_value(code), int_value(0)});

    ASSERT_FALSE(result.ok()) << code;
    EXPECT_EQ(result.error().code, Code::unsupported);
    EXPECT_EQ(result.error().reason, "HOST_RESULT");
    EXPECT_EQ(result.error().message,
              refused_in(concat("it returns a value of type code ", code, why), "return_code"));
  }
}

TEST_F(PackedCall, ReportsTheErrorTextOfCpuCode) {
  const auto result = call_named(node, "raise_text", {text_value("ndim is 2, 1 expected")});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().reason, "HOST_CODE");
  EXPECT_EQ(result.error().message, refused_in("ndim is 2, 1 expected", "raise_text"));
}

TEST_F(PackedCall, ReportsALongTextCompletely) {
  const std::string text(1500, 'x');

  EXPECT_EQ(message_of(call_named(node, "raise_text", {text_value(text.c_str())})),
            refused_in(text, "raise_text"));
}

TEST_F(PackedCall, DoesNotReportTheTextOfAnEarlierCall) {
  ASSERT_FALSE(call_named(node, "raise_text", {text_value("of another call")}).ok());

  EXPECT_EQ(
      message_of(call_named(node, "fail_mute")),
      refused_in("it fails without an error text: it was compiled without them", "fail_mute"));
  EXPECT_EQ(message_of(call_named(node, "raise_text", {text_value("")})),
            refused_in("it fails with an empty error text", "raise_text"));
}

// A plugin's function that CPU code calls.
gantry_code fail_as_full_device(void*, const gantry_env*, const gantry_value*, std::int32_t,
                                gantry_value*, gantry_status* status) {
  gantry_fail(status, GANTRY_EXHAUSTED, "DEVICE_MEMORY", "the device is full");
  return GANTRY_EXHAUSTED;
}
constexpr gantry_function_table full_device_table{sizeof(gantry_function_table), 0, nullptr,
                                                  fail_as_full_device};

TEST_F(PackedCall, KeepsCodeReasonAndTextOfACalleesError) {
  const auto inner = std::move(new_function({nullptr, &full_device_table}, {}, 0)).value();

  const auto result = call_named(node, "length_of_result", {value_of(inner.base())});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::exhausted);
  EXPECT_EQ(result.error().reason, "DEVICE_MEMORY");
  EXPECT_EQ(result.error().message, refused_in("the device is full", "length_of_result"));
}

TEST_F(PackedCall, TranslatesTheDeviceNumbersOfTheArtifact) {
  artifact_of(*node).device_numbers = {{14, 16}};
  gantry_tensor tensor{};
  tensor.device = {16, 0};
  gantry_value device = value_of_kind(GANTRY_DEVICE);
  device.device = {16, 1};

  EXPECT_EQ(call_named(node, "device_of_tensor", {tensor_ref_value(&tensor)})->get().i, 14);
  EXPECT_EQ(tensor.device.type, 16);
  EXPECT_EQ(call_named(node, "echo", {device})->get().device.type, 16);
  EXPECT_EQ(call_named(node, "return_code", {int_value(6), int_value(14)})->get().device.type, 16);
}

TEST_F(PackedCall, TakesNoArgumentsIfDeviceNumbersAreTranslated) {
  artifact_of(*node).device_numbers = {{14, 16}};

  const auto result = call_named(node, "sum");

  ASSERT_TRUE(result.ok()) << message_of(result);
  EXPECT_EQ(result->get().i, 0);
}

}  // namespace
}  // namespace gantry::test
