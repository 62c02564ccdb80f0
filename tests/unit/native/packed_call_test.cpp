// SPDX-License-Identifier: Apache-2.0
#include "core/native/packed/packed_call.hpp"
#include "core/native/library_context.hpp"
#include "core/native/parallel_launch.hpp"
#include "core/native/runtime_functions.hpp"

#include "core/tensor/tensor.hpp"
#include "core/trace/span.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <pthread.h>

#include <cstring>
#include <thread>
#include <utility>

namespace gantry {
namespace {

using test::call_named;
using test::fixture;
using test::function_of;
using test::HostWorld;
using test::int_value;
using test::tensor_value;
using test::text_of;
using test::text_value;
using ::testing::HasSubstr;

constexpr char kLocation[] = "entry 0 \"_lib\" of packed.so";

class PackedCall : public ::testing::Test {
 protected:
  HostWorld world;
  Ref<ModuleNode> node = world.load_whole(fixture("packed.so"));

  std::string message_of(const Result<OwnedValue>& result) {
    return result.ok() ? "it succeeds" : result.error().message;
  }
  std::string refused_in(const std::string& what, const std::string& function) {
    return what + "\n  in host function \"" + function + "\" of " + kLocation;
  }
};

gantry_value value_of_kind(std::int32_t kind) {
  gantry_value value{};
  value.kind = kind;
  return value;
}

TEST_F(PackedCall, PassesEachKindWithItsTypeCode) {
  gantry_tensor tensor{};
  const gantry_bytes bytes{"abc", 3};
  gantry_value bytes_ref = value_of_kind(GANTRY_BYTES_REF);
  bytes_ref.bytes = &bytes;
  const OwnedValue text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const OwnedValue blob(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());
  const Ref<FunctionObject> echo = function_of(node, "echo");

  const auto result = call_named(
      node, "codes_of",
      {int_value(1), value_of_kind(GANTRY_BOOL), value_of_kind(GANTRY_FLOAT),
       value_of_kind(GANTRY_POINTER), value_of_kind(GANTRY_NONE), value_of_kind(GANTRY_DTYPE),
       value_of_kind(GANTRY_DEVICE), tensor_value(&tensor), text_value("x"), text.get(), bytes_ref,
       blob.get(), value_of_kind(GANTRY_SMALL_STRING), value_of_kind(GANTRY_SMALL_BYTES),
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
  test::artifact_of(*node).device_numbers = {{5, 100}};
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

  EXPECT_EQ(call_from_host(sum.get(), nullptr, nullptr, -1, nullptr, nullptr), -1);
  EXPECT_EQ(here().error.message, "a call has -1 arguments, minimum is 0");
}

TEST_F(PackedCall, OfATracedArtifactHasNoOtherEntry) {
  TraceRecorder trace;
  test::artifact_of(*node).trace = &trace;

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
  gantry_value number = value_of_kind(GANTRY_FLOAT);
  number.f = 2.5;
  gantry_value pointer = value_of_kind(GANTRY_POINTER);
  pointer.p = this;
  gantry_value dtype = value_of_kind(GANTRY_DTYPE);
  dtype.dtype = {2, 16, 4};
  gantry_value device = value_of_kind(GANTRY_DEVICE);
  device.device = {4, 2};

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
  OwnedValue kept;
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
  const OwnedValue text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const OwnedValue bytes(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());

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

gantry_value small(std::int32_t kind, std::uint32_t size, const char* text) {
  gantry_value value = value_of_kind(kind);
  value.small_size = size;
  std::memcpy(value.small, text, 8);
  return value;
}
constexpr char kTakes[] =
    "; host code takes numbers, texts, tensors, pointers, devices, dtypes, functions and modules";
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
                    "a string with a NUL inside, which host code cannot take"}),
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

TEST_F(PackedCall, ReportsTheErrorTextOfHostCode) {
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

// A plugin's function that host code calls.
gantry_code refuse(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                   gantry_status* status) {
  gantry_fail(status, GANTRY_EXHAUSTED, "DEVICE_MEMORY", "the device is full");
  return GANTRY_EXHAUSTED;
}
constexpr gantry_function_table refuse_table{sizeof(gantry_function_table), 0, nullptr, refuse};

TEST_F(PackedCall, KeepsCodeReasonAndTextOfACalleesError) {
  const auto inner = std::move(new_function({nullptr, &refuse_table}, {}, 0)).value();

  const auto result = call_named(node, "length_of_result", {value_of(inner.base())});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::exhausted);
  EXPECT_EQ(result.error().reason, "DEVICE_MEMORY");
  EXPECT_EQ(result.error().message, refused_in("the device is full", "length_of_result"));
}

TEST_F(PackedCall, TranslatesTheDeviceNumbersOfTheArtifact) {
  test::artifact_of(*node).device_numbers = {{14, 16}};
  gantry_tensor tensor{};
  tensor.device = {16, 0};
  gantry_value device = value_of_kind(GANTRY_DEVICE);
  device.device = {16, 1};

  EXPECT_EQ(call_named(node, "device_of_tensor", {tensor_value(&tensor)})->get().i, 14);
  EXPECT_EQ(tensor.device.type, 16);
  EXPECT_EQ(call_named(node, "echo", {device})->get().device.type, 16);
  EXPECT_EQ(call_named(node, "return_code", {int_value(6), int_value(14)})->get().device.type, 16);
}

// --- from host code ---

struct Seen {
  gantry_env env;
  std::vector<std::int32_t> kinds;
  std::vector<std::uint32_t> small_sizes;
  // of the last argument
  std::int64_t bits = 0;
  gantry_tensor tensor{};
  gantry_value answer{};
};
gantry_code look(void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value* result, gantry_status*) {
  auto& seen = *static_cast<Seen*>(self);
  seen.env = *env;
  seen.kinds.clear();
  seen.small_sizes.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    seen.kinds.push_back(args[i].kind);
    seen.small_sizes.push_back(args[i].small_size);
    seen.bits = args[i].i;
    if (const gantry_tensor* tensor = gantry_value_tensor(&args[i])) seen.tensor = *tensor;
  }
  *result = seen.answer;
  if (holds_object(*result)) gantry_retain(result->object);
  return GANTRY_OK;
}
constexpr gantry_function_table look_table{sizeof(gantry_function_table), 0, nullptr, look};

class CallFromHost : public PackedCall {
 protected:
  Seen seen;
  Ref<FunctionObject> inner = std::move(new_function({&seen, &look_table}, {}, 0)).value();
  std::vector<std::int32_t> kinds_for(int code, std::int64_t bits) {
    const auto result = call_named(node, "call_with_code",
                                   {value_of(inner.base()), int_value(code), int_value(bits)});
    EXPECT_TRUE(result.ok()) << message_of(result);
    return seen.kinds;
  }
  std::string refusal_of(int code, std::int64_t bits) {
    return message_of(call_named(node, "call_with_code",
                                 {value_of(inner.base()), int_value(code), int_value(bits)}));
  }
};

TEST_F(CallFromHost, PassesEachTypeCodeWithItsKind) {
  gantry_tensor tensor{};
  const gantry_bytes bytes{"abc", 3};
  const auto shape = new_shape({}).value();
  const OwnedValue object(
      tensor_new(world.devices, {nullptr, {1, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0}, "").value());
  const auto address = [](const void* p) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(p));
  };
  using ::testing::ElementsAre;

