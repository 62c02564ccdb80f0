// SPDX-License-Identifier: Apache-2.0
//
// Streams of the C API, on the example accelerator of the SDK.
#include "tests/unit/embed/embedded.hpp"

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;

// A runtime with the accelerator, whose device has streams.
class EmbedStream : public ::testing::Test {
 protected:
  EmbedStream() {
    test::BuiltPlugins built;
    built.directory = (test::build_tree() / "tests/conformance/plugins.d").string();
    built.path = bytes_of(built.directory);
    runtime = test::new_runtime(&built.options).value();
    host = embed().host(runtime.get());
    expect_ok(done([&](gantry_status* status) {
      return embed().device_find(runtime.get(), gantry_text("abacus"), &device, status);
    }));
  }
  Result<ObjectRef> stream(gantry_device_id on) const {
    gantry_object* made = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().stream_new(runtime.get(), on, &made, status);
    }));
    return ObjectRef::adopt(made);
  }
  Status synchronize(gantry_device_id on, const ObjectRef& in = {}) const {
    return done([&](gantry_status* status) {
      return embed().synchronize(runtime.get(), on, in.get(), status);
    });
  }

  ObjectRef runtime;
  const gantry_host* host = nullptr;
  gantry_device_id device{};
};

TEST_F(EmbedStream, OrdersCopies) {
  const ObjectRef made = stream(device).value();
  EXPECT_EQ(made.get()->kind, GANTRY_STREAM);
  ASSERT_NE(embed().stream_handle(made.get()), nullptr);
  std::vector<float> from(4, 2.5f), to(4);
  const std::int64_t shape[] = {4};
  gantry_tensor source = test::tensor_of(from, shape), target = test::tensor_of(to, shape);
  gantry_tensor like = source;
  like.device = device;
  gantry_value there{};
  ASSERT_EQ(host->tensor_new(host, &like, {}, 0, &there, nullptr), GANTRY_OK);
  const Value owned = Value::adopt(there);
  const gantry_env env{device, embed().stream_handle(made.get()), nullptr};

  EXPECT_EQ(host->tensor_copy(host, &source, owned.tensor(), &env, nullptr), GANTRY_OK);
  EXPECT_EQ(host->tensor_copy(host, owned.tensor(), &target, &env, nullptr), GANTRY_OK);
  expect_ok(synchronize(device, made));

  EXPECT_EQ(to, from);
}

TEST_F(EmbedStream, KeepsItsRuntime) {
  const ObjectRef made = stream(device).value();

  runtime = ObjectRef();

  EXPECT_NE(embed().stream_handle(made.get()), nullptr);
}

TEST_F(EmbedStream, IsTheOnlyOneOfTheCpu) {
  const ObjectRef made = stream({1, 0}).value();

  EXPECT_EQ(embed().stream_handle(made.get()), nullptr);
  expect_ok(synchronize({1, 0}, made));
  expect_ok(synchronize({1, 0}));
}

TEST_F(EmbedStream, IsRefusedForADeviceThatIsNotThere) {
  EXPECT_EQ(stream({device.type, 99}).error().code, Code::not_found);
  EXPECT_EQ(synchronize({device.type, 99}).error().code, Code::not_found);
}

TEST_F(EmbedStream, IsRefusedByAnotherRuntime) {
  const ObjectRef made = stream(device).value();
  const test::BuiltPlugins built;
  const ObjectRef other = test::new_runtime(&built.options).value();

  expect_error(done([&](gantry_status* status) {
                 return embed().synchronize(other.get(), {1, 0}, made.get(), status);
               }),
               Code::invalid, "STREAM", "synchronize: the stream is of another runtime");
}

TEST_F(EmbedStream, RefusesNullAndOtherObjects) {
  expect_error(synchronize(device, runtime), Code::invalid, "ARGUMENT_KIND",
               "synchronize: the object is of kind 96, expected a stream");
  expect_error(done([&](gantry_status* status) {
                 return embed().stream_new(runtime.get(), device, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "stream_new: stream is NULL");
  EXPECT_EQ(embed().stream_handle(runtime.get()), nullptr);
}

TEST_F(EmbedStream, OfADeviceWithoutANumberHasNoDlPackTensors) {
  std::vector<float> memory(4);
  const std::int64_t shape[] = {4};
  gantry_tensor like = test::tensor_of(memory, shape);
  like.device = device;
  gantry_value there{};
  ASSERT_EQ(host->tensor_new(host, &like, {}, 0, &there, nullptr), GANTRY_OK);
  const Value owned = Value::adopt(there);
  void* managed = nullptr;

  const Status status = done([&](gantry_status* reported) {
    return embed().dlpack_export(runtime.get(), owned.object(), 1u << 16, nullptr, &managed,
                                 reported);
  });

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "DLPACK_DEVICE");
}

}  // namespace
}  // namespace gantry
