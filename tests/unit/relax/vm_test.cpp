// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/vm.hpp"

#include "plugins/relax/builtin.hpp"
#include "plugins/relax/plugin.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/function_advice.hpp>

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(VmTest, CallsAFunctionWithEveryKindOfArgument) {
  const auto add = code.packed("add");
  code.function("main", {"x"}, 2);
  code.call(1, add, {relax_register(0), relax_immediate(-3)});
  code.call(1, add, {relax_register(1), code.integer(100)});
  code.ret(1);
  start();

  EXPECT_EQ(number("main", {int_value(5)}), 102);
}

TEST_F(VmTest, PassesNoneAndTheAddressOfTheMachine) {
  fake.add_function("kinds", [this](const gantry_env*, std::span<const gantry_value> args,
                                    gantry_value* result, gantry_status*) {
    EXPECT_EQ(args[1].p, vm.get());
    *result = int_value(args[0].kind * 100 + args[1].kind);
    return GANTRY_OK;
  });
  const auto kinds = code.packed("kinds");
  code.function("main", {}, 1);
  code.call(0, kinds, {relax_register(relax_void), relax_register(relax_vm)});
  code.ret(0);
  start();

  EXPECT_EQ(number("main"), GANTRY_NONE * 100 + GANTRY_POINTER);
}

TEST_F(VmTest, BranchesAndJumps) {
  code.function("main", {"condition"}, 1);
  code.branch(0, 2);
  code.ret(0);
  code.jump(1);
  code.ret(relax_void);
  start();

  EXPECT_EQ(number("main", {int_value(7)}), 7);
  EXPECT_EQ(run("main", {int_value(0)})->kind(), GANTRY_NONE);
}

TEST_F(VmTest, EndsALoopOfACancelledTask) {
  code.function("main", {}, 1);
  code.jump(0);
  start();
  const int task = 0;
  const gantry_env of_task{cpu, nullptr, &task, nullptr};
  env = &of_task;
  fake.cancelled = true;

  EXPECT_EQ(error_of("main").code, Code::cancelled);
}

TEST_F(VmTest, EndsBeforeTheNextCallOfACancelledTask) {
  const auto cancel = code.packed("cancel");
  fake.add_function("cancel", [this](const gantry_env*, std::span<const gantry_value>,
                                     gantry_value*, gantry_status*) {
    fake.cancelled = true;
    return GANTRY_OK;
  });
  code.function("main", {}, 1);
  code.call(0, cancel, {});
  code.call(0, cancel, {});
  code.ret(0);
  start();
  const int task = 0;
  const gantry_env of_task{cpu, nullptr, &task, nullptr};
  env = &of_task;

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::cancelled);
  EXPECT_EQ(error.message, "run is cancelled");
}

TEST_F(VmTest, RunsFunctionsWithinFunctions) {
  const auto add = code.packed("add");
  const auto twice = code.function("twice", {"x"}, 2);
  code.call(1, add, {relax_register(0), relax_register(0)});
  code.ret(1);
  code.function("main", {"x"}, 2);
  code.call(1, twice, {relax_register(0)});
  code.call(1, twice, {relax_register(1)});
  code.ret(1);
  start();

  EXPECT_EQ(number("main", {int_value(3)}), 12);
}

TEST_F(VmTest, LimitsTheDepthOfCalls) {
  code.function("main", {}, 1);
  code.call(0, 0, {});
  code.ret(0);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "VM_DEPTH");
  EXPECT_THAT(error.message, StartsWith("functions of the virtual machine call each other 2000 "
                                        "times within each other, the limit\n"));
  EXPECT_EQ(error_of("main").reason, "VM_DEPTH") << "the depth is counted anew";
}