  EXPECT_THAT(kinds_for(0, 1), ElementsAre(GANTRY_INT));
  EXPECT_THAT(kinds_for(1, 1), ElementsAre(GANTRY_INT));
  EXPECT_THAT(kinds_for(15, 1), ElementsAre(GANTRY_BOOL));
  EXPECT_THAT(kinds_for(2, 0), ElementsAre(GANTRY_FLOAT));
  EXPECT_THAT(kinds_for(3, 8), ElementsAre(GANTRY_POINTER));
  EXPECT_THAT(kinds_for(4, 8), ElementsAre(GANTRY_NONE));
  EXPECT_EQ(seen.bits, 0);
  EXPECT_THAT(kinds_for(5, 0), ElementsAre(GANTRY_DTYPE));
  EXPECT_THAT(kinds_for(6, 1), ElementsAre(GANTRY_DEVICE));
  EXPECT_THAT(kinds_for(7, address(&tensor)), ElementsAre(GANTRY_TENSOR_REF));
  EXPECT_THAT(kinds_for(8, address(shape.get())), ElementsAre(GANTRY_SHAPE));
  EXPECT_THAT(kinds_for(13, address(gantry_value_tensor(&object.get()))),
              ElementsAre(GANTRY_TENSOR));
  EXPECT_THAT(kinds_for(9, address(node.get())), ElementsAre(GANTRY_MODULE));
  EXPECT_THAT(kinds_for(10, address(inner.get())), ElementsAre(GANTRY_FUNCTION));
  EXPECT_THAT(kinds_for(11, address("text")), ElementsAre(GANTRY_CSTRING));
  EXPECT_THAT(kinds_for(12, address(&bytes)), ElementsAre(GANTRY_BYTES_REF));
}

TEST_F(CallFromHost, RejectsArgumentsThatCannotBePassed) {
  const auto in_place = [&](const std::string& text) { return refused_in(text, "call_with_code"); };

  for (const int code : {14, 16, -1}) {
    EXPECT_EQ(refusal_of(code, 0), in_place(concat("argument 0 has type code ", code,
                                                   ", which cannot be passed to plugins")));
  }
  EXPECT_EQ(refusal_of(7, 0), in_place("argument 0 is a tensor at address 0"));
  EXPECT_EQ(refusal_of(11, 0), in_place("argument 0 is a string at address 0"));
  EXPECT_EQ(refusal_of(12, 0), in_place("argument 0 is bytes at address 0"));
  EXPECT_EQ(refusal_of(9, 0), in_place("argument 0 is not a module of this runtime"));
  EXPECT_EQ(refusal_of(10, 0), in_place("argument 0 is not a function of this runtime"));
  EXPECT_EQ(refusal_of(8, 0), in_place("argument 0 is not an object of this runtime"));
  EXPECT_EQ(refusal_of(13, 0), in_place("argument 0 is not a tensor of this runtime"));
  const auto address = [](const void* p) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(p));
  };
  EXPECT_EQ(refusal_of(9, address(inner.get())),
            in_place("argument 0 is not a module of this runtime"));
  EXPECT_EQ(refusal_of(10, address(node.get())),
            in_place("argument 0 is not a function of this runtime"));
  const auto shape = new_shape({}).value();
  EXPECT_EQ(refusal_of(13, address(shape.base() + 1)),
            in_place("argument 0 is not a tensor of this runtime"));
  // an object of TVM, which begins with its number and its count of references
  const std::uint64_t foreign[] = {std::uint64_t{1} << 32 | 70, 0x7f0012345678};
  EXPECT_EQ(refusal_of(8, address(foreign)),
            in_place("argument 0 is not an object of this runtime"));
}

