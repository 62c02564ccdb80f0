// SPDX-License-Identifier: Apache-2.0
//
// The memory of machines: what is used again, and the limit of a runtime.
#include "tests/unit/relay_vm/fixture.hpp"

#include "plugins/relay_vm/plugin.hpp"

namespace gantry::relay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RelayMemory : public MachineTest {
 protected:
  // small(), large(): tensors in storages of 4096 and 8192 bytes.
  void assemble() {
    code.function("small", {}, 6);
    code.tensor(dtypes::float32, {2}, 16, 2, 5);
    code.ret(5);
    code.function("large", {}, 6);
    code.tensor(dtypes::float32, {2}, 8192, 2, 5);
    code.ret(5);
    start();
  }
  void limit(std::uint64_t bytes) {
    memory = std::make_shared<StorageMemory>("gantry.relay-vm", bytes);
  }
  static Result<Value> run_on(Machine& other, std::uint32_t function) {
    return other.run(function, nullptr, {});
  }
};

TEST_F(RelayMemory, IsAllocatedInTheFirstRun) {
  add_main(code);
  start();
  const std::vector<Value> args = {floats({1, 2}), floats({10, 20})};
  (void)result("main", args);
  const std::size_t before = fake.allocations.size();
  const int objects = fake.live_objects();

  for (int i = 0; i < 5; ++i) (void)result("main", args);

  EXPECT_EQ(fake.allocations.size(), before);
  EXPECT_EQ(fake.live_objects(), objects);
}

// Shapes, tuples, closures and storages that serve several tensors.
TEST_F(RelayMemory, IsNotAllocatedAfterTheFirstRun) {
  const auto add = code.packed("add");
  code.function("main", {"x", "y"}, 22);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.tensor(dtypes::float32, {2, 1, 1, 1, 1}, 16, 6, 9);
  code.invoke_packed(add, {0, 1, 5});
  code.invoke_packed(add, {5, 1, 9});
  code.kill_register(5);
  code.kill_register(4);
  code.tensor(dtypes::float32, {1, 2}, 16, 10, 13);
  code.shape_of(13, 14);
  code.load_integer(3, 15);
  code.alloc_data(0, {13}, 16);
  code.alloc_data(0, {16, 9, 14, 15, 0}, 17);
  code.get_field(17, 0, 18);
  code.get_field(18, 0, 19);
  code.invoke_packed(add, {9, 1, 19});
  code.alloc_closure(1, {19}, 20);
  code.invoke_closure(20, {}, 21);
  code.ret(21);
  code.function("same", {"captured"}, 1);
  code.ret(0);
  start();
  const std::vector<Value> args = {floats({1, 2}), floats({10, 20})};
  EXPECT_GT(allocations_of_run("main", args), 0);

  EXPECT_EQ(allocations_of_run("main", args), 0);
  EXPECT_EQ(allocations_of_run("main", args), 0);
  EXPECT_THAT(elements(result("main", args)), ElementsAre(31, 62));
}

// Arguments and results are copied to memory of the machine.
TEST_F(RelayMemory, OfCopiesIsNotAllocatedAfterTheFirstRun) {
  const auto constant = code.floats({2}, {5, 6});
  code.device(handles.type);
  code.function("main", {"x", "y"}, 4);
  code.functions[0].param_devices = {1, 1};
  code.load_const(constant, 2);
  code.ret(2);
  start(std::vector{handles});
  const std::vector<Value> args = {floats({1, 2}), floats({10, 20})};
  (void)result("main", args);
  fake.copies.reserve(100);

  EXPECT_EQ(allocations_of_run("main", args), 0);
  EXPECT_EQ(allocations_of_run("main", args), 0);
}

