// SPDX-License-Identifier: Apache-2.0
//
// Streams of the C API, on the example accelerator of the SDK.
#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/instances.hpp"
#include "core/engine/embed/objects.hpp"

#include "tests/unit/embed/embedded.hpp"

#include <gantry/handle.hpp>

#include <algorithm>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;

// A runtime with graphs and the accelerator, whose device has streams.
class EmbedStream : public ::testing::Test {
 protected:
  EmbedStream() {
    test::BuiltPlugins built("graph");
    const std::string accelerator = (test::build_tree() / "tests/conformance/plugins.d").string();
    const gantry_bytes paths[] = {built.path, bytes_of(accelerator)};
    built.options.plugin_paths = paths;
    built.options.plugin_path_count = 2;
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
  const gantry_env env{device, embed().stream_handle(made.get()), nullptr, nullptr};

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

// After a kernel that stops the device, nothing is called for it, and its runs fail at once.
TEST_F(EmbedStream, OfALostDeviceIsRefusedAsAreItsRuns) {
  const ObjectRef module =
      test::load(runtime, (test::build_tree() / "tests/conformance/abacus.so").string()).value();
  const gantry_bytes first = gantry_text("abacus:0"), second = gantry_text("abacus:1");
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.devices = &first;
  options.device_count = 1;
  const ObjectRef model = test::new_model(module, &options).value();
  options.devices = &second;
  const ObjectRef other = test::new_model(module, &options).value();
  std::vector<float> memory(100);
  const std::int64_t shape[] = {100};
  gantry_tensor x = test::tensor_of(memory, shape);
  const auto run_on = [&](const ObjectRef& used) {
    const gantry_value inputs[] = {tensor_ref_value(&x), tensor_ref_value(&x)};
    gantry_value output{};
    gantry_run run{};
    run.struct_size = sizeof run;
    run.inputs = inputs;
    run.input_count = 2;
    run.outputs = &output;
    run.output_count = 1;
    const Status ran = test::run(used, run);
    (void)Value::adopt(output);
    return ran;
  };
  expect_ok(run_on(model));
  const ObjectRef made = stream(device).value();
  const Host own(host);
  const ObjectRef kernel = own.find(module.get(), GANTRY_FIND_IMPORTS, "lose_kernel").value();
  const gantry_value arguments[] = {int_value(1), int_value(1), int_value(1)};
  const gantry_env env{device, embed().stream_handle(made.get()), nullptr, nullptr};
  expect_ok(own.call(kernel.get(), &env, arguments).ok() ? Status() : invalid("lose_kernel"));

  const std::string text =
      "abacus: the device has stopped in kernel \"lose_kernel\"; a new runtime can use it again";
  for (const Status& failed :
       {synchronize(device, made), synchronize(device), run_on(model), run_on(model)}) {
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Code::lost);
    EXPECT_EQ(failed.error().reason, "DEVICE_LOST");
    EXPECT_TRUE(failed.error().message.text().starts_with(text)) << failed.error().message;
  }
  EXPECT_EQ(stream(device).error().code, Code::lost);
  expect_ok(run_on(other));
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

// DLPack tensors over memory of the accelerator that a stream writes.
class ProducedTensor : public EmbedStream {
 protected:
  ProducedTensor() {
    managed.major = 1;
    managed.manager = &deleted;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++*static_cast<int*>(self->manager); };
    managed.tensor = *made.tensor();
  }
  Value new_tensor(float element) const {
    std::vector<float> elements(count, element);
    const std::int64_t shape[] = {count};
    gantry_tensor from = test::tensor_of(elements, shape), like = from;
    like.device = device;
    gantry_value there{};
    EXPECT_EQ(host->tensor_new(host, &like, {}, 0, &there, nullptr), GANTRY_OK);
    EXPECT_EQ(host->tensor_copy(host, &from, gantry_value_tensor(&there), nullptr, nullptr),
              GANTRY_OK);
    return Value::adopt(there);
  }
  // Leaves work in the stream that takes a while and ends with `last` in `made`.
  void produce(const ObjectRef& stream, float last) const {
    const gantry_env env{device, embed().stream_handle(stream.get()), nullptr, nullptr};
    const Value before = new_tensor(-1), after = new_tensor(last);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(host->tensor_copy(host, before.tensor(), made.tensor(), &env, nullptr), GANTRY_OK);
    }
    EXPECT_EQ(host->tensor_copy(host, after.tensor(), made.tensor(), &env, nullptr), GANTRY_OK);
  }
  Status import_after(void* produced, const ObjectRef& stream = {},
                      DLManagedTensor* plain = nullptr) {
    gantry_value out{};
    const Status status = done([&](gantry_status* reported) {
      return embed().dlpack_import_after(runtime.get(), plain == nullptr ? &managed : nullptr,
                                         plain, produced, stream.get(), &out, reported);
    });
    imported = Value::adopt(out);
    return status;
  }
  // Returns the first and the last element as work in a stream sees them.
  std::vector<float> ends_of_import(const ObjectRef& stream) const {
    std::vector<float> to(count);
    const std::int64_t shape[] = {count};
    gantry_tensor target = test::tensor_of(to, shape);
    const gantry_env env{device, embed().stream_handle(stream.get()), nullptr, nullptr};
    EXPECT_EQ(host->tensor_copy(host, imported.tensor(), &target, &env, nullptr), GANTRY_OK);
    return {to.front(), to.back()};
  }