TEST_F(CallFromHost, RejectsAHandleThatIsNoFunction) {
  const auto result =
      call_named(node, "call_with_code", {value_of(node.base()), int_value(0), int_value(0)});

  EXPECT_EQ(message_of(result),
            refused_in("TVMFuncCall receives a handle that is not a function", "call_with_code"));
}

// malloc() fills new memory, so that a field that is not set is not 0 by chance.
TEST_F(CallFromHost, PassesManyNumbersWithoutASmallSize) {
  ASSERT_TRUE(world.globals->add("look", inner).ok());
  std::vector<gantry_value> args(17, int_value(1));
  args.insert(args.begin(), text_value("look"));

  mallopt(M_PERTURB, 0xaa);
  const auto result = call_named(node, "call_by_name", args);
  mallopt(M_PERTURB, 0);

  ASSERT_TRUE(result.ok()) << message_of(result);
  EXPECT_THAT(seen.small_sizes, ::testing::ElementsAreArray(std::vector<std::uint32_t>(17, 0)));
}

// The host code returns the result of its callee.
TEST_F(CallFromHost, ReturnsEachKindOfValue) {
  test::artifact_of(*node).device_numbers = {{4, 5}, {5, 4}};
  gantry_value number = value_of_kind(GANTRY_FLOAT);
  number.f = 2.5;
  gantry_value pointer = value_of_kind(GANTRY_POINTER);
  pointer.p = this;
  gantry_value dtype = value_of_kind(GANTRY_DTYPE);
  dtype.dtype = {2, 16, 4};
  gantry_value device = value_of_kind(GANTRY_DEVICE);
  device.device = {5, 2};
  const OwnedValue text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const OwnedValue bytes(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());
  const OwnedValue small_text(std::move(new_text(GANTRY_STRING, "text")).value());
  const OwnedValue small_bytes(std::move(new_text(GANTRY_BYTES, "bytes")).value());

  for (const gantry_value& answer : {gantry_value{}, int_value(-3), number, pointer, dtype, device,
                                     small_text.get(), small_bytes.get()}) {
    seen.answer = answer;
    const auto result =
        call_named(node, "call_with_code", {value_of(inner.base()), int_value(0), int_value(0)});
    ASSERT_TRUE(result.ok()) << message_of(result);
    EXPECT_EQ(result->get().kind, answer.kind);
    EXPECT_EQ(result->get().i, answer.i) << answer.kind;
  }
  for (const gantry_value& answer : {text.get(), bytes.get()}) {
    seen.answer = answer;
    const auto result =
        call_named(node, "call_with_code", {value_of(inner.base()), int_value(0), int_value(0)});
    ASSERT_TRUE(result.ok()) << message_of(result);
    EXPECT_EQ(result->get().kind, answer.kind);
    EXPECT_EQ(text_of(result->get()), text_of(answer));
  }
}

