// SPDX-License-Identifier: Apache-2.0
//
// The devices of a machine, and what is on which.
#include "plugins/relax/module.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MachineDevices : public VmTest {
 protected:
  std::vector<std::int32_t> types() const {
    std::vector<std::int32_t> found;
    for (std::int64_t i = 0; vm->device(i).ok(); ++i) found.push_back(vm->device(i)->type);
    return found;
  }
  std::vector<std::int32_t> types_with(std::vector<gantry_device_id> devices) {
    EXPECT_TRUE(vm->initialize(devices, nullptr).ok());
    return types();
  }
  Value tensor(gantry_device_id device, std::vector<float> values) const {
    auto extent = static_cast<std::int64_t>(values.size());
    const gantry_tensor like{nullptr, device, 1, dtypes::float32, &extent, nullptr, 0};
    Value made = Host(fake.table()).tensor_new(like).value();
    std::memcpy(fake.memory_of(*made.tensor()), values.data(), 4 * values.size());
    return made;
  }
  std::vector<float> floats(const Value& value) const {
    const gantry_tensor& found = *value.tensor();
    const auto* first = reinterpret_cast<const float*>(fake.memory_of(found));
    return {first, first + found.shape[0]};
  }
};

TEST_F(MachineDevices, EndWithTheCpu) {
  code.function("main", {}, 1);
  code.ret(relax_void);
  read();

  EXPECT_THAT(types_with({}), ElementsAre(1));
  EXPECT_THAT(types_with({cpu}), ElementsAre(1));
  EXPECT_THAT(types_with({handles}), ElementsAre(4, 1));
  EXPECT_THAT(types_with({handles, cpu}), ElementsAre(4, 1));
  EXPECT_THAT(types_with({cpu, handles}), ElementsAre(1, 4, 1));
  EXPECT_EQ(vm->device(-1)->type, 1);
  EXPECT_EQ(vm->device(3).error().message, "device 3 of the virtual machine, which has 3");
  EXPECT_EQ(vm->device(-2).error().reason, "DEVICE");
}

TEST_F(MachineDevices, HaveTheConstantsOnceForAllMachines) {
  const auto word = code.floats({2}, {1.5F, 2.5F});
  code.text("not on a device");
  const auto copy = code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.call(0, copy, {word});
  code.ret(0);
  const gantry_device_id devices[] = {handles};
  start(devices);
  EXPECT_THAT(fake.copies, ElementsAre(8));

  Vm second(Host(fake.table()), loaded);
  ASSERT_TRUE(second.initialize(devices, nullptr).ok());
  EXPECT_THAT(fake.copies, ElementsAre(8));

  ASSERT_TRUE(second.initialize({}, nullptr).ok());
  const Value other = second.run(*loaded->program.find("main"), nullptr, {}).value();
  EXPECT_EQ(other.tensor()->device.type, cpu.type);
  EXPECT_THAT(floats(other), ElementsAre(1.5F, 2.5F));
}

TEST_F(MachineDevices, HaveConstantsOfTheirOwnAmongTwoOfOneType) {
  const auto word = code.floats({2}, {1.5F, 2.5F});
  const auto copy = code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.call(0, copy, {word});
  code.ret(0);
  const gantry_device_id first[] = {handles}, second[] = {{handles.type, 1}};
  start(first);
  Vm other(Host(fake.table()), loaded);

  ASSERT_TRUE(other.initialize(second, nullptr).ok());

  EXPECT_EQ(run("main").value().tensor()->device.index, 0);
  const Value there = other.run(*loaded->program.find("main"), nullptr, {}).value();
  EXPECT_EQ(there.tensor()->device.index, 1);
}

