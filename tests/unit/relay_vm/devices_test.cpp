// SPDX-License-Identifier: Apache-2.0
//
// Code for several devices.
#include "tests/unit/relay_vm/fixture.hpp"

namespace gantry::relay::test {
namespace {

using ::testing::ElementsAre;

class RelayDevices : public MachineTest {
 protected:
  // main(x): x + [10, 20] on device 4, copied to the CPU. x is on device 4.
  void assemble(std::string version) {
    code = RelayAssembler(std::move(version));
    const std::int64_t cpu_field = code.has_devices ? 0 : 1;
    const std::int64_t field = code.has_devices ? code.device(4) : 4;
    const auto add = code.packed("add");
    const auto constant = code.floats({2}, {10, 20});
    code.constants.back().device = field;
    code.function("main", {"x"}, 9);
    code.functions[0].param_devices = {field};
    code.load_const(constant, 1);
    code.tensor(dtypes::float32, {2}, 8, 2, 5, field);
    code.invoke_packed(add, {0, 1, 5});
    code.device_copy(5, field, cpu_field, 6);
    code.ret(6);
  }
};

TEST_F(RelayDevices, RunKernelsOnTheDeviceOfTheirOutput) {
  for (const char* const version : {"0.8.0", "0.12.0", "0.14.0"}) {
    assemble(version);
    start(std::vector{handles});

    const Value sum = result("main", {floats({1, 2}, handles)});

    EXPECT_THAT(elements(sum), ElementsAre(11, 22)) << version;
    EXPECT_EQ(sum.tensor()->device.type, cpu.type);
    EXPECT_EQ(last_env.device.type, handles.type);
  }
}

TEST_F(RelayDevices, ReceiveArgumentsOfOtherDevicesAsCopies) {
  assemble("0.12.0");
  start(std::vector{cpu, handles});
  const std::size_t before = fake.copies.size();

  EXPECT_THAT(elements(result("main", {floats({1, 2})})), ElementsAre(11, 22));
  EXPECT_EQ(fake.copies.size(), before + 2);
}

TEST_F(RelayDevices, ShareConstantsAmongMachines) {
  assemble("0.12.0");
  start(std::vector{handles});
  const std::size_t before = fake.copies.size();
  Machine other(Host(fake.table()), loaded);

  ASSERT_TRUE(other.initialize(std::vector{handles}, nullptr).ok());

  EXPECT_EQ(fake.copies.size(), before);
}

TEST_F(RelayDevices, UseTheStreamOfTheCallOnItsDevice) {
  assemble("0.12.0");
  start(std::vector{handles});
  int stream = 0;
  const gantry_env on_device{handles, &stream, nullptr, nullptr};
  const gantry_env elsewhere{cpu, &stream, nullptr, nullptr};
  const Value x = floats({1, 2}, handles);

  ASSERT_TRUE(run("main", {x}, &on_device).ok());
  EXPECT_EQ(last_env.stream, &stream);
  ASSERT_TRUE(run("main", {x}, &elsewhere).ok());
  EXPECT_EQ(last_env.stream, nullptr);
}

TEST_F(RelayDevices, UseTheStreamsOfFurtherDevicesOfTheCall) {
  assemble("0.12.0");
  start(std::vector{handles});
  int stream = 0, other = 0;
  const gantry_device_stream item{handles, &stream};
  const gantry_streams others{&item, 1};
  const gantry_env on_cpu{cpu, &other, nullptr, &others};

  ASSERT_TRUE(run("main", {floats({1, 2}, handles)}, &on_cpu).ok());

  EXPECT_EQ(last_env.device.type, handles.type);
  EXPECT_EQ(last_env.stream, &stream);
}

// ---- a second device of the same type

constexpr gantry_device_id second_handles{4, 1};

TEST_F(RelayDevices, RunKernelsOnTheDeviceOfTheirOutputAmongTwoOfOneType) {
  assemble("0.12.0");
  start(std::vector{second_handles});
  int stream = 0;
  const gantry_env on_first{handles, &stream, nullptr, nullptr};
  const Value x = floats({1, 2}, handles);
  const std::size_t before = fake.copies.size();

  const auto sum = run("main", {x}, &on_first);

  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_THAT(elements(*sum), ElementsAre(11, 22));
  EXPECT_EQ(last_env.device.index, 1);
  EXPECT_EQ(last_env.stream, nullptr) << "the stream is one of the first device";
  // The argument, and the result.
  EXPECT_EQ(fake.copies.size(), before + 2);
}

TEST_F(RelayDevices, UseTheFirstOfTheirType) {
  assemble("0.12.0");
  start(std::vector{cpu, second_handles, handles});

  (void)result("main", {floats({1, 2}, second_handles)});

  EXPECT_EQ(last_env.device.index, 1);
}

TEST_F(RelayDevices, HaveConstantsOfTheirOwn) {
  assemble("0.12.0");
  read();

  const Value first = loaded->constant(0, handles, {}, nullptr).value();
  const Value second = loaded->constant(0, second_handles, {}, nullptr).value();
  const Value on_cpu = loaded->constant(0, cpu, {}, nullptr).value();

  EXPECT_EQ(first.tensor()->device.index, 0);
  EXPECT_EQ(second.tensor()->device.index, 1);
  EXPECT_EQ(on_cpu.tensor()->device.type, cpu.type);
  EXPECT_EQ(loaded->constant(0, second_handles, {}, nullptr)->object(), second.object());
}

// Operators accept a handle only where the tensor begins with it.
TEST_F(RelayDevices, ReceivePartsOfHandlesAsCopies) {
  assemble("0.12.0");
  start(std::vector{handles});
  const Value x = floats({0, 1, 2}, handles);
  gantry_tensor part = *x.tensor();
  std::int64_t extent = 2;
  part.shape = &extent;
  part.byte_offset = sizeof(float);
  const gantry_value args[] = {tensor_ref_value(&part)};
  const std::size_t before = fake.copies.size();

  const auto sum = machine->run(0, nullptr, args);

  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_THAT(elements(*sum), ElementsAre(11, 22));
  EXPECT_EQ(fake.copies.size(), before + 2);
}

TEST_F(RelayDevices, HaveTheNumbersOfTheRuntime) {
  assemble("0.12.0");
  code.devices[1].type = 12;
  fake.device_numbers[12] = 4;
  start(std::vector{handles});

  EXPECT_THAT(elements(result("main", {floats({1, 2}, handles)})), ElementsAre(11, 22));
}

TEST_F(RelayDevices, AreRefusedIfOneIsMissing) {
  assemble("0.12.0");
  read();

  const Status started = machine->initialize(std::vector{cpu}, nullptr);

  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().reason, "DEVICE");
  EXPECT_EQ(text(started.error()),
            "virtual device 1 is of type opencl, the devices of the machine are cpu:0");
}

TEST_F(RelayDevices, AreStatedByTheCode) {
  for (const char* const version : {"0.8.0", "0.12.0"}) {
    assemble(version);
    read();

    EXPECT_THAT(device_types_of(loaded->code), ElementsAre(1, 4)) << version;
  }
}

TEST_F(RelayDevices, AreRefusedIfTheCodeDoesNotNameTheFirst) {
  code = RelayAssembler("0.12.0");
  code.function("main", {"x"}, 1);
  code.ret(0);
  read();

  const Status started = machine->initialize(std::vector{handles, cpu}, nullptr);

  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().reason, "DEVICE");
  EXPECT_EQ(text(started.error()),
            "the code is made for cpu:0, the devices of the machine are opencl:0, cpu:0");
  EXPECT_TRUE(machine->initialize(std::vector{cpu, handles}, nullptr).ok());
}