TEST_F(CallFromHost, TranslatesDeviceNumbersToTheRuntimes) {
  test::artifact_of(*node).device_numbers = {{14, 16}};
  gantry_tensor tensor{};
  tensor.device.type = 14;

  kinds_for(7, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&tensor)));

  EXPECT_EQ(seen.tensor.device.type, 16);
  EXPECT_EQ(tensor.device.type, 14);

  gantry_value device = value_of_kind(GANTRY_DEVICE);
  device.device = {14, 2};
  kinds_for(6, device.i);
  device.device.type = 16;
  EXPECT_EQ(seen.bits, device.i);
}

TEST_F(CallFromHost, TranslatesTheDeviceOfATensorOnly) {
  test::artifact_of(*node).device_numbers = {{14, 16}};
  gantry_tensor tensor{};
  tensor.device = {16, 3};
  tensor.ndim = 2;

  ASSERT_TRUE(call_named(node, "call_and_return",
                         {int_value(0), value_of(inner.base()), tensor_value(&tensor)})
                  .ok());

  EXPECT_EQ(seen.tensor.device.type, 16);
  EXPECT_EQ(seen.tensor.device.index, 3);
  EXPECT_EQ(seen.tensor.ndim, 2);
}

TEST_F(CallFromHost, KeepsTextsUntilTheNextCall) {
  const OwnedValue text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const OwnedValue bytes(
      std::move(new_text(GANTRY_BYTES, std::string_view("a bytes\0object", 14))).value());
  gantry_value small = value_of_kind(GANTRY_SMALL_STRING);
  small.small_size = 2;
  std::memcpy(small.small, "ab", 3);

  for (const auto& [answer, length] : {std::pair{text.get(), 13}, {bytes.get(), 14}, {small, 2}}) {
    seen.answer = answer;
    const auto result = call_named(node, "length_of_result", {value_of(inner.base())});
    ASSERT_TRUE(result.ok()) << message_of(result);
    EXPECT_EQ(result->get().i, length);
  }
}

// A module retained by a thread would keep its runtime alive, on a thread of that runtime's pool
// forever.
TEST_F(CallFromHost, ReleasesObjectsWhenTheOutermostCallHasReturned) {
  const Ref<ModuleNode> module = test::named_node("other");
  const auto references = [&] { return module->header.counts & UINT32_MAX; };
  seen.answer = value_of(module.base());

  {
    const auto returned =
        call_named(node, "call_with_code", {value_of(inner.base()), int_value(0), int_value(0)});
    ASSERT_TRUE(returned.ok()) << message_of(returned);
    EXPECT_EQ(returned->get().object, module.base());
    EXPECT_EQ(references(), 2u);
  }
  EXPECT_EQ(references(), 1u);
  ASSERT_FALSE(call_named(node, "length_of_result", {value_of(inner.base())}).ok());
  EXPECT_EQ(references(), 1u);
}

