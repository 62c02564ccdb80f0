// SPDX-License-Identifier: Apache-2.0
//
// Inputs on the host of a model on a device that uses host memory at its address.
#include "core/engine/embed/objects.hpp"
#include "core/engine/tensor/cpu_device.hpp"

#include "tests/support/fake_model.hpp"
#include "tests/unit/embed/embedded.hpp"

#include <cstring>
#include <functional>
#include <numeric>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_ok;

// Memory is the CPU's. The work of a run is done when the device is synchronized, or memory is freed.
class SharedAddresses : public test::Embedded {
 protected:
  SharedAddresses() {
    work = {};
    table = *cpu_device_table();
    table.type = 0;
    table.attribute = [](void*, std::int32_t, std::int32_t kind, gantry_value* value,
                         gantry_status*) -> gantry_code {
      if (kind != GANTRY_ATTRIBUTE_SHARED_ADDRESSES) return GANTRY_NOT_FOUND;
      *value = int_value(1);
      return GANTRY_OK;
    };
    table.synchronize = [](void*, std::int32_t, void*, gantry_status*) -> gantry_code {
      do_work();
      return GANTRY_OK;
    };
    table.event_reached = nullptr;
    table.free = [](void* self, std::int32_t i, void* data) {
      do_work();
      cpu_device_table()->free(self, i, data);
    };
    table.copy = [](void*, std::int32_t, const gantry_copy* what, void*,
                    gantry_status*) -> gantry_code {
      std::memcpy(what->to.data, what->from.data, what->size);
      return GANTRY_OK;
    };
    const std::int32_t type = state_of(runtime.get())->devices.add("npu", nullptr, &table).value();
    device = {type, 0};
    fake->device_types = {type};
    ParameterInfo x;
    x.name = "x";
    x.kind = GANTRY_TENSOR;
    x.type = TensorType{dtypes::float32, {64}};
    fake->inputs = {x};
    gantry_placement at{};
    at.device = device;
    at.alignment = 64;
    fake->placements.inputs = {at};
    fake->work = [this](const gantry_env&, ExecutorRun& run) -> Status {
      const gantry_tensor* const passed = gantry_value_tensor(run.inputs().data());
      used = passed->data;
      EXPECT_EQ(passed->device.type, device.type);
      work = [this, data = static_cast<const float*>(passed->data)] {
        sum = std::accumulate(data, data + 64, 0.0f);
      };
      return after_work;
    };
  }
  // Runs with an input.
  Status run(const gantry_value& input, std::uint32_t flags, gantry_object* task = nullptr) {
    if (model.get() == nullptr) {
      const Ref<ModuleNode> module = test::fake_model(*state_of(runtime.get()), fake);
      model = test::new_model(ObjectRef::share(module.base())).value();
    }
    gantry_run run{};
    run.struct_size = sizeof run;
    run.flags = flags;
    run.inputs = &input;
    run.input_count = 1;
    run.task = task;
    const Status ran = test::run(model, run);
    Value::adopt(run.result);
    copied = run.copied_bytes;
    return ran;
  }
  gantry_value given() const { return tensor_ref_value(const_cast<gantry_tensor*>(&x)); }

  static void do_work() {
    if (work) std::exchange(work, {})();
  }
  static inline std::function<void()> work;

  gantry_device_table table{};
  gantry_device_id device{};
  std::shared_ptr<test::FakeModelState> fake = std::make_shared<test::FakeModelState>();
  ObjectRef model;
  // what the executor returns after it has enqueued its work
  Status after_work;
  alignas(64) float memory[80] = {};
  const std::int64_t extents[1] = {64};
  gantry_tensor x = [this] {
    std::fill_n(memory, 80, 1.0f);
    return compact_tensor(dtypes::float32, extents, {cpu_device_type, 0}, memory);
  }();
  const void* used = nullptr;
  float sum = 0;
  std::uint64_t copied = 0;
};

TEST_F(SharedAddresses, AreUsedByARunThatWaits) {
  expect_ok(run(given(), GANTRY_RUN_WAIT | GANTRY_RUN_NO_COPY));

  EXPECT_EQ(used, memory);
  EXPECT_EQ(copied, 0u);
  EXPECT_EQ(sum, 64);
}

TEST_F(SharedAddresses, AreNotUsedByARunThatReturnsBeforeItsWork) {
  expect_ok(run(given(), 0));
  std::fill_n(memory, 64, 5.0f);
  do_work();

  EXPECT_NE(used, memory);
  EXPECT_EQ(copied, 256u);
  EXPECT_EQ(sum, 64);
}

TEST_F(SharedAddresses, AreNotUsedWithoutTheAlignmentOfThePlacement) {
  x.data = memory + 1;

  expect_ok(run(given(), GANTRY_RUN_WAIT));

  EXPECT_NE(used, x.data);
  EXPECT_EQ(copied, 256u);
}

TEST_F(SharedAddresses, AreNotUsedIfTheExecutorKeepsTheTensor) {
  fake->placements.inputs[0].flags = GANTRY_PLACEMENT_KEPT;

  expect_ok(run(given(), GANTRY_RUN_WAIT));

  EXPECT_NE(used, memory);
}

// A task may end the wait before the work, which then keeps objects.
TEST_F(SharedAddresses, OfObjectsOnlyAreUsedByARunWithATask) {
  gantry_task_options options{};
  options.struct_size = sizeof options;
  gantry_object* made = nullptr;
  expect_ok(done([&](gantry_status* status) { return embed().task_new(&options, &made, status); }));
  const ObjectRef task = ObjectRef::adopt(made);
  gantry_value object{};
  gantry_tensor like = x;
  like.data = nullptr;
  ASSERT_EQ(host->tensor_new(host, &like, {}, 0, &object, nullptr), GANTRY_OK);
  const Value owned = Value::adopt(object);
  std::fill_n(static_cast<float*>(owned.tensor()->data), 64, 2.0f);

  expect_ok(run(given(), GANTRY_RUN_WAIT, task.get()));
  EXPECT_NE(used, memory);
  expect_ok(run(owned.get(), GANTRY_RUN_WAIT, task.get()));
  EXPECT_EQ(used, owned.tensor()->data);
  EXPECT_EQ(sum, 128);
}

TEST_F(SharedAddresses, AreNotUsedAfterARunThatFails) {
  after_work = invalid("the executor fails");

  const Status failed = run(given(), GANTRY_RUN_WAIT);
  std::fill_n(memory, 64, 5.0f);

  ASSERT_FALSE(failed.ok());
  EXPECT_FALSE(work) << "the work goes on";
  EXPECT_EQ(sum, 64);
}

}  // namespace
}  // namespace gantry
