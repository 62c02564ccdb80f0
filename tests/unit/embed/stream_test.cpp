// SPDX-License-Identifier: Apache-2.0
//
// Streams of the C API, on the example accelerator of the SDK.
#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/instances.hpp"
#include "core/engine/embed/objects.hpp"

#include "tests/support/fake_model.hpp"
#include "tests/unit/embed/embedded.hpp"

#include <gantry/embed/runtime.hpp>
#include <gantry/handle.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::HasSubstr;

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
  void produce(const ObjectRef& stream, float last, int copies = 50) const {
    const gantry_env env{device, embed().stream_handle(stream.get()), nullptr, nullptr};
    const Value before = new_tensor(-1), after = new_tensor(last);
    for (int i = 0; i < copies; ++i) {
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

  static Ref<StreamObject> shared(const ObjectRef& object) {
    return Ref<StreamObject>::share(as_stream(object.get()));
  }
  std::shared_ptr<ModelState> fake_model() const {
    const auto& state = state_of(runtime.get());
    auto module = test::fake_model(*state, std::make_shared<test::FakeModelState>());
    return ModelState::find({.runtime = state, .module = std::move(module), .devices = {"cpu"}})
        .value();
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
  ModelInstance instance(fake_model());
  expect_ok(instance.follow(state, std::array{shared(first)}));
  produce(first, 5.5f);

  expect_ok(instance.follow(state, std::array{shared(second)}));

  imported = Value::adopt(gantry_value{made.get()});
  gantry_retain(made.object());
  EXPECT_EQ(ends_of_import(second), std::vector<float>({5.5f, 5.5f}));
}

TEST_F(ProducedTensor, OfARunIsCompleteWhenTheNextRunIsInTheDefaultStream) {
  const ObjectRef first = stream(device).value();
  RuntimeState& state = *state_of(runtime.get());
  ModelInstance instance(fake_model());
  expect_ok(instance.follow(state, std::array{shared(first)}));
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

// ---- runs that wait

// A model on the accelerator, and a stream of it with work that takes a while.
class WaitingRun : public ProducedTensor {
 protected:
  WaitingRun() {
    const ObjectRef module =
        test::load(runtime, (test::build_tree() / "tests/conformance/abacus.so").string()).value();
    const gantry_bytes first = gantry_text("abacus:0");
    gantry_model_options options{};
    options.struct_size = sizeof options;
    options.devices = &first;
    options.device_count = 1;
    model = test::new_model(module, &options).value();
  }
  // Runs with x = y = 1, and keeps the output.
  Status run_with(std::uint32_t flags, std::vector<gantry_object*> streams,
                  gantry_object* task = nullptr) {
    const gantry_value inputs[] = {tensor_ref_value(&x), tensor_ref_value(&x)};
    gantry_value out{};
    gantry_run run{};
    run.struct_size = sizeof run;
    run.flags = flags;
    run.inputs = inputs;
    run.input_count = 2;
    run.outputs = &out;
    run.output_count = 1;
    run.task = task;
    run.streams = streams.data();
    run.stream_count = static_cast<std::uint32_t>(streams.size());
    const Status ran = test::run(model, run);
    output = Value::adopt(out);
    return ran;
  }

  ObjectRef model;
  std::vector<float> ones = std::vector<float>(100, 1);
  const std::int64_t extents[1] = {100};
  gantry_tensor x = test::tensor_of(ones, extents);
  Value output;
};

TEST_F(WaitingRun, ReturnsAfterTheWorkOfItsStream) {
  const ObjectRef used = stream(device).value();
  int notified = 0;
  produce(used, 2.5f);
  expect_ok(done([&](gantry_status* status) {
    return embed().stream_notify(
        used.get(), [](void* count) { ++*static_cast<int*>(count); }, &notified, status);
  }));

  expect_ok(run_with(GANTRY_RUN_WAIT, {used.get()}));

  EXPECT_EQ(notified, 1);
  EXPECT_NE(output.tensor(), nullptr);
}

TEST_F(WaitingRun, EndsWithItsDeadlineAndWorksAgain) {
  const ObjectRef used = stream(device).value();
  gantry_task_options soon{};
  soon.struct_size = sizeof soon;
  soon.deadline_ns = 20'000'000;
  gantry_object* late = nullptr;
  expect_ok(done([&](gantry_status* status) { return embed().task_new(&soon, &late, status); }));
  const ObjectRef task = ObjectRef::adopt(late);
  produce(used, 2.5f, 1000);

  const Status failed = run_with(GANTRY_RUN_WAIT, {used.get()}, task.get());
  const Value none = std::move(output);
  const Status again = run_with(GANTRY_RUN_WAIT, {used.get()});

  // The deadline ends the run or, on most hosts, the wait.
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::cancelled);
  EXPECT_EQ(failed.error().reason, "DEADLINE");
  EXPECT_THAT(std::string(failed.error().message),
              HasSubstr("the deadline of the task has passed"));
  EXPECT_EQ(none.kind(), GANTRY_NONE);
  expect_ok(again);
  EXPECT_NE(output.tensor(), nullptr);
}

TEST_F(WaitingRun, HasOneStreamOfEachDevice) {
  const ObjectRef first = stream(device).value(), second = stream(device).value(),
                  other = stream({device.type, 1}).value();

  expect_error(run_with(0, {first.get(), second.get()}), Code::invalid, "ARGUMENT",
               "run: two streams are of device abacus:0");
  expect_ok(run_with(0, {first.get(), other.get()}));
}

TEST_F(WaitingRun, ReadsHostMemoryInTheOrderOfItsStream) {
  const ObjectRef used = stream(device).value();

  expect_ok(run_with(GANTRY_RUN_IN_STREAM | GANTRY_RUN_WAIT, {used.get()}));

  std::vector<float> to(100);
  gantry_tensor target = test::tensor_of(to, extents);
  EXPECT_EQ(host->tensor_copy(host, output.tensor(), &target, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(to[0], to[99]);
  EXPECT_NE(to[0], 0);
}

// ---- notifications and handles

// The accelerator under another name, whose table a test changes.
class ChangedDevice : public EmbedStream {
 protected:
  ChangedDevice() {
    const auto kind = state_of(runtime.get())->device(device.type).value();
    table = *kind->table;
    self = kind->self;
    table.name = "changed";
  }
  // Registers the device with the table as it is now.
  void add() {
    changed = {state_of(runtime.get())->devices.add("changed", self, &table).value(), 0};
  }
  // Leaves work in a stream that ends with `from` in `to`.
  void enqueue(const ObjectRef& stream) {
    const gantry_alloc what{sizeof what, 0, size, 64, nullptr, {1, 8, 1}, 0, {}, nullptr};
    ASSERT_EQ(table.alloc(self, 0, &what, &data, nullptr), GANTRY_OK);
    void* const handle = embed().stream_handle(stream.get());
    const gantry_location there{data, 0, device};
    for (int i = 0; i < 20; ++i) {
      const gantry_copy up{sizeof up, 0, {from.data(), 0, {1, 0}}, there, size};
      const gantry_copy down{sizeof down, 0, there, {to.data(), 0, {1, 0}}, size};
      ASSERT_EQ(table.copy(self, 0, &up, handle, nullptr), GANTRY_OK);
      ASSERT_EQ(table.copy(self, 0, &down, handle, nullptr), GANTRY_OK);
    }
  }
  ~ChangedDevice() override {
    if (data != nullptr) table.free(self, 0, data);
  }

  static constexpr std::size_t size = 1 << 20;
  gantry_device_table table{};
  void* self = nullptr;
  gantry_device_id changed{};
  std::vector<std::uint8_t> from = std::vector<std::uint8_t>(size, 7),
                            to = std::vector<std::uint8_t>(size);
  void* data = nullptr;
};

// What the device lacks; the host does the same without it.
enum class Lacks { nothing, notify, reached, events };

class Notification : public ChangedDevice, public ::testing::WithParamInterface<Lacks> {
 protected:
  struct Seen {
    const std::vector<std::uint8_t>*from, *to;
    std::mutex mutex = {};
    std::condition_variable more = {};
    int calls = 0;
    bool is_complete = false;

    static void notify(void* self) {
      auto* const seen = static_cast<Seen*>(self);
      const std::lock_guard lock(seen->mutex);
      ++seen->calls;
      seen->is_complete = *seen->from == *seen->to;
      seen->more.notify_all();
    }
  };
  Seen seen{&from, &to};
};

TEST_P(Notification, IsMadeOnceAfterTheWorkAndKeepsTheStream) {
  if (GetParam() >= Lacks::notify) table.stream_notify = nullptr;
  if (GetParam() >= Lacks::reached) table.event_reached = nullptr;
  if (GetParam() >= Lacks::events) {
    table.event_create = [](void*, std::int32_t, std::uint32_t, void**, gantry_status* status) {
      return gantry_fail(status, GANTRY_UNSUPPORTED, "EVENT", "no events");
    };
  }
  add();
  ObjectRef made = stream(changed).value();
  enqueue(made);

  for (int i = 0; i < 2; ++i) {
    expect_ok(done([&](gantry_status* status) {
      return embed().stream_notify(made.get(), Seen::notify, &seen, status);
    }));
  }
  made = ObjectRef();

  std::unique_lock lock(seen.mutex);
  ASSERT_TRUE(seen.more.wait_for(lock, std::chrono::seconds(20), [&] { return seen.calls == 2; }));
  EXPECT_TRUE(seen.is_complete);
}

std::string name_of_lack(const ::testing::TestParamInfo<Lacks>& test) {
  constexpr std::array<const char*, 4> names{"All", "WithoutNotify", "WithoutReached",
                                             "WithoutEvents"};
  return names[static_cast<std::size_t>(test.param)];
}
INSTANTIATE_TEST_SUITE_P(Of, Notification,
                         ::testing::Values(Lacks::nothing, Lacks::notify, Lacks::reached,
                                           Lacks::events),
                         name_of_lack);

TEST_F(EmbedStream, NotifiesAtOnceOnTheCpu) {
  const ObjectRef made = stream({1, 0}).value();
  int calls = 0;

  expect_ok(done([&](gantry_status* status) {
    return embed().stream_notify(
        made.get(), [](void* self) { ++*static_cast<int*>(self); }, &calls, status);
  }));

  EXPECT_EQ(calls, 1);
  expect_error(done([&](gantry_status* status) {
                 return embed().stream_notify(
                     runtime.get(), [](void*) {}, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND",
               "stream_notify: the object is of kind 96, expected a stream");
}

// Drivers report one UUID for one device. The second vendor of the tests has copied the example.
TEST_F(ChangedDevice, IsTheSameHardwareByItsUuid) {
  add();

  const DeviceList listed = Runtime(runtime).devices().value();

  const auto same_as = [&](std::string_view name, std::int32_t index) {
    for (const DeviceInfo& info : listed.devices) {
      if (info.name == name && info.id.index == index) return info.same_as;
    }
    return std::vector<std::string>{"is not listed"};
  };
  EXPECT_EQ(same_as("changed", 1), (std::vector<std::string>{"abacus:1", "soroban:1"}));
  EXPECT_EQ(same_as("abacus", 0), (std::vector<std::string>{"changed:0", "soroban:0"}));
  EXPECT_EQ(same_as("cpu", 0), std::vector<std::string>{});
}

const gantry_device_table* device_table_of_plugin = nullptr;

// The functions of the C++ layer, of which each calls one of the table.
TEST_F(ChangedDevice, PassesHandlesOfTheDriverOn) {
  static void* imported = nullptr;
  imported = nullptr;
  table.stream_import = [](void* plugin, std::int32_t i, void* handle, void** out,
                           gantry_status* status) -> gantry_code {
    imported = handle;
    const auto* const own = device_table_of_plugin;
    return own->stream_create(plugin, i, 0, out, status);
  };
  table.native_get = [](void* plugin, std::int32_t, std::int32_t kind, void* object, void** handle,
                        gantry_status*) -> gantry_code {
    *handle = kind == GANTRY_NATIVE_CONTEXT ? plugin : object;
    return GANTRY_OK;
  };
  device_table_of_plugin = state_of(runtime.get())->device(device.type).value()->table;
  add();
  const Runtime own(runtime);
  int handle = 0;

  const Stream made = own.import_stream(changed, &handle).value();

  EXPECT_EQ(imported, &handle);
  EXPECT_EQ(made.native().value(), made.handle());
  EXPECT_EQ(made.native(GANTRY_NATIVE_CONTEXT).value(), self);
  const Tensor tensor = own.tensor({2, 4}, {2, 32, 1}, "changed").value();
  EXPECT_EQ(tensor.native().value(), tensor.dlpack()->data);
  EXPECT_EQ(tensor.row(1).value().native().value(), tensor.dlpack()->data);
  const auto wrong = tensor.native(GANTRY_NATIVE_STREAM);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().reason, "NATIVE_KIND");
  EXPECT_EQ(wrong.error().message, "native_get: kind is 2, a tensor has 1 and 3");
}

TEST_F(EmbedStream, HasNoHandlesWhereTheDeviceHasNone) {
  const Runtime own(runtime);
  const Stream made = own.stream(device).value();
  int handle = 0;

  const auto native = made.native();
  const auto imported = own.import_stream(device, &handle);

  ASSERT_FALSE(native.ok());
  EXPECT_EQ(native.error().code, Code::unsupported);
  EXPECT_EQ(native.error().reason, "FUNCTION_ABSENT");
  EXPECT_EQ(native.error().message,
            "native_get of device abacus (plugin example.abacus): the device does not have this "
            "function");
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.error().reason, "FUNCTION_ABSENT");
}

}  // namespace
}  // namespace gantry