TEST_F(CallFromHost, KeepsReturnedObjectsWhileATaskRunsOnTheSameThread) {
  const gantry_env kFirstCpu{{kCpu, 0}, nullptr, nullptr};
  const HostScope call_of_host_code(&world.services, node.get(), kFirstCpu);
  here().kept = OwnedValue(std::move(new_text(GANTRY_STRING, "a text object")).value());

  {
    const KeptUntilHere kept;
    const HostScope task(&world.services, node.get(), kFirstCpu);
  }

  EXPECT_EQ(text_of(here().kept.get()), "a text object");
  here().kept = {};
}

// Returned to its caller as an object, with type code 8, which no result of host code may have.
TEST_F(CallFromHost, PassesAnObjectThatItCannotReturn) {
  seen.answer = OwnedValue(std::move(new_shape({})).value()).take();
  const OwnedValue keeper = OwnedValue::adopt(seen.answer);

  EXPECT_EQ(refusal_of(0, 0),
            refused_in("it returns a value of type code 8, which cannot be passed to callers",
                       "call_with_code"));
}

TEST_F(CallFromHost, RejectsATextThatIsNotCanonical) {
  seen.answer = small(GANTRY_SMALL_STRING, 3, "abcdefg");

  const auto result =
      call_named(node, "call_with_code", {value_of(inner.base()), int_value(0), int_value(0)});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::bug);
  EXPECT_EQ(result.error().reason, "VALUE_FORM");
}

TEST_F(CallFromHost, RunsAHostFunctionInTheEnvOfTheCall) {
  int stream = 0;
  const gantry_env env{{4, 2}, &stream, nullptr};
  const Ref<FunctionObject> outer = function_of(node, "call_with_code");
  const gantry_value args[] = {value_of(inner.base()), int_value(0), int_value(0)};

  ASSERT_TRUE(call(*outer, &env, args).ok());

  EXPECT_EQ(seen.env.device.type, 4);
  EXPECT_EQ(seen.env.device.index, 2);
  EXPECT_EQ(seen.env.stream, &stream);
}

// A function of a device runs on the device that host code has set, and in the call's stream only
// if the stream is one of that device.
TEST_F(CallFromHost, UsesTheCurrentDevice) {
  int stream = 0;
  const auto kernel = std::move(new_function({&seen, &look_table}, {}, 4)).value();
  const gantry_env env{{4, 2}, &stream, nullptr};
  const gantry_value args[] = {value_of(kernel.base()), int_value(0), int_value(0)};

  ASSERT_TRUE(call(*function_of(node, "call_with_code"), &env, args).ok());
  EXPECT_EQ(seen.env.device.index, 2);
  EXPECT_EQ(seen.env.stream, &stream);

  ASSERT_TRUE(
      call_named(node, "call_by_name", {text_value("__tvm_set_device"), int_value(4), int_value(1)})
          .ok());
  ASSERT_TRUE(call(*function_of(node, "call_with_code"), nullptr, args).ok());
  EXPECT_EQ(seen.env.device.type, 4);
  EXPECT_EQ(seen.env.device.index, 1);
  EXPECT_EQ(seen.env.stream, nullptr);
}

TEST_F(CallFromHost, TranslatesTheDeviceNumberOfSetDevice) {
  test::artifact_of(*node).device_numbers = {{14, 16}};
  const auto kernel = std::move(new_function({&seen, &look_table}, {}, 16)).value();

  ASSERT_TRUE(call_named(node, "call_by_name",
                         {text_value("__tvm_set_device"), int_value(14), int_value(3)})
                  .ok());
  ASSERT_TRUE(
      call_named(node, "call_with_code", {value_of(kernel.base()), int_value(0), int_value(0)})
          .ok());

  EXPECT_EQ(seen.env.device.type, 16);
  EXPECT_EQ(seen.env.device.index, 3);
}