// 4,000 registers within each other 2,000 times are 128 MB.
TEST_F(VmTest, CountsRegistersAgainstTheMemoryLimit) {
  memory = std::make_shared<StorageMemory>("gantry.relax", 1 << 20);
  const auto add = code.packed("add");
  const auto main = code.function("main", {}, 4000);
  for (std::int64_t reg = 0; reg < 4000; ++reg)
    code.call(reg, add, {relax_immediate(1), relax_immediate(1)});
  code.call(0, main, {});
  code.ret(0);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_THAT(error.message.text(),
              HasSubstr("the limit is 1.0 MiB (1048576 bytes): release results"));
  EXPECT_THAT(error.message.text(), HasSubstr("in instruction 4000 of function \"main\""));
  vm.reset();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(VmTest, GivesAFailedAllocationTheKindThatTvmHas) {
  memory = std::make_shared<StorageMemory>("gantry.relax", 1 << 20);
  const auto alloc = code.packed("vm.builtin.alloc_storage");
  code.function("main", {}, 1);
  code.call(0, alloc,
            {relax_register(relax_vm), code.shape({2 << 20}), relax_immediate(0),
             code.dtype(dtypes::uint8), code.text("global")});
  code.ret(0);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(kind_of(error), "InternalError");
}

// A function that calls itself by a closure has a list of what the closure captures at each level.
TEST_F(VmTest, CountsTheArgumentsOfClosures) {
  const std::vector<std::int64_t> captured(4000, relax_immediate(1));
  const auto make = code.packed("vm.builtin.make_closure");
  const auto invoke = code.packed("vm.builtin.invoke_closure");
  const auto add = code.packed("add");
  code.function("main", {}, 2);
  std::vector<std::int64_t> arguments = {relax_function(add)};
  arguments.insert(arguments.end(), captured.begin(), captured.end());
  code.call(0, make, arguments);
  code.call(1, invoke, {relax_register(relax_vm), relax_register(0)});
  code.ret(1);
  const auto error_with = [&](std::uint64_t limit) {
    vm.reset();
    memory = std::make_shared<StorageMemory>("gantry.relax", limit);
    start();
    const auto result = run("main");
    return result.ok() ? std::string() : std::string(result.error().reason);
  };

  // The arguments of make_closure stay while its caller runs, and so does what the closure captures.
  constexpr std::uint64_t list = 4000 * sizeof(gantry_value);
  EXPECT_EQ(error_with(3 * list + list / 2), "");
  EXPECT_EQ(error_with(2 * list + list / 2), "MEMORY_LIMIT");
}

// Each closure captures what the one before does and more: 100 of them capture 101,000 values.
TEST_F(VmTest, CountsWhatClosuresCapture) {
  memory = std::make_shared<StorageMemory>("gantry.relax", 1 << 20);
  const auto make = code.packed("vm.builtin.make_closure");
  const auto add = code.packed("add");
  const std::vector<std::int64_t> captured(20, relax_immediate(1));
  code.function("main", {}, 100);
  for (std::int64_t reg = 0; reg < 100; ++reg) {
    std::vector<std::int64_t> arguments = {reg == 0 ? relax_function(add)
                                                    : relax_register(reg - 1)};
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    code.call(reg, make, arguments);
  }
  code.ret(99);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY_LIMIT");
  EXPECT_EQ(memory->bytes(cpu), 0u) << "the closures are released";
}

TEST_F(VmTest, CountsWhatAClosureCapturesUntilItsResultIsReleased) {
  const auto make = code.packed("vm.builtin.make_closure");
  const auto add = code.packed("add");
  std::vector<std::int64_t> arguments(101, relax_immediate(1));
  arguments[0] = relax_function(add);
  code.function("main", {}, 1);
  code.call(0, make, arguments);
  code.ret(0);
  start();

  Value closure = run("main").value();

  EXPECT_GE(memory->bytes(cpu), 100 * sizeof(gantry_value));
  closure = Value();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(VmTest, NamesTheInstructionOfAnError) {
  const auto refuse = code.packed("refuse");
  code.function("other", {}, 1);
  code.ret(relax_void);
  code.function("main", {}, 1);
  code.call(0, 1, {});
  code.call(0, refuse, {});
  code.ret(0);
  start();

  const Error error = error_of("main");

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "TEST");
  EXPECT_EQ(error.message,
            "refused by the test\n"
            "  in instruction 1 of function \"main\", which calls \"refuse\"");
}

TEST_F(VmTest, RefusesAnotherNumberOfArguments) {
  code.function("main", {"x", "y"}, 2);
  code.ret(0);
  start();

  const Error error = error_of("main", {int_value(1)});

  EXPECT_EQ(kind_of(error), "InternalError");
  EXPECT_EQ(error.message,
            "Invoking function main expects 2 arguments (x, y), but 1 arguments were provided.");
}

TEST_F(VmTest, ListsAllFunctionsThatAreMissing) {
  code.packed("first.missing");
  code.packed("add");
  code.packed("second.missing");
  code.function("main", {}, 1);
  code.ret(0);
  read();

  const Status started = vm->initialize({}, nullptr);

  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::not_found);
  EXPECT_EQ(started.error().reason, "FUNCTIONS_MISSING");
  EXPECT_EQ(
      started.error().message,
      "the executable requires \"first.missing\", \"second.missing\", which neither its "
      "library nor this runtime has\n"
      "  \"first.missing\" is a function of no release of TVM that gantry knows; add it before "
      "the load (Runtime::add_function, in Python Runtime.add_function)");
  EXPECT_FALSE(vm->is_initialized());
}