// The memory of a result serves again when the caller releases it.
TEST_F(RelayMemory, OfResultsThatTheCallerHoldsStays) {
  add_main(code);
  start();
  const Value first = result("main", {floats({1, 2}), floats({0, 0})});
  const Value second = result("main", {floats({3, 4}), floats({0, 0})});
  Value third = result("main", {floats({5, 6}), floats({0, 0})});
  void* const memory = third.tensor()->data;

  EXPECT_THAT(elements(first), ElementsAre(1, 2));
  EXPECT_THAT(elements(second), ElementsAre(3, 4));
  third = Value();
  const Value again = result("main", {floats({7, 8}), floats({0, 0})});
  EXPECT_EQ(again.tensor()->data, memory);
  EXPECT_THAT(elements(first), ElementsAre(1, 2));
}

// The caller may hold either view of a storage that a result has under two shapes.
TEST_F(RelayMemory, OfAStorageWithTwoViewsStaysWhileOneOfThemIsHeld) {
  const auto add = code.packed("add");
  code.function("main", {"x", "y"}, 9);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.invoke_packed(add, {0, 1, 5});
  code.load_const(code.integers({2, 1}), 6);
  code.reshape_tensor(5, 6, 7);
  code.alloc_data(0, {5, 7}, 8);
  code.ret(8);
  start();
  const Value zeros = floats({0, 0});

  for (const std::size_t view : {0u, 1u}) {
    Value held = items(result("main", {floats({1, 2}), zeros})).at(view);

    const auto others = items(result("main", {floats({3, 4}), zeros}));

    EXPECT_THAT(elements(held), ElementsAre(1, 2)) << "view " << view;
    EXPECT_NE(others.at(0).tensor()->data, held.tensor()->data);
  }
}

// Tensors of one storage differ in their place, their shape and their type.
TEST_F(RelayMemory, IsAViewOfItsOwnForEachTensorOfAStorage) {
  code.function("main", {}, 9);
  code.load_integer(64, 0);
  code.load_integer(0, 1);
  code.load_integer(32, 2);
  code.alloc_storage(0, dtypes::float32, 0, 3);
  code.alloc_tensor(3, 1, dtypes::float32, {2}, 4);
  code.alloc_tensor(3, 2, dtypes::float32, {2}, 5);
  code.alloc_tensor(3, 2, dtypes::int32, {2}, 6);
  code.alloc_tensor(3, 2, dtypes::int32, {1, 2}, 7);
  code.alloc_data(0, {4, 5, 6, 7, 7}, 8);
  code.ret(8);
  start();

  const auto parts = items(result("main"));

  const auto place = [&](std::size_t i) { return static_cast<char*>(parts[i].tensor()->data); };
  EXPECT_EQ(place(1) - place(0), 32);
  EXPECT_EQ(place(2), place(1));
  EXPECT_EQ(tensor_text(*parts[1].tensor()), "float32[2]");
  EXPECT_EQ(tensor_text(*parts[2].tensor()), "int32[2]");
  EXPECT_EQ(tensor_text(*parts[3].tensor()), "int32[1, 2]");
  EXPECT_EQ(parts[4].object(), parts[3].object());
}

// A part of opaque memory differs from the whole in its offset only.
TEST_F(RelayMemory, IsAViewOfItsOwnForEachPartOfAHandle) {
  const auto field = code.device(handles.type);
  code.function("main", {}, 9);
  code.load_integer(64, 0);
  code.load_integer(0, 1);
  code.load_integer(32, 2);
  code.alloc_storage(0, dtypes::float32, field, 3);
  code.alloc_tensor(3, 1, dtypes::float32, {2}, 4);
  code.alloc_tensor(3, 2, dtypes::float32, {2}, 5);
  code.alloc_data(0, {4, 5}, 6);
  code.ret(6);
  start(std::vector{handles});

  const auto parts = items(result("main"));

  EXPECT_EQ(parts.at(1).tensor()->data, parts.at(0).tensor()->data);
  EXPECT_EQ(parts.at(0).tensor()->byte_offset, 0u);
  EXPECT_EQ(parts.at(1).tensor()->byte_offset, 32u);
}