TEST_F(RelayDevices, HaveTheCpuAsTheirHost) {
  assemble("0.12.0");
  code.host_device = 1;
  read();

  const Status started = machine->initialize(std::vector{handles}, nullptr);

  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::unsupported);
  EXPECT_EQ(text(started.error()), "the host of the code is opencl:0, expected the CPU");
}

TEST_F(RelayDevices, RefuseACopyFromAnotherDevice) {
  assemble("0.12.0");
  code.functions[0].instructions[6] = {19, 5, 0, 0, 6};
  start(std::vector{handles});

  EXPECT_THAT(text(error_of("main", {floats({1, 2}, handles)})),
              ::testing::StartsWith("tensor is on opencl:0, expected cpu:0\n  in instruction 6 "));
}

// Sizes and offsets may be constants on a device: they are read in the file.
TEST_F(RelayDevices, ReadIntegersOfConstantsInTheFile) {
  assemble("0.12.0");
  for (auto& constant : code.constants) constant.device = 1;
  start(std::vector{handles});
  const Value x = floats({1, 2}, handles);
  (void)result("main", {x});
  const std::size_t before = fake.copies.size();

  EXPECT_THAT(elements(result("main", {x})), ElementsAre(11, 22));
  // The copy of the result only.
  EXPECT_EQ(fake.copies.size(), before + 1);
}

// A tensor that is computed on a device is copied to the host to be read.
TEST_F(RelayDevices, CopyIntegersThatAreReadFromADevice) {
  code.device(4);
  code.function("main", {"x"}, 4);
  code.functions[0].param_devices = {1};
  code.load_integer(6, 1);
  code.branch(0, 1, 1, 2);
  code.ret(1);
  code.fatal();
  start(std::vector{handles});

  const Value six =
      result("main", {tensor(dtypes::int64, {}, std::vector<std::int64_t>{6}, handles)});

  EXPECT_THAT(elements<std::int64_t>(six), ElementsAre(6));
}

TEST_F(RelayDevices, AllocateStoragesWithMemoryScopes) {
  code = RelayAssembler("0.14.0");
  const auto field = code.device(4, 0, "global.texture");
  code.function("main", {}, 6);
  code.load_integer(64, 0);
  code.load_integer(0, 1);
  code.alloc_storage(0, dtypes::float32, field, 2, {2, 3, 4});
  code.alloc_tensor(2, 1, dtypes::float32, {2, 3, 4}, 3);
  code.ret(3);
  start(std::vector{handles});
  const std::size_t before = fake.allocations.size();

  const Value made = result("main");

  EXPECT_EQ(tensor_text(*made.tensor()), "float32[2, 3, 4]");
  // Two integers, and the storage, whose size is that of its shape.
  EXPECT_THAT(std::vector(fake.allocations.begin() + static_cast<std::ptrdiff_t>(before),
                          fake.allocations.end()),
              ElementsAre(4096, 4096, 2 * 3 * 4 * sizeof(float)));
  (void)result("main");
  EXPECT_EQ(fake.allocations.size(), before + 4);
}

}  // namespace
}  // namespace gantry::relay::test