// The table in plugins/relax/README.md, section "Caches of language models".
class AbsentFunction : public VmTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(AbsentFunction, IsNamedWhenAMachineRequiresIt) {
  const std::string name = concat("vm.builtin.", GetParam());
  code.packed(name);
  code.function("main", {}, 1);
  code.ret(relax_void);
  read();

  const Status started = vm->initialize({}, nullptr);

  EXPECT_EQ(find_builtin(name), nullptr);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::not_found);
  EXPECT_EQ(started.error().reason, "FUNCTIONS_MISSING");
  EXPECT_EQ(started.error().message,
            concat("the executable requires \"", name,
                   "\", which neither its library nor this runtime has\n  \"", name, "\" is ",
                   advice_text(name)));
}

INSTANTIATE_TEST_SUITE_P(Caches, AbsentFunction,
                         ::testing::Values("attention_kv_cache_append_mla_kv",
                                           "attention_kv_cache_debug_get_kv_mla",
                                           "kv_cache_disagg_prepare_recv",
                                           "kv_cache_disagg_mark_send"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(VmTest, ReleasesEveryRegister) {
  const auto tuple = code.packed("vm.builtin.make_tuple");
  code.function("main", {"x"}, 3);
  code.call(1, tuple, {relax_register(0)});
  code.call(2, tuple, {relax_register(1), relax_register(1)});
  code.call(1, tuple, {});
  code.ret(2);
  start();
  const int before = fake.live_objects();
  {
    const auto result = run("main", {int_value(1)});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(fake.live_objects(), before + 2);
  }
  EXPECT_EQ(fake.live_objects(), before);
}

TEST_F(VmTest, CopiesATensorByReference) {
  code.function("main", {"x"}, 1);
  code.ret(0);
  start();
  float data[2] = {1, 2};
  std::int64_t shape[1] = {2};
  gantry_tensor tensor{data, cpu, 1, dtypes::float32, shape, nullptr, 0};

  const auto result = run("main", {tensor_ref_value(&tensor)});

  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->kind(), GANTRY_TENSOR);
  EXPECT_NE(result->tensor()->data, data);
  EXPECT_EQ(static_cast<float*>(result->tensor()->data)[1], 2);
}

TEST_F(VmTest, PlacesConstantsOnTheFirstDevice) {
  const auto word = code.floats({2}, {1.5F, 2.5F});
  const auto copy = code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.call(0, copy, {word});
  code.ret(0);
  const gantry_device_id devices[] = {handles};
  start(devices);

  const auto result = run("main");

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->tensor()->device.type, handles.type);
  float values[2];
  std::memcpy(values, fake.memory_of(*result->tensor()), sizeof values);
  EXPECT_EQ(values[1], 2.5F);
  EXPECT_EQ(vm->device(-1)->type, cpu.type) << "the CPU is appended";
}