// Objects of a run serve later ones: nothing of a constant may remain.
TEST_F(RelayMemory, OfAPartOfAConstantDoesNotMarkTheNextTensor) {
  const auto extents = code.integers({3});
  code.function("main", {"x"}, 9);
  code.load_const(extents, 1);
  code.load_integer(1, 2);
  code.reshape_tensor(1, 2, 3);
  code.kill_register(3);
  code.shape_of(0, 4);
  code.load_integer(64, 5);
  code.load_integer(0, 6);
  code.alloc_storage(5, dtypes::float32, 0, 7);
  code.alloc_tensor_reg(7, 6, 4, dtypes::float32, 8);
  code.alloc_data(0, {8, 4}, 8);
  code.ret(8);
  start();
  const Value x = floats({1, 2, 3, 4, 5});
  const std::size_t before = fake.copies.size();

  const auto parts = items(result("main", {x}));

  EXPECT_EQ(tensor_text(*parts.at(0).tensor()), "float32[5]");
  EXPECT_THAT(elements<std::int64_t>(parts.at(1)), ElementsAre(5));
  EXPECT_EQ(fake.copies.size(), before);
}

TEST_F(RelayMemory, OfAPartOfAConstantDoesNotMarkTheNextArgument) {
  const auto constant = code.floats({2, 1}, {5, 6});
  code.function("part", {}, 3);
  code.load_const(constant, 0);
  code.load_const(code.integers({2}), 1);
  code.reshape_tensor(0, 1, 2);
  code.alloc_data(0, {}, 0);
  code.ret(0);
  code.function("same", {"x"}, 1);
  code.ret(0);
  start();
  const Value x = floats({1, 2});

  (void)result("part");

  EXPECT_EQ(result("same", {x}).object(), x.object());
}

// Each differs from the first one in one respect.
TEST_F(RelayMemory, IsUsedAgainForTheSameDeviceSizeStreamAndScopeOnly) {
  int streams[2] = {};
  const auto pool = BlockPool::create(Host(fake.table()), memory);
  struct Request {
    std::string_view what;
    gantry_device_id device;
    std::uint64_t bytes;
    void* stream;
  };
  const Request requests[] = {
      {"the first", handles, 4096, nullptr},  {"size", handles, 8192, nullptr},
      {"device type", cpu, 4096, nullptr},    {"device index", {4, 1}, 4096, nullptr},
      {"stream", handles, 4096, &streams[0]}, {"another stream", handles, 4096, &streams[1]},
  };
  struct Scoped {
    std::string_view what, scope;
    std::vector<std::int64_t> shape;
    gantry_dtype dtype;
    void* stream;
  };
  const Scoped scoped[] = {
      {"a scope", "texture", {2, 3}, dtypes::float32, nullptr},
      {"another scope", "buffer", {2, 3}, dtypes::float32, nullptr},
      {"shape", "texture", {3, 2}, dtypes::float32, nullptr},
      {"code of the dtype", "texture", {2, 3}, dtypes::int32, nullptr},
      {"bits and shape", "texture", {2, 6}, dtypes::float16, nullptr},
      {"lanes", "texture", {2, 3}, {2, 16, 2}, nullptr},
      {"stream of a scope", "texture", {2, 3}, dtypes::float32, &streams[0]},
  };
  // The order of the second run differs: what was remembered of the first one does not help.
  for (const bool is_first : {true, false}) {
    pool->begin_run();
    for (std::size_t i = 0; i < std::size(requests); ++i) {
      const Request& at = requests[is_first ? i : std::size(requests) - 1 - i];
      fake.allocations.clear();
      ASSERT_TRUE(pool->take(at.device, at.bytes, at.stream).ok());
      EXPECT_EQ(fake.allocations.size(), is_first ? 1u : 0u) << at.what;
    }
    for (std::size_t i = 0; i < std::size(scoped); ++i) {
      const Scoped& at = scoped[is_first ? i : std::size(scoped) - 1 - i];
      fake.allocations.clear();
      ASSERT_TRUE(pool->take_scoped(handles, at.scope, at.shape, at.dtype, at.stream).ok());
      EXPECT_EQ(fake.allocations.size(), is_first ? 1u : 0u) << at.what;
    }
    pool->end_run();
  }
}