  static constexpr std::int64_t count = 1 << 20;
  Value made = new_tensor(0);
  Value imported;
  int deleted = 0;
  DLManagedTensorVersioned managed{};
};

TEST_F(ProducedTensor, IsUsedAfterTheWorkThatWritesIt) {
  const ObjectRef producer = stream(device).value(), consumer = stream(device).value();
  produce(producer, 2.5f);

  expect_ok(import_after(embed().stream_handle(producer.get()), consumer));

  EXPECT_EQ(ends_of_import(consumer), std::vector<float>({2.5f, 2.5f}));
  imported = Value();
  EXPECT_EQ(deleted, 1);
}

TEST_F(ProducedTensor, IsUsedInTheDefaultStreamToo) {
  const ObjectRef producer = stream(device).value();
  produce(producer, 4.5f);

  expect_ok(import_after(embed().stream_handle(producer.get())));

  EXPECT_EQ(ends_of_import({}), std::vector<float>({4.5f, 4.5f}));
}

TEST_F(ProducedTensor, OfTheDefaultStreamIsUsedAfterItsWork) {
  const ObjectRef consumer = stream(device).value();
  produce({}, 3.5f);

  expect_ok(import_after(nullptr, consumer));

  EXPECT_EQ(ends_of_import(consumer), std::vector<float>({3.5f, 3.5f}));
}

TEST_F(ProducedTensor, IsRefusedInAStreamOfAnotherDevice) {
  const ObjectRef of_cpu = stream({1, 0}).value();

  const Status status = import_after(nullptr, of_cpu);

  expect_error(status, Code::invalid, "STREAM",
               "dlpack_import_after: stream is of another device than the tensor, which is on "
               "abacus:0");
  EXPECT_EQ(deleted, 0);
}

TEST_F(ProducedTensor, OnTheCpuHasNoStream) {
  std::vector<float> memory(4);
  const std::int64_t shape[] = {4};
  managed.tensor = test::tensor_of(memory, shape);
  int no_stream = 0;

  const Status status = import_after(&no_stream);

  expect_error(
      status, Code::invalid, "STREAM",
      "dlpack_import_after: produced is not NULL, and the tensor is on cpu:0, which has no "
      "streams");
  EXPECT_EQ(deleted, 0);
  expect_ok(import_after(nullptr, stream({1, 0}).value()));
}