TEST_F(VmTest, SharesConstantsOfOneDevice) {
  code.floats({2}, {1, 2});
  code.function("main", {}, 1);
  code.ret(0);
  start();
  const std::size_t before = fake.allocations.size();

  Vm second(Host(fake.table()), loaded);
  ASSERT_TRUE(second.initialize({}, nullptr).ok());

  EXPECT_EQ(fake.allocations.size(), before);
}

TEST_F(VmTest, ReusesStorages) {
  const auto storage = code.packed("vm.builtin.alloc_storage");
  code.function("main", {}, 1);
  code.call(0, storage,
            {relax_register(relax_vm), code.shape({100}), relax_immediate(-1),
             code.dtype(dtypes::uint8), code.text("global")});
  code.ret(0);
  start();

  ASSERT_TRUE(run("main").ok());
  ASSERT_TRUE(run("main").ok());

  EXPECT_THAT(fake.allocations, ::testing::ElementsAre(4096));
  {
    const auto first = run("main"), second = run("main");
    EXPECT_EQ(fake.allocations.size(), 2u);
  }
}

TEST_F(VmTest, HoldsNoMemoryAfterManyMachines) {
  const auto storage = code.packed("vm.builtin.alloc_storage");
  const auto cached = code.packed("vm.builtin.cuda_graph.get_cached_alloc");
  code.floats({2}, {1, 2});
  const auto allocate = code.function("allocate", {}, 1);
  code.call(0, storage,
            {relax_register(relax_vm), code.shape({100}), relax_immediate(-1),
             code.dtype(dtypes::uint8), code.text("global")});
  code.ret(0);
  code.function("main", {}, 2);
  code.call(0, allocate, {});
  code.call(1, cached, {relax_register(relax_vm), relax_function(allocate), relax_immediate(0)});
  code.ret(0);
  read();
  const auto run_one = [&] {
    Vm one(Host(fake.table()), loaded);
    ASSERT_TRUE(one.initialize({}, nullptr).ok());
    ASSERT_TRUE(one.run(*loaded->program.find("main"), nullptr, {}).ok());
  };

  run_one();
  const std::uint64_t bytes = memory->bytes(cpu);
  const int objects = fake.live_objects();
  for (int i = 1; i < 1000; ++i) run_one();

  EXPECT_EQ(bytes, 2 * 4096u);
  EXPECT_EQ(memory->bytes(cpu), bytes);
  EXPECT_EQ(fake.live_objects(), objects);
  vm.reset();
  loaded.reset();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(VmTest, FreesUnusedStoragesWithTheExecutable) {
  const auto storage = code.packed("vm.builtin.alloc_storage");
  code.function("main", {"shape"}, 2);
  code.call(1, storage,
            {relax_register(relax_vm), relax_register(0), relax_immediate(-1),
             code.dtype(dtypes::uint8), code.text("global")});
  code.ret(1);
  start();
  const Host host(fake.table());
  const std::int64_t small[] = {4096}, large[] = {8192};
  const Value result = run("main", {host.shape(small)->get()}).value();
  ASSERT_TRUE(run("main", {host.shape(large)->get()}).ok());
  EXPECT_EQ(memory->bytes(cpu), 4096u + 8192);

  vm.reset();
  loaded.reset();

  EXPECT_EQ(memory->bytes(cpu), 4096u) << "of the result";
}

class Storages : public VmTest {
 protected:
  void make(std::int64_t bytes, std::int64_t offset, std::int64_t extent) {
    const auto storage = code.packed("vm.builtin.alloc_storage");
    const auto tensor = code.packed("vm.builtin.alloc_tensor");
    code.function("main", {}, 2);
    code.call(0, storage,
              {relax_register(relax_vm), code.shape({bytes}), relax_immediate(-1),
               code.dtype(dtypes::uint8), code.text("global")});
    code.call(1, tensor,
              {relax_register(0), relax_immediate(offset), code.shape({extent}),
               code.dtype(dtypes::uint8)});
    code.ret(1);
    start();
  }
};

TEST_F(Storages, HaveTheRoundedSize) {
  make(100, 0, 4096);
  EXPECT_TRUE(run("main").ok());
}

TEST_F(Storages, RefuseATensorBeyondTheEnd) {
  make(4097, 4096, 4097);

  const Error error = error_of("main");

  EXPECT_EQ(kind_of(error), "InternalError");
  EXPECT_THAT(error.message,
              StartsWith("storage allocation failure, attempted to allocate 4097 at offset 4096 in "
                         "region that is 8192bytes\n"));
}

TEST_F(Storages, PlaceATensorAtItsOffset) {
  make(4097, 4096, 4096);

  const auto whole = run("main");

  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->tensor()->byte_offset, 0u);
}