TEST_F(MachineDevices, HaveStoragesByIndexAndTheHeapOnTheCpu) {
  const auto storage = code.packed("vm.builtin.alloc_storage");
  const auto alloc = code.packed("vm.builtin.alloc_tensor");
  const auto heap = code.packed("vm.builtin.alloc_shape_heap");
  for (const int index : {0, 1, -1}) {
    code.function(concat("storage", index), {}, 1);
    code.call(0, storage,
              {relax_register(relax_vm), code.shape({4}), relax_immediate(index),
               code.dtype(dtypes::uint8), code.text("global")});
    code.call(
        0, alloc,
        {relax_register(0), relax_immediate(0), code.shape({1}), code.dtype(dtypes::float32)});
    code.ret(0);
  }
  code.function("heap", {}, 1);
  code.call(0, heap, {relax_register(relax_vm), relax_immediate(3)});
  code.ret(0);
  const gantry_device_id devices[] = {handles};
  start(devices);

  EXPECT_EQ(run("storage0")->tensor()->device.type, handles.type);
  EXPECT_EQ(run("storage1")->tensor()->device.type, cpu.type);
  EXPECT_EQ(run("storage-1")->tensor()->device.type, cpu.type);
  EXPECT_EQ(run("heap")->tensor()->device.type, cpu.type);
}

// Work of another stream may still use a block that was released.
TEST_F(MachineDevices, ReuseStoragesInTheirStreamOnly) {
  const auto storage = code.packed("vm.builtin.alloc_storage");
  code.function("main", {}, 1);
  code.call(0, storage,
            {relax_register(relax_vm), code.shape({4}), relax_immediate(0),
             code.dtype(dtypes::uint8), code.text("global")});
  code.ret(0);
  const gantry_device_id devices[] = {handles};
  start(devices);
  int streams[2] = {};
  const auto run_in = [&](void* stream) {
    const gantry_env env{handles, stream, nullptr, nullptr};
    EXPECT_TRUE(vm->run(*loaded->program.find("main"), &env, {}).ok());
    return fake.allocations.size();
  };

  EXPECT_EQ(run_in(&streams[0]), 1u);
  EXPECT_EQ(run_in(&streams[0]), 1u);
  EXPECT_EQ(run_in(&streams[1]), 2u);
  EXPECT_EQ(run_in(nullptr), 3u);
  EXPECT_EQ(run_in(&streams[0]), 3u);
}

TEST_F(MachineDevices, ExchangeTensors) {
  const auto to_device = code.packed("vm.builtin.to_device");
  code.function("main", {"x", "type"}, 2);
  code.call(0, to_device, {relax_register(0), relax_register(1), relax_immediate(0)});
  code.ret(0);
  code.function("scoped", {"x", "type"}, 2);
  code.call(0, to_device,
            {relax_register(0), relax_register(1), relax_immediate(0), code.text("texture")});
  code.ret(0);
  start();
  const Value x = tensor(cpu, {1, 2, 3});

  const Value moved = run("main", {x.get(), int_value(handles.type)}).value();
  const Value back = run("main", {moved.get(), int_value(cpu.type)}).value();
  const Value same = run("main", {moved.get(), int_value(handles.type)}).value();
  const Value scoped = run("scoped", {moved.get(), int_value(handles.type)}).value();

  const auto refused = run("main", {x.get(), int_value(4294967297)});

  EXPECT_EQ(moved.tensor()->device.type, handles.type);
  EXPECT_FALSE(refused.ok()) << "2^32 + 1 has the low bits of the CPU's number";
  EXPECT_THAT(floats(moved), ElementsAre(1, 2, 3));
  EXPECT_THAT(floats(back), ElementsAre(1, 2, 3));
  EXPECT_EQ(same.object(), moved.object());
  EXPECT_NE(scoped.object(), moved.object()) << "another memory scope";
}