TEST_F(CallFromHost, RejectsInvalidDeviceNumbers) {
  for (const std::int64_t type : {std::int64_t{128}, std::int64_t{-1}, std::int64_t{1} << 32}) {
    EXPECT_THAT(
        message_of(call_named(node, "call_by_name",
                              {text_value("__tvm_set_device"), int_value(type), int_value(0)})),
        HasSubstr(concat("__tvm_set_device: device type ", type, " is not 0 to 127")));
  }
  EXPECT_THAT(
      message_of(call_named(node, "call_by_name", {text_value("__tvm_set_device"), int_value(1)})),
      HasSubstr("__tvm_set_device takes two numbers"));
}

TEST_F(CallFromHost, AcceptsTheFirstAndTheLastDeviceNumber) {
  for (const std::int64_t type : {0, 127}) {
    EXPECT_TRUE(call_named(node, "call_by_name",
                           {text_value("__tvm_set_device"), int_value(type), int_value(0)})
                    .ok());
    EXPECT_TRUE(call_named(node, "call_by_name",
                           {text_value("runtime.TVMSetStream"), int_value(type), int_value(0),
                            gantry_value{}})
                    .ok());
  }
}

TEST_F(CallFromHost, RejectsDeviceNumbersOfAnotherKind) {
  const gantry_value none{};
  for (const char* const function : {"__tvm_set_device", "runtime.TVMSetStream"}) {
    for (const auto& [type, index] :
         {std::pair{text_value("1"), int_value(0)}, std::pair{int_value(1), text_value("0")}}) {
      std::vector<gantry_value> args{text_value(function), type, index};
      if (std::string_view(function) == "runtime.TVMSetStream") args.push_back(none);
      EXPECT_THAT(message_of(call_named(node, "call_by_name", args)),
                  HasSubstr("takes two numbers"))
          << function;
    }
  }
  EXPECT_THAT(message_of(call_named(
                  node, "call_by_name",
                  {text_value("runtime.TVMSetStream"), int_value(1), int_value(0), int_value(0)})),
              HasSubstr("takes two numbers"));
}

// The stream in the env of the call takes precedence. A stream set for another device has no
// effect.
TEST_F(CallFromHost, UsesTheCurrentStream) {
  int mine = 0, theirs = 0;
  const auto pointer = [](void* stream) {
    gantry_value value = int_value(0);
    value.kind = stream != nullptr ? GANTRY_POINTER : GANTRY_NONE;
    value.p = stream;
    return value;
  };
  const auto set = [&](std::int64_t index, void* stream) {
    return call_named(node, "call_by_name",
                      {text_value("runtime.TVMSetStream"), int_value(4), int_value(index),
                       pointer(stream)})
        .ok();
  };
  const auto kernel = std::move(new_function({&seen, &look_table}, {}, 4)).value();
  const gantry_value args[] = {value_of(kernel.base()), int_value(0), int_value(0)};
  const auto stream_in = [&](const gantry_env& env) {
    EXPECT_TRUE(call(*function_of(node, "call_with_code"), &env, args).ok());
    return seen.env.stream;
  };

  ASSERT_TRUE(set(1, &mine));
  ASSERT_TRUE(set(2, &theirs));
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr}), &mine);
  EXPECT_EQ(stream_in({{4, 2}, nullptr, nullptr}), &theirs);
  EXPECT_EQ(stream_in({{4, 1}, &theirs, nullptr}), &theirs);
  EXPECT_EQ(stream_in({{4, 0}, nullptr, nullptr}), nullptr);
  std::thread([&] {
    EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr}), nullptr) << "another thread's stream";
  }).join();
  ASSERT_TRUE(set(1, &theirs));
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr}), &theirs);
  ASSERT_TRUE(set(1, nullptr));
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr}), nullptr);
}