// One number that the shape and the strides of the tensor repeat.
TEST_F(VmTest, RefusesAHeapThatIsNotCompact) {
  const auto match = code.packed("vm.builtin.match_prim_value");
  code.function("main", {"heap"}, 1);
  code.call(relax_void, match,
            {relax_immediate(1), relax_register(0), relax_immediate(1), relax_immediate(5)});
  code.ret(relax_void);
  start();
  std::int64_t one = 0, shape[1] = {8}, strides[1] = {0};
  const gantry_tensor repeated{&one, cpu, 1, dtypes::int64, shape, strides, 0};
  const Value view = Host(fake.table()).tensor_view(repeated, fake.node()).value();

  EXPECT_THAT(error_of("main", {view.get()}).message,
              HasSubstr("argument 1 (heap) is a tensor, expected a shape heap: a list of numbers "
                        "on the CPU"));
}

TEST_F(VmTest, AppendsWhatAClosureCaptured) {
  const auto make = code.packed("vm.builtin.make_closure");
  const auto invoke = code.packed("vm.builtin.invoke_closure");
  const auto minus = code.function("first", {"x", "y"}, 2);
  code.ret(0);
  code.function("main", {"x"}, 2);
  code.call(1, make, {relax_function(minus), relax_register(0)});
  code.call(1, invoke, {relax_register(relax_vm), relax_register(1), relax_immediate(8)});
  code.ret(1);
  start();

  EXPECT_EQ(number("main", {int_value(3)}), 8);
}

TEST_F(VmTest, RefusesAnAddressThatIsNotTheMachine) {
  const auto invoke = code.packed("vm.builtin.alloc_shape_heap");
  code.function("main", {"vm"}, 1);
  code.call(0, invoke, {relax_register(0), relax_immediate(1)});
  code.ret(0);
  start();
  gantry_value other{};
  other.kind = GANTRY_POINTER;
  other.p = &other;

  EXPECT_THAT(error_of("main", {other}).message,
              HasSubstr("argument 0 (vm) is a pointer, expected the virtual machine that runs"));
}

// A builtin of the plugin with arguments, called from bytecode.
struct BuiltinRefusal {
  const char* name;
  const char* builtin;
  std::vector<gantry_value> args;
  const char* kind;
  const char* message;
};
void PrintTo(const BuiltinRefusal& refusal, std::ostream* out) { *out << refusal.name; }

gantry_value small(const char* text) {
  gantry_value value{};
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text(text), &value);
  return value;
}
gantry_value opaque() {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  return value;
}

class RefusedBuiltin : public VmTest, public ::testing::WithParamInterface<BuiltinRefusal> {};