// Two devices of one type are two devices: for copies, storages and streams.
TEST_F(MachineDevices, AreDistinguishedByTheirIndex) {
  const auto to_device = code.packed("vm.builtin.to_device");
  const auto storage = code.packed("vm.builtin.alloc_storage");
  const auto note = code.packed("note");
  code.function("move", {"x", "index"}, 2);
  code.call(0, to_device, {relax_register(0), relax_immediate(4), relax_register(1)});
  code.ret(0);
  code.function("noted", {}, 1);
  code.call(0, note, {});
  code.ret(0);
  for (const int index : {0, 1}) {
    code.function(concat("storage", index), {}, 1);
    code.call(0, storage,
              {relax_register(relax_vm), code.shape({4}), relax_immediate(index),
               code.dtype(dtypes::uint8), code.text("global")});
    code.ret(0);
  }
  gantry_env seen{};
  fake.add_function("note", [&](const gantry_env* given, std::span<const gantry_value>,
                                gantry_value*, gantry_status*) {
    seen = *given;
    return GANTRY_OK;
  });
  const gantry_device_id second{4, 1};
  const gantry_device_id devices[] = {second, handles};
  start(devices);
  const Value x = tensor(handles, {1, 2, 3});

  const Value moved = run("move", {x.get(), int_value(1)}).value();
  const Value same = run("move", {moved.get(), int_value(1)}).value();
  EXPECT_EQ(moved.tensor()->device.index, 1);
  EXPECT_THAT(floats(moved), ElementsAre(1, 2, 3));
  EXPECT_EQ(same.object(), moved.object());

  // A released storage of one is not one of the other.
  fake.allocations.clear();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(run("storage0").ok());
    ASSERT_TRUE(run("storage1").ok());
    EXPECT_EQ(fake.allocations.size(), 2u);
  }
  EXPECT_GT(memory->bytes(second), 0u);
  EXPECT_EQ(memory->bytes(second), memory->bytes(handles));

  // Kernels run on the first device, in the stream of a call on that device only.
  int stream = 0;
  const gantry_env on_first{second, &stream, nullptr, nullptr},
      elsewhere{handles, &stream, nullptr, nullptr};
  ASSERT_TRUE(vm->run(*loaded->program.find("noted"), &on_first, {}).ok());
  EXPECT_EQ(seen.device.index, 1);
  EXPECT_EQ(seen.stream, &stream);
  ASSERT_TRUE(vm->run(*loaded->program.find("noted"), &elsewhere, {}).ok());
  EXPECT_EQ(seen.device.index, 1);
  EXPECT_EQ(seen.stream, nullptr);
  int own = 0;
  const gantry_device_stream item{second, &own};
  const gantry_streams others{&item, 1};
  const gantry_env listed{handles, &stream, nullptr, &others};
  ASSERT_TRUE(vm->run(*loaded->program.find("noted"), &listed, {}).ok());
  EXPECT_EQ(seen.device.index, 1);
  EXPECT_EQ(seen.stream, &own);
}

TEST_F(MachineDevices, CopyATensorWithAnOffset) {
  const auto ensure = code.packed("vm.builtin.ensure_zero_offset");
  code.function("main", {"x"}, 1);
  code.call(0, ensure, {relax_register(0)});
  code.ret(0);
  start();
  const Value x = tensor(handles, {1, 2, 3});
  std::int64_t extent = 2;
  gantry_tensor part = *x.tensor();
  part.shape = &extent;
  part.byte_offset = 4;
  const Value view = Host(fake.table()).tensor_view(part, x.object()).value();

  const Value whole = run("main", {x.get()}).value();
  const Value copy = run("main", {view.get()}).value();

  EXPECT_EQ(whole.object(), x.object());
  EXPECT_EQ(copy.tensor()->byte_offset, 0u);
  EXPECT_THAT(floats(copy), ElementsAre(2, 3));
}

// The stateful protocol of the module that callers see.
class MachineModule : public MachineDevices {
 protected:
  MachineModule() {
    code.function("main", {"x"}, 1);
    code.ret(0);
    code.function("constant", {}, 1);
    code.call(0, code.packed("add"), {code.floats({2}, {1, 2})});
    code.ret(0);
    read();
    module = std::make_unique<VmModule>(Host(fake.table()), loaded);
  }
  ~MachineModule() override { module.reset(); }
  Result<Value> call(Result<Value> (VmModule::*function)(const Call&),
                     std::vector<gantry_value> args) const {
    return (module.get()->*function)(
        {"vm_initialization(type, index, allocator, ...)", nullptr, args});
  }