TEST_F(RelayMemory, IsRoundedUpToPages) {
  const auto pool = BlockPool::create(Host(fake.table()), memory);
  pool->begin_run();
  std::vector<TakenBlock> held;

  for (const std::uint64_t bytes : {0, 1, 4095, 4096, 4097, 8192, 8193})
    held.push_back(pool->take(cpu, bytes, nullptr).value());

  EXPECT_THAT(fake.allocations, ElementsAre(4096, 4096, 4096, 4096, 8192, 8192, 12288));
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i]->size, fake.allocations[i]);
  EXPECT_EQ(memory->bytes(cpu), 4u * 4096 + 2 * 8192 + 12288);
}

// An operator of another stream may still use a storage that was released.
TEST_F(RelayMemory, IsReusedInItsStreamOnly) {
  const auto field = code.device(handles.type);
  code.function("main", {}, 6);
  code.tensor(dtypes::float32, {2}, 16, 2, 5, field);
  code.ret(5);
  start(std::vector{handles});
  int streams[2] = {};
  const auto run_in = [&](void* stream) {
    const gantry_env env{handles, stream, nullptr, nullptr};
    EXPECT_TRUE(run("main", {}, &env).ok());
    return fake.allocations.size();
  };

  const std::size_t first = run_in(&streams[0]);
  EXPECT_EQ(run_in(&streams[0]), first);
  EXPECT_EQ(run_in(&streams[1]), first + 1);
  EXPECT_EQ(run_in(nullptr), first + 2);
  EXPECT_EQ(run_in(&streams[0]), first + 2);
}

// The driver has no memory, once: the whole limit is there afterwards.
TEST_F(RelayMemory, IsNotCountedForAnAllocationThatFails) {
  limit(2 * 4096);
  assemble();
  // The attempts of one allocation.
  fake.failing_allocations = 3;

  EXPECT_EQ(error_of("large").code, Code::exhausted);

  EXPECT_EQ(memory->bytes(cpu), 0u);
  (void)result("large");
  EXPECT_EQ(memory->bytes(cpu), 8192u);
}

TEST_F(RelayMemory, OfResultsOutlivesTheMachine) {
  add_main(code);
  start();
  const Value sum = result("main", {floats({1, 2}), floats({10, 20})});
  machine.reset();

  EXPECT_THAT(elements(sum), ElementsAre(11, 22));
}

TEST_F(RelayMemory, OfAFewResultsThatAreHeldIsKept) {
  add_main(code);
  start();
  const std::vector<Value> args = {floats({1, 2}), floats({10, 20})};
  std::vector<Value> held;
  for (int i = 0; i < 40; ++i) held.push_back(result("main", args));
  held.clear();
  const std::size_t before = fake.allocations.size();

  for (int i = 0; i < 16; ++i) held.push_back(result("main", args));
  EXPECT_EQ(fake.allocations.size(), before);
  held.push_back(result("main", args));
  EXPECT_EQ(fake.allocations.size(), before + 1);
}

TEST_F(RelayMemory, IsFreedForAStorageThatHasNone) {
  assemble();
  (void)result("small");
  fake.failing_allocations = 1;

  (void)result("large");

  fake.allocations.clear();
  (void)result("small");
  EXPECT_THAT(fake.allocations, ElementsAre(4096));
}

TEST_F(RelayMemory, StaysIfAResultUsesIt) {
  assemble();
  const Value held = result("small");
  (void)result("large");
  fake.allocations.clear();
  // The attempts of one allocation.
  fake.failing_allocations = 3;

  const Error error = error_of("small");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(fake.failing_allocations, 0);
  EXPECT_THAT(fake.allocations, ::testing::IsEmpty());
  EXPECT_EQ(tensor_text(*held.tensor()), "float32[2]");
  (void)result("large");
  EXPECT_THAT(fake.allocations, ElementsAre(8192));
}

