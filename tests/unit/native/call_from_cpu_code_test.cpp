// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_call.hpp"

#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/native/packed_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <cstring>
#include <thread>
#include <utility>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;

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
  const Value object = owned_value(
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

// The CPU code returns the result of its callee.
TEST_F(CallFromHost, ReturnsEachKindOfValue) {
  artifact_of(*node).device_numbers = {{4, 5}, {5, 4}};
  const gantry_value number = float_value(2.5);
  gantry_value pointer = value_of_kind(GANTRY_POINTER);
  pointer.p = this;
  const gantry_value dtype = dtype_value({2, 16, 4});
  const gantry_value device = device_value({5, 2});
  const Value text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const Value bytes(std::move(new_text(GANTRY_BYTES, "a bytes object")).value());
  const Value small_text(std::move(new_text(GANTRY_STRING, "text")).value());
  const Value small_bytes(std::move(new_text(GANTRY_BYTES, "bytes")).value());

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
  artifact_of(*node).device_numbers = {{14, 16}};
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
  artifact_of(*node).device_numbers = {{14, 16}};
  gantry_tensor tensor{};
  tensor.device = {16, 3};
  tensor.ndim = 2;

  ASSERT_TRUE(call_named(node, "call_and_return",
                         {int_value(0), value_of(inner.base()), tensor_ref_value(&tensor)})
                  .ok());

  EXPECT_EQ(seen.tensor.device.type, 16);
  EXPECT_EQ(seen.tensor.device.index, 3);
  EXPECT_EQ(seen.tensor.ndim, 2);
}

TEST_F(CallFromHost, KeepsTextsUntilTheNextCall) {
  const Value text(std::move(new_text(GANTRY_STRING, "a text object")).value());
  const Value bytes(
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
  const gantry_env kFirstCpu{{kCpu, 0}, nullptr, nullptr, nullptr};
  const CpuScope call_of_cpu_code({&world.services, node.get()}, kFirstCpu);
  here().kept = Value(std::move(new_text(GANTRY_STRING, "a text object")).value());

  {
    const KeptUntilHere kept;
    const CpuScope task({&world.services, node.get()}, kFirstCpu);
  }

  EXPECT_EQ(text_of(here().kept.get()), "a text object");
  here().kept = {};
}

// Returned to its caller as an object, with type code 8, which no result of CPU code may have.
TEST_F(CallFromHost, PassesAnObjectThatItCannotReturn) {
  seen.answer = owned_value(std::move(new_shape({})).value()).take();
  const Value keeper = Value::adopt(seen.answer);

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
  const gantry_env env{{4, 2}, &stream, nullptr, nullptr};
  const Ref<FunctionObject> outer = function_of(node, "call_with_code");
  const gantry_value args[] = {value_of(inner.base()), int_value(0), int_value(0)};

  ASSERT_TRUE(call(*outer, &env, args).ok());

  EXPECT_EQ(seen.env.device.type, 4);
  EXPECT_EQ(seen.env.device.index, 2);
  EXPECT_EQ(seen.env.stream, &stream);
}

// A function of a device runs on the device that CPU code has set, and in the call's stream only
// if the stream is one of that device.
TEST_F(CallFromHost, UsesTheCurrentDevice) {
  int stream = 0;
  const auto kernel = std::move(new_function({&seen, &look_table}, {}, 4)).value();
  const gantry_env env{{4, 2}, &stream, nullptr, nullptr};
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
  artifact_of(*node).device_numbers = {{14, 16}};
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
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr, nullptr}), &mine);
  EXPECT_EQ(stream_in({{4, 2}, nullptr, nullptr, nullptr}), &theirs);
  EXPECT_EQ(stream_in({{4, 1}, &theirs, nullptr, nullptr}), &theirs);
  EXPECT_EQ(stream_in({{4, 0}, nullptr, nullptr, nullptr}), nullptr);
  // Of every index, because earlier tests select one.
  std::vector<gantry_device_stream> items;
  for (std::int32_t index = 0; index < 8; ++index) items.push_back({{4, index}, &theirs});
  const gantry_streams others{items.data(), items.size()};
  EXPECT_EQ(stream_in({{kCpu, 0}, nullptr, nullptr, &others}), &theirs);
  std::thread([&] {
    EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr, nullptr}), nullptr) << "another thread's stream";
  }).join();
  ASSERT_TRUE(set(1, &theirs));
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr, nullptr}), &theirs);
  ASSERT_TRUE(set(1, nullptr));
  EXPECT_EQ(stream_in({{4, 1}, nullptr, nullptr, nullptr}), nullptr);
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

TEST_F(CallFromHost, RejectsMoreThanTwoNumbersForADevice) {
  EXPECT_THAT(message_of(call_named(
                  node, "call_by_name",
                  {text_value("__tvm_set_device"), int_value(1), int_value(0), int_value(0)})),
              HasSubstr("__tvm_set_device takes two numbers"));
}

}  // namespace
}  // namespace gantry::test