  std::unique_ptr<VmModule> module;
};

TEST_F(MachineModule, ReceivesDevicesByTheNumbersOfItsArtifact) {
  fake.device_numbers[12] = handles.type;

  const auto started =
      call(&VmModule::vm_initialization,
           {int_value(12), int_value(0), int_value(2), int_value(1), int_value(0), int_value(2)});

  ASSERT_TRUE(started.ok()) << started.error().message;
  EXPECT_THAT(fake.copies, ElementsAre(8)) << "the constant is copied to the device";
}

TEST_F(MachineModule, CopiesInputsOfOtherDevicesToTheFirst) {
  ASSERT_TRUE(call(&VmModule::vm_initialization, {int_value(4), int_value(0), int_value(2)}).ok());
  gantry_value main{};
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text("main"), &main);
  const Value far = tensor(cpu, {5, 6}), near = tensor(handles, {7, 8});
  fake.copies.clear();

  ASSERT_TRUE(call(&VmModule::set_input, {main, far.get()}).ok());
  ASSERT_TRUE(call(&VmModule::invoke_stateful, {main}).ok());
  const Value copied = call(&VmModule::get_output, {main}).value();
  ASSERT_TRUE(call(&VmModule::set_input, {main, near.get()}).ok());
  ASSERT_TRUE(call(&VmModule::invoke_stateful, {main}).ok());
  const Value kept = call(&VmModule::get_output, {main}).value();

  EXPECT_EQ(copied.tensor()->device.type, handles.type);
  EXPECT_THAT(floats(copied), ElementsAre(5, 6));
  EXPECT_EQ(kept.object(), near.object());
  EXPECT_THAT(fake.copies, ElementsAre(8));
}

TEST_F(MachineModule, CopiesInputsOfAnotherIndexToTheFirst) {
  ASSERT_TRUE(call(&VmModule::vm_initialization, {int_value(4), int_value(1), int_value(2)}).ok());
  gantry_value main{};
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text("main"), &main);
  const Value far = tensor(handles, {5, 6});
  fake.copies.clear();

  ASSERT_TRUE(call(&VmModule::set_input, {main, far.get()}).ok());
  ASSERT_TRUE(call(&VmModule::invoke_stateful, {main}).ok());
  const Value copied = call(&VmModule::get_output, {main}).value();

  EXPECT_EQ(copied.tensor()->device.index, 1);
  EXPECT_THAT(floats(copied), ElementsAre(5, 6));
  EXPECT_THAT(fake.copies, ElementsAre(8));
}

// 2^32 + 1 has the low bits of the CPU's number.
TEST_F(MachineModule, RefusesDeviceNumbersOfMoreThan32Bits) {
  const gantry_value large = int_value(4294967297);

  const auto type = call(&VmModule::vm_initialization, {large, int_value(0), int_value(2)});
  const auto index = call(&VmModule::vm_initialization, {int_value(1), large, int_value(2)});

  ASSERT_FALSE(type.ok());
  EXPECT_THAT(type.error().message,
              HasSubstr("argument 0 (type) is 4294967297, expected a number of 32 bits"));
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(index.error().message,
              HasSubstr("argument 1 (index) is 4294967297, expected a number of 32 bits"));
}

TEST_F(MachineModule, RefusesAListThatIsNotOfTriples) {
  for (const std::vector<gantry_value>& args :
       {std::vector<gantry_value>{}, {int_value(1), int_value(0)}}) {
    const auto refused = call(&VmModule::vm_initialization, args);

    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr(concat("argument count is ", args.size(),
                                                          ", expected three numbers for each "
                                                          "device")));
  }
}

}  // namespace
}  // namespace gantry::relax::test