TEST_F(RelayMemory, HasALimit) {
  limit(3 * 4096);
  assemble();
  const Value first = result("small");

  // The unused storage of a machine is freed for its next one.
  (void)result("large");
  const Value second = result("small");
  EXPECT_EQ(memory->bytes(cpu), 2u * 4096);
  const Error refused = error_of("large");

  EXPECT_EQ(refused.code, Code::exhausted);
  EXPECT_EQ(refused.reason, "MEMORY_LIMIT");
  EXPECT_EQ(text(refused),
            "storage of 8192 bytes on cpu:0, where executables hold 8192 bytes and the limit is "
            "12.0 KiB (12288 bytes): release results and virtual machines, or raise option "
            "memory_limit_mib of gantry.relay-vm\n  in instruction 2 of function \"large\": "
            "alloc_storage     $4 = $2 bytes, alignment 64, float32, device 0");
  (void)result("small");
}

TEST_F(RelayMemory, OfIdleMachinesIsFreedAtTheLimit) {
  limit(3 * 4096);
  assemble();
  (void)result("large");
  Machine other(Host(fake.table()), loaded);
  ASSERT_TRUE(other.initialize({}, nullptr).ok());

  const auto large = run_on(other, 1);

  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(memory->bytes(cpu), 8192u);
}

TEST_F(RelayMemory, OfAMachineThatRunsStaysAtTheLimit) {
  limit(3 * 4096);
  const auto inner = code.packed("inner");
  code.function("outer", {"x"}, 6);
  code.tensor(dtypes::float32, {2}, 8192, 2, 5);
  code.kill_register(5);
  code.kill_register(4);
  code.invoke_packed(inner, {0});
  code.ret(0);
  code.function("large", {}, 6);
  code.tensor(dtypes::float32, {2}, 8192, 2, 5);
  code.ret(5);
  std::unique_ptr<Machine> other;
  std::string refusal;
  fake.add_function("inner", [&](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                                 gantry_status*) {
    const auto large = run_on(*other, 1);
    refusal = large.ok() ? "" : text(large.error());
    return GANTRY_OK;
  });
  start();
  other = std::make_unique<Machine>(Host(fake.table()), loaded);
  ASSERT_TRUE(other->initialize({}, nullptr).ok());

  (void)result("outer", {floats({1})});

  EXPECT_THAT(refusal, HasSubstr("where executables hold 8192 bytes"));
  EXPECT_TRUE(run_on(*other, 1).ok());
}