TEST_P(RefusedBuiltin, WithKindAndText) {
  const BuiltinRefusal& refusal = GetParam();
  const auto builtin = code.packed(refusal.builtin);
  std::vector<std::string> names;
  std::vector<std::int64_t> words;
  for (std::size_t i = 0; i < refusal.args.size(); ++i) {
    names.push_back(concat("a", i));
    words.push_back(relax_register(static_cast<std::int64_t>(i)));
  }
  code.function("main", names, static_cast<std::int64_t>(names.size()) + 1);
  code.call(static_cast<std::int64_t>(names.size()), builtin, words);
  code.ret(relax_void);
  start();

  const Error error = error_of("main", refusal.args);

  EXPECT_EQ(kind_of(error), refusal.kind);
  EXPECT_THAT(error.message, StartsWith(refusal.message));
}

INSTANTIATE_TEST_SUITE_P(
    Builtins, RefusedBuiltin,
    ::testing::Values(
        BuiltinRefusal{"TensorKind",
                       "vm.builtin.check_tensor_info",
                       {int_value(1), int_value(2), small("ctx")},
                       "TypeError",
                       "ctx expect a Tensor but get an integer"},
        BuiltinRefusal{"ContextThatEndsWithABlank",
                       "vm.builtin.check_tensor_info",
                       {int_value(1), int_value(2), small("ctx ")},
                       "TypeError",
                       "ctx expect a Tensor but get an integer"},
        BuiltinRefusal{"ShapeKind",
                       "vm.builtin.check_shape_info",
                       {int_value(1), int_value(2), small("ctx")},
                       "TypeError",
                       "ctx expect a Shape but get an integer"},
        BuiltinRefusal{"TupleKind",
                       "vm.builtin.check_tuple_info",
                       {int_value(1), int_value(2), small("ctx")},
                       "TypeError",
                       "ctx expect a Tuple but get an integer"},
        BuiltinRefusal{"FunctionKind",
                       "vm.builtin.check_func_info",
                       {int_value(1), small("ctx")},
                       "TypeError",
                       "ctx expect a Function but get an integer"},
        BuiltinRefusal{"TextKind",
                       "vm.builtin.check_string_info",
                       {int_value(1), small("ctx")},
                       "TypeError",
                       "ctx expect a String but get an integer"},
        BuiltinRefusal{"FloatForInteger",
                       "vm.builtin.check_prim_value_info",
                       {float_value(1.5), dtype_value(dtypes::int64), small("ctx")},
                       "TypeError",
                       "ctx expect a number of type int64 but get a float"},
        BuiltinRefusal{
            "MatchNumber",
            "vm.builtin.match_prim_value",
            {int_value(3), {}, int_value(0), int_value(4), small("ctx")},
            "RuntimeError",
            "ctx match_cast error, value mismatch to specified constant: found 3, expected 4"},
        BuiltinRefusal{
            "HeapIndex",
            "vm.builtin.match_prim_value",
            {int_value(3), {}, int_value(1), int_value(0), small("ctx")},
            "(not raised)",
            "match_prim_value(x, heap, code, number, context): number 0 of the shape heap, "
            "which has 0"},
        BuiltinRefusal{
            "MatchCode",
            "vm.builtin.match_prim_value",
            {int_value(3), {}, int_value(4), int_value(0), small("ctx")},
            "(not raised)",
            "match_prim_value(x, heap, code, number, context): code 4 of a comparison, range "
            "is 0 to 3"},
        BuiltinRefusal{"Condition",
                       "vm.builtin.read_if_cond",
                       {opaque()},
                       "(not raised)",
                       "read_if_cond(x): argument 0 (x) is a pointer, expected a tensor"},
        BuiltinRefusal{"ItemOfNoTuple",
                       "vm.builtin.tuple_getitem",
                       {int_value(1), int_value(0)},
                       "(not raised)",
                       "tuple_getitem(tuple, index): argument 0 (tuple) is an integer"},
        BuiltinRefusal{
            "StorageKind",
            "vm.builtin.alloc_tensor",
            {int_value(0), int_value(0), int_value(0), int_value(0)},
            "(not raised)",
            "alloc_tensor(storage, offset, shape, dtype, scope): argument 0 (storage) is an "
            "integer"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::relax::test