TEST_F(CallFromHost, RejectsAStreamOfAnInvalidDevice) {
  const gantry_value none{};
  constexpr std::int64_t beyond = std::int64_t{1} << 32;
  const std::pair<std::int64_t, std::int64_t> invalid[] = {
      {128, 0}, {-1, 0}, {4, -1}, {beyond, 0}, {4, beyond}};
  for (const auto& [type, index] : invalid) {
    EXPECT_THAT(message_of(call_named(
                    node, "call_by_name",
                    {text_value("runtime.TVMSetStream"), int_value(type), int_value(index), none})),
                HasSubstr(concat("runtime.TVMSetStream: device ", type, ":", index,
                                 ", expected a type from 0 to 127 and an index from 0")));
  }
  EXPECT_THAT(message_of(call_named(node, "call_by_name",
                                    {text_value("runtime.TVMSetStream"), int_value(4)})),
              HasSubstr("runtime.TVMSetStream takes two numbers, device type and index, and a "
                        "stream"));
}

template <class Function>
Function* runtime_function(std::string_view name) {
  return reinterpret_cast<Function*>(find_runtime_function(name, Dialect::packed)->address);
}

TEST(HostThreadState, ReportsErrorsOutsideOfCalls) {
  EXPECT_EQ(runtime_function<void*(int, int, std::uint64_t, int, int)>("TVMBackendAllocWorkspace")(
                1, 0, 64, 2, 32),
            nullptr);
  EXPECT_EQ(here().error.message,
            "TVMBackendAllocWorkspace is called on a thread that no gantry call has entered");
  EXPECT_EQ(runtime_function<int(int, int, void*)>("TVMBackendFreeWorkspace")(1, 0, nullptr), -1);
  EXPECT_EQ(parallel_launch(nullptr, nullptr, 0), -1);
  EXPECT_EQ(call_from_host(nullptr, nullptr, nullptr, 0, nullptr, nullptr), -1);
  EXPECT_EQ(here().error.message, "TVMFuncCall receives a handle that is not a function");
  void* function = nullptr;
  EXPECT_EQ(get_function_from_context(nullptr, "f", &function), -1);
  EXPECT_EQ(here().error.message,
            "function \"f\" is looked up by host code whose module context is not set");
}

// The destructor of another key may run host code when the first one has freed the state.
TEST(HostThreadState, IsAbsentAfterItWasFreed) {
  static pthread_key_t key;
  static int runs;
  static bool is_absent;
  runs = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 is_absent = detail::host_thread == nullptr;
                                 // The second run comes after the destructors of all other keys.
                                 if (++runs == 1) pthread_setspecific(key, value);
                               }),
            0);

  std::thread([] {
    here();
    pthread_setspecific(key, &key);
  }).join();

  pthread_key_delete(key);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(is_absent);
}

TEST(HostThreadState, HasAStreamForOneDevice) {
  int of_call = 0, set = 0;
  const gantry_env env{{4, 1}, &of_call, nullptr};
  HostCall current;
  current.env = &env;
  HostThread thread;
  thread.call = &current;
  thread.streams = {{{6, 3}, &set}};

  EXPECT_EQ(stream_here(thread, {4, 1}), &of_call);
  EXPECT_EQ(stream_here(thread, {6, 3}), &set);
  for (const gantry_device_id other : {gantry_device_id{4, 2}, gantry_device_id{5, 1},
                                       gantry_device_id{6, 4}, gantry_device_id{7, 3}}) {
    EXPECT_EQ(stream_here(thread, other), nullptr) << other.type << ':' << other.index;
  }
}

TEST(HostThreadState, KeepsAMessageOfAnyLength) {
  const std::string text(100'000, 'x');
  runtime_function<void(const char*)>("TVMAPISetLastError")(text.c_str());
  EXPECT_EQ(here().error.message, text);
}

TEST_F(PackedCall, TakesNoArgumentsIfDeviceNumbersAreTranslated) {
  test::artifact_of(*node).device_numbers = {{14, 16}};

  const auto result = call_named(node, "sum");

  ASSERT_TRUE(result.ok()) << message_of(result);
  EXPECT_EQ(result->get().i, 0);
}

TEST_F(CallFromHost, RejectsMoreThanTwoNumbersForADevice) {
  EXPECT_THAT(message_of(call_named(
                  node, "call_by_name",
                  {text_value("__tvm_set_device"), int_value(1), int_value(0), int_value(0)})),
              HasSubstr("__tvm_set_device takes two numbers"));
}

}  // namespace
}  // namespace gantry