TEST_F(ProducedTensor, HasOneOfTheTwoForms) {
  DLManagedTensor plain{};
  plain.tensor = managed.tensor;
  plain.manager = &deleted;
  plain.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager); };

  expect_ok(import_after(nullptr, {}, &plain));
  imported = Value();

  EXPECT_EQ(deleted, 1);
  expect_error(done([&](gantry_status* status) {
                 gantry_value out{};
                 return embed().dlpack_import_after(runtime.get(), nullptr, nullptr, nullptr,
                                                    nullptr, &out, status);
               }),
               Code::invalid, "ARGUMENT_KIND",
               "dlpack_import_after: neither of versioned and plain is given, expected one");
  expect_error(import_after(nullptr, runtime), Code::invalid, "ARGUMENT_KIND",
               "dlpack_import_after: the object is of kind 96, expected a stream");
}

// The executor of a run follows the last run in another stream.
TEST_F(ProducedTensor, OfARunIsCompleteWhenTheNextRunIsInAnotherStream) {
  const ObjectRef first = stream(device).value(), second = stream(device).value();
  RuntimeState& state = *state_of(runtime.get());
  const auto shared = [](const ObjectRef& object) {
    return Ref<StreamObject>::share(as_stream(object.get()));
  };
  ModelInstance instance{nullptr};
  expect_ok(instance.follow(state, shared(first)));
  produce(first, 5.5f);

  expect_ok(instance.follow(state, shared(second)));

  imported = Value::adopt(gantry_value{made.get()});
  gantry_retain(made.object());
  EXPECT_EQ(ends_of_import(second), std::vector<float>({5.5f, 5.5f}));
}

TEST_F(ProducedTensor, OfARunIsCompleteWhenTheNextRunIsInTheDefaultStream) {
  const ObjectRef first = stream(device).value();
  RuntimeState& state = *state_of(runtime.get());
  ModelInstance instance{nullptr};
  expect_ok(instance.follow(state, Ref<StreamObject>::share(as_stream(first.get()))));
  produce(first, 6.5f);

  expect_ok(instance.follow(state, {}));

  imported = Value::adopt(gantry_value{made.get()});
  gantry_retain(made.object());
  EXPECT_EQ(ends_of_import({}), std::vector<float>({6.5f, 6.5f}));
}

// The same for runs of a model, in both directions and without a stream.
TEST_F(ProducedTensor, OfAModelIsCompleteWhenItsNextRunIsInAnotherStream) {
  const ObjectRef model =
      test::new_model(
          test::load(runtime, test::golden("tvm-0.12/digits_mlp_llvm.so").string()).value())
          .value();
  std::vector<float> memory(64);
  const std::int64_t shape[] = {1, 64};
  gantry_tensor image = test::tensor_of(memory, shape);
  const auto run_in = [&](const ObjectRef& stream) {
    const gantry_value input = tensor_ref_value(&image);
    gantry_value output{};
    gantry_run run{};
    run.struct_size = sizeof run;
    run.inputs = &input;
    run.input_count = 1;
    run.outputs = &output;
    run.output_count = 1;
    run.stream = stream.get();
    expect_ok(test::run(model, run));
    (void)Value::adopt(output);
  };
  const ObjectRef first = stream(device).value(), second = stream(device).value();
  imported = Value::adopt(gantry_value{made.get()});
  gantry_retain(made.object());
  run_in(first);
  float last = 1.5f;

  for (const auto& [before, next] : {std::pair(&first, &second), {&second, &first}}) {
    produce(*before, ++last);
    run_in(*next);
    EXPECT_EQ(ends_of_import(*next), std::vector<float>({last, last}));
  }
  produce(first, ++last);
  run_in({});
  EXPECT_EQ(ends_of_import({}), std::vector<float>({last, last}));
}

}  // namespace
}  // namespace gantry