TEST_F(RelayMemory, IsCountedUntilResultsAreReleased) {
  assemble();
  Value small = result("small");
  (void)result("large");
  EXPECT_EQ(memory->bytes(cpu), 3u * 4096);

  machine.reset();
  EXPECT_EQ(memory->bytes(cpu), 4096u);
  small = Value();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(RelayMemory, HasALimitThatIsAnOption) {
  fake.options["memory_limit_mib"] = std::int64_t{1};
  assemble();
  const auto plugin = Plugin::create(Host(fake.table()));
  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  const auto pool = BlockPool::create(Host(fake.table()), (*plugin)->memory);
  pool->begin_run();

  EXPECT_TRUE(pool->take(cpu, 1 << 20, nullptr).ok());
  EXPECT_EQ(pool->take(cpu, (1 << 20) + 1, nullptr).error().reason, "MEMORY_LIMIT");
  fake.options["memory_limit_mib"] = std::string("1");
  EXPECT_EQ(Plugin::create(Host(fake.table())).error().reason, "CONFIG");
}

// 4,000 registers within each other 65,536 times are 2 GB.
TEST_F(RelayMemory, HasRegistersWithinTheLimit) {
  limit(1 << 20);
  code.function("main", {}, 4000);
  code.invoke(0, {}, 0);
  code.ret(0);
  for (std::int64_t reg = 0; reg < 4000; ++reg) code.kill_register(reg);
  code.ret(0);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_THAT(text(error), HasSubstr("the limit is 1.0 MiB (1048576 bytes): release results"));
  EXPECT_THAT(text(error), HasSubstr("in instruction 0 of function \"main\""));
  machine.reset();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

// Each of 200 arguments is a tuple of 200 tensors.
TEST_F(RelayMemory, HasArgumentListsWithinTheLimit) {
  const auto add = code.packed("add");
  code.function("main", {"x"}, 2);
  code.alloc_data(0, std::vector<std::int64_t>(200, 0), 1);
  code.invoke_packed(add, std::vector<std::int64_t>(200, 1));
  code.ret(1);
  constexpr std::uint64_t list = 200 * 200 * sizeof(gantry_value);
  limit(list);
  start();

  const Error error = error_of("main", {floats({1})});

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_THAT(text(error), HasSubstr("in instruction 1 of function \"main\""));
  machine.reset();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

// A list whose items are tuples, which a loop makes longer.
TEST_F(RelayMemory, HasObjectsWithinTheLimit) {
  limit(1 << 20);
  std::vector<std::int64_t> fields(50, 0);
  fields[0] = 1;
  code.function("main", {"x"}, 2);
  code.alloc_data(0, {0}, 1);
  code.alloc_data(1, fields, 1);
  code.jump(-1);
  code.ret(1);
  start({}, {.transfers = 1 << 20});

  const Error error = error_of("main", {floats({1})});

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_THAT(text(error), HasSubstr("in instruction 1 of function \"main\""));
  EXPECT_EQ(error_of("main", {floats({1})}).reason, "MEMORY_LIMIT") << "the machine is usable";
  machine.reset();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

// One that has no option ends, too.
TEST_F(RelayMemory, HasObjectsWithinALimitOfAMachine) {
  std::vector<std::int64_t> fields(10'000, 0);
  fields[0] = 1;
  code.function("main", {"x"}, 2);
  code.alloc_data(0, {0}, 1);
  code.alloc_data(1, fields, 1);
  code.jump(-1);
  code.ret(1);
  start({}, {.transfers = 1 << 20});

  const Error error = error_of("main", {floats({1})});

  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_THAT(text(error), HasSubstr("objects of a virtual machine require "));
  EXPECT_THAT(text(error), HasSubstr("the limit is 256.0 MiB (268435456 bytes)"));
}

// ---- what a device demands

class RelayDemands : public RelayMemory {
 protected:
  // main(): a tensor at an offset of a storage on the device of handles.
  Value tensor_at(std::int64_t offset) {
    code = RelayAssembler();
    const std::int64_t field = code.device(handles.type);
    code.function("main", {}, 6);
    code.load_integer(4096, 0);
    code.load_integer(offset, 1);
    code.alloc_storage(0, dtypes::uint8, field, 2);
    code.alloc_tensor(2, 1, dtypes::uint8, {16}, 3);
    code.ret(3);
    start(std::vector{handles});
    return result("main", {});
  }
};

TEST_F(RelayDemands, DecideWhereTensorsBeginInStorages) {
  fake.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 64}, {GANTRY_ATTRIBUTE_PADDING, 128}};

  EXPECT_EQ(tensor_at(256).tensor()->byte_offset, 256u);
  EXPECT_EQ(fake.allocations.size(), 3u) << "two integers and the storage";
  EXPECT_EQ(tensor_at(64).tensor()->byte_offset, 0u);
  EXPECT_EQ(fake.allocations.size(), 3u + 4u) << "memory of its own";
}

TEST_F(RelayDemands, AreReadOnceForAMachine) {
  (void)tensor_at(0);
  const int reads = fake.attribute_reads;
  for (int i = 0; i < 3; ++i) (void)result("main", {});

  EXPECT_EQ(reads, 4);
  EXPECT_EQ(fake.attribute_reads, reads);
}

TEST_F(RelayDemands, MakeACopyOfAnArgumentWithoutPadding) {
  fake.attributes = {{GANTRY_ATTRIBUTE_PADDING, 16}};
  code.function("main", {"x"}, 1);
  code.functions[0].param_devices = {code.device(handles.type)};
  code.ret(0);
  start(std::vector{handles});
  const std::size_t before = fake.copies.size();

  (void)result("main", {floats({1, 2, 3, 4}, handles)});
  EXPECT_EQ(fake.copies.size(), before);
  (void)result("main", {floats({1, 2, 3}, handles)});
  EXPECT_EQ(fake.copies.size(), before + 1);
}

}  // namespace
}  // namespace gantry::relay::test
