// SPDX-License-Identifier: Apache-2.0
//
// Runs functions of models by name and compares them with the outputs that TVM computed.
#include "tests/golden/golden_array.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/thread_stack.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

using test::golden;
using ::testing::ElementsAre;

class AnyModel : public ::testing::Test {
 protected:
  Module load(const std::string& file) {
    auto loaded = runtime.load(golden(file).string());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *loaded;
  }
  Model model_of(const std::string& file) {
    auto model = runtime.model(load(file), {"cpu"});
    EXPECT_TRUE(model.ok()) << model.error().message;
    return *model;
  }
  ModelFunction function_of(const std::string& file, std::string_view name = {}) {
    auto function = model_of(file).function(name);
    EXPECT_TRUE(function.ok()) << function.error().message;
    return *function;
  }
  Session session_of(const std::string& file, std::string_view name = {}) {
    auto session = Session::create(function_of(file, name));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return std::move(*session);
  }
  Tensor array(const std::string& file, std::string_view member) {
    return test::golden_array(runtime, file, member);
  }
  Tensor int64(std::int64_t value) {
    Tensor made = runtime.tensor({}, dtypes::int64).value();
    std::memcpy(made.data(), &value, sizeof value);
    return made;
  }
  static void expect_equal(const Any& found, const Tensor& expected) {
    const auto tensor = found.tensor();
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(type_text(tensor->dtype(), tensor->shape()),
              type_text(expected.dtype(), expected.shape()));
    ASSERT_EQ(tensor->byte_size(), expected.byte_size());
    EXPECT_EQ(std::memcmp(tensor->data(), expected.data(), expected.byte_size()), 0);
  }
  static std::vector<std::string> names_of(const std::vector<NamedValue>& values) {
    std::vector<std::string> names;
    for (const NamedValue& value : values) names.push_back(value.name);
    return names;
  }
  static void expect_error(const Error& error, Code code, std::string_view text) {
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.message, text);
  }

  Runtime runtime = test::new_runtime();
};

// ---- graphs

using GraphAsModel = AnyModel;

TEST_F(GraphAsModel, IsOneFunctionWithItsInputs) {
  const Model model = model_of("tvm-0.12/digits_mlp_llvm.so");
  const ModelFunction function = model.function().value();

  EXPECT_THAT(model.functions().value(), ElementsAre("default"));
  EXPECT_EQ(function.name(), "default");
  EXPECT_EQ(function.subject(), "the model");
  const std::vector<ParameterInfo> inputs = function.inputs().value();
  ASSERT_EQ(inputs.size(), 1u);
  const ParameterInfo& input = inputs[0];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.type_text, "float32[1, 64]");
  ASSERT_TRUE(input.type);
  EXPECT_TRUE(same_dtype(input.type->dtype, dtypes::float32));
  EXPECT_THAT(input.type->shape, ElementsAre(1, 64));
  EXPECT_TRUE(input.accepts_tensor());
  EXPECT_FALSE(input.is_tuple());
}

TEST_F(GraphAsModel, HasTvmsOutputByName) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so", "default");
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");

  for (const std::int64_t i : {3, 4}) {
    ASSERT_TRUE(session.set_input("x", inputs.row(i).value()).ok());
    ASSERT_TRUE(session.run().ok());
    const auto output = session.output("output");
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_EQ(std::memcmp(output->tensor()->data(), expected.row(i)->data(), 40), 0) << i;
  }
}

TEST_F(GraphAsModel, HasSessionsThatShareNoInputs) {
  const Model model = model_of("tvm-0.12/digits_mlp_llvm.so");
  Session one = Session::create(model.function().value()).value();
  Session other = Session::create(model.function().value()).value();
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");
  ASSERT_TRUE(one.set_input(0, inputs.row(0).value()).ok());
  ASSERT_TRUE(other.set_input(0, inputs.row(1).value()).ok());
  ASSERT_TRUE(one.run().ok());
  ASSERT_TRUE(other.run().ok());

  EXPECT_EQ(std::memcmp(one.output("output")->tensor()->data(), expected.row(0)->data(), 40), 0);
  EXPECT_EQ(std::memcmp(other.output("output")->tensor()->data(), expected.row(1)->data(), 40), 0);
}

TEST_F(GraphAsModel, AcceptsAValueThatIsATensor) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so");
  const Tensor x = runtime.tensor({1, 64}, dtypes::float32).value();

  EXPECT_TRUE(session.bind("x", Any(x)).ok());
  expect_error(session.bind("x", runtime.text("x").value()).error(), Code::invalid,
               "value is a string, expected a tensor");
}

TEST_F(GraphAsModel, LooksForTheUsualFactoryIfTheFileHasNoGraph) {
  const auto model = runtime.model(load("tvm-0.12/axpy2_llvm.so"), {"cpu"});

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::not_found);
  EXPECT_THAT(model.error().message, ::testing::HasSubstr("\"default\""));
}

// ---- virtual machines

using VmAsModel = AnyModel;

TEST_F(VmAsModel, HasItsFunctionsInOrder) {
  const Model model = model_of("relax/control_flow_llvm.so");

  EXPECT_THAT(model.functions().value(),
              ElementsAre("branch", "is_even", "is_odd", "loop", "nested", "power"));
  EXPECT_EQ(model.module()->type_key().value(), "relax.VirtualMachine");
}

TEST_F(VmAsModel, HasInputsWithTheTypesThatTheCompilerLeft) {
  const Session cnn = session_of("relax/cnn_dyn_llvm.so");
  const Session prims = session_of("relax/prims_llvm.so", "prims");
  const Session nest = session_of("relax/tuples_llvm.so", "nest");

  EXPECT_EQ(cnn.name(), "main");
  EXPECT_EQ(cnn.subject(), "the model");
  ASSERT_EQ(cnn.inputs().size(), 1u);
  EXPECT_EQ(cnn.inputs()[0].type_text, "float32[n, 1, 8, 8]");
  ASSERT_TRUE(cnn.inputs()[0].type);
  EXPECT_THAT(cnn.inputs()[0].type->shape, ElementsAre(-1, 1, 8, 8));
  ASSERT_EQ(prims.inputs().size(), 3u);
  EXPECT_EQ(prims.inputs()[0].name, "n");
  EXPECT_EQ(prims.inputs()[0].type_text, "T.int64");
  EXPECT_FALSE(prims.inputs()[0].type);
  EXPECT_FALSE(prims.inputs()[0].accepts_tensor());
  ASSERT_EQ(nest.inputs().size(), 2u);
  EXPECT_TRUE(nest.inputs()[0].accepts_tensor());
  EXPECT_TRUE(nest.inputs()[1].is_tuple());
}

// Compiled functions take 8 KiB of the stack for each call, bytecode half a KiB. AddressSanitizer itself needs more of a stack.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t small_stack = 256 << 10;
#else
constexpr std::size_t small_stack = 64 << 10;
#endif

TEST_F(VmAsModel, RefusesCallsForWhichTheStackHasNoRoom) {
  for (const char* const name :
       {"relax/control_flow_llvm.so", "relax/control_flow_compiled_llvm.so"}) {
    for (const std::size_t bytes : {small_stack, std::size_t{1} << 20, std::size_t{8} << 20}) {
      Session session = session_of(name, "is_even");
      Tensor n = runtime.tensor({}, dtypes::int32).value();
      n.elements<std::int32_t>()[0] = 100'000;
      Error error;

      test::run_with_stack(bytes, [&] {
        const auto outputs = session.run({{"n", n}});
        if (!outputs.ok()) error = outputs.error();
      });

      EXPECT_EQ(error.code, Code::exhausted) << name << ' ' << bytes << ": " << error.message;
      EXPECT_THAT(error.reason, ::testing::AnyOf("STACK", "VM_DEPTH"));
    }
  }
}

// A file with an assembled executable alone.
class AssembledModel : public AnyModel {
 protected:
  AssembledModel() : code(test::RelaxRelease::v0_23) {}

  Error error_of_main(std::size_t stack_bytes) {
    test::write_file(directory / "model.bin", test::bare_executable(code).bytes());
    const auto loaded = runtime.load((directory / "model.bin").string());
    if (!loaded.ok()) return loaded.error();
    const auto model = runtime.model(*loaded, {"cpu"});
    if (!model.ok()) return model.error();
    const auto function = model->function("main");
    if (!function.ok()) return function.error();
    auto session = Session::create(*function);
    if (!session.ok()) return session.error();
    Error error = bug("the function runs");
    test::run_with_stack(stack_bytes, [&] {
      const Status done = session->run();
      if (!done.ok()) error = done.error();
    });
    return error;
  }

  test::TempDir directory;
  test::RelaxAssembler code;
};

TEST_F(AssembledModel, MayNotCallABuiltinByItselfBeyondTheStack) {
  const auto call = code.packed("vm.builtin.call_tir_dyn");
  const auto shape = code.shape({});
  code.function("main", {}, 1);
  std::vector<std::int64_t> arguments(2750, test::relax_function(call));
  arguments.insert(arguments.end(), 2751, shape);
  code.call(0, call, arguments);
  code.ret(0);

  const Error error = error_of_main(256 << 10);

  EXPECT_EQ(error.code, Code::exhausted) << error.message;
  EXPECT_EQ(error.reason, "STACK");
}

TEST_F(AssembledModel, MayNotInvokeAClosureOfItsInvocationBeyondTheStack) {
  const auto invoke = code.packed("vm.builtin.invoke_closure");
  const auto make = code.packed("vm.builtin.make_closure");
  code.function("main", {}, 2);
  code.call(0, make, {test::relax_function(invoke)});
  std::vector<std::int64_t> arguments;
  for (int i = 0; i < 2750; ++i) {
    arguments.push_back(test::relax_register(test::relax_vm));
    arguments.push_back(test::relax_register(0));
  }
  code.call(1, invoke, arguments);
  code.ret(1);

  const Error error = error_of_main(256 << 10);

  EXPECT_EQ(error.code, Code::exhausted) << error.message;
  EXPECT_EQ(error.reason, "STACK");
}

TEST_F(AssembledModel, ReleasesNestedTuplesAndClosuresOnASmallStack) {
  const auto tuple = code.packed("vm.builtin.make_tuple");
  const auto closure = code.packed("vm.builtin.make_closure");
  const auto none = code.packed("vm.builtin.null_value");
  code.function("main", {}, 2);
  for (const std::int64_t reg : {0, 1}) {
    code.call(reg, tuple, {});
    for (int i = 0; i < 100'000; ++i) {
      if (reg == 0) code.call(reg, tuple, {test::relax_register(reg)});
      if (reg == 1)
        code.call(reg, closure, {test::relax_function(none), test::relax_register(reg)});
    }
    code.call(reg, none, {});
  }
  code.ret(0);

  EXPECT_EQ(error_of_main(256 << 10).message, "the function runs");
}

TEST_F(VmAsModel, HasTvmsOutputByName) {
  Session session = session_of("relax/cnn_dyn_llvm.so");

  for (const char* const call : {"c1", "c2"}) {
    const auto outputs =
        session.run({{"x", array("relax/cnn_dyn_llvm.npz", std::string(call) + "_a0")}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_THAT(names_of(*outputs), ElementsAre("output"));
    expect_equal(outputs->front().value, array("relax/cnn_dyn_llvm.npz", std::string(call) + "_r"));
  }
}

TEST_F(VmAsModel, HasTheItemsOfATupleAsOutputs) {
  Session session = session_of("relax/tuples_llvm.so", "split3");

  const auto outputs = session.run({{"0", array("relax/tuples_llvm.npz", "c2_a0")}});

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_THAT(names_of(*outputs), ElementsAre("output0", "output1", "output2"));
  expect_equal(session.output("output1").value(), array("relax/tuples_llvm.npz", "c2_r_1"));
}

TEST_F(VmAsModel, AcceptsTuplesAndNumbersAsValues) {
  Session swap = session_of("relax/tuples_llvm.so", "swap");
  Session addn = session_of("relax/prims_llvm.so", "addn");
  const Any items[] = {Any(array("relax/tuples_llvm.npz", "c0_a0_0")),
                       Any(array("relax/tuples_llvm.npz", "c0_a0_1"))};

  ASSERT_TRUE(swap.bind(0, runtime.array(items).value()).ok());
  ASSERT_TRUE(swap.run().ok());
  expect_equal(swap.output("output0").value(), array("relax/tuples_llvm.npz", "c0_r_0"));
  ASSERT_TRUE(addn.set_input(0, array("relax/prims_llvm.npz", "c2_a0")).ok());
  ASSERT_TRUE(addn.bind(1, Any(Value::adopt({GANTRY_INT, 0, {.i = 4}}))).ok());
  ASSERT_TRUE(addn.run().ok());
  EXPECT_THAT(addn.output("output")->shape().value(), ElementsAre(5, 12));
}

// A row begins within the memory of its tensor, which compiled code does not accept.
TEST_F(VmAsModel, CopiesATensorThatIsSet) {
  Session session = session_of("relax/cnn_llvm.so");
  const Tensor rows = runtime.tensor({2, 1, 1, 8, 8}, dtypes::float32).value();
  const Tensor row = rows.row(1).value();
  ASSERT_TRUE(runtime.copy(array("relax/cnn_llvm.npz", "c0_a0"), row).ok());

  ASSERT_TRUE(session.set_input(0, row).ok());
  std::memset(rows.data(), 0xff, rows.byte_size());
  ASSERT_TRUE(session.run().ok());

  expect_equal(session.output("output").value(), array("relax/cnn_llvm.npz", "c0_r"));
}

TEST_F(VmAsModel, RefusesToRunWithoutAnInput) {
  Session session = session_of("relax/prims_llvm.so", "addn");
  ASSERT_TRUE(session.set_input(0, array("relax/prims_llvm.npz", "c2_a0")).ok());

  expect_error(session.run().error(), Code::invalid, "input \"n\" of function \"addn\" is missing");
}

TEST_F(VmAsModel, CannotBeRecorded) {
  const auto model = runtime.model(load("relax/cnn_llvm.so"), {"cpu"}, {.capture = true});

  expect_error(model.error(), Code::unsupported,
               "the model is a virtual machine, only graphs can be recorded (capture)\n"
               "  while making an executor of entry 0 \"relax.VMExecutable\" of cnn_llvm.so "
               "(plugin gantry.relax)");
}

TEST_F(VmAsModel, ListsItsFunctionsIfNoneIsChosen) {
  const Model model = model_of("relax/prims_llvm.so");

  const auto unnamed = model.function();
  const auto unknown = model.function("prim");

  EXPECT_EQ(unnamed.error().reason, "FUNCTION");
  expect_error(unnamed.error(), Code::not_found,
               "the model has 2 functions and no default; one must be named\n"
               "  addn(x, n)\n"
               "  prims(n, f, b)");
  EXPECT_EQ(unknown.error().reason, "FUNCTION");
  expect_error(unknown.error(), Code::not_found,
               "function \"prim\" of the model not found, did you mean \"prims\"\n"
               "  addn(x, n)\n"
               "  prims(n, f, b)");
}

// ---- Relay

using RelayAsModel = AnyModel;

TEST_F(RelayAsModel, HasTvmsOutputByNameAndByPosition) {
  const Model model = model_of("tvm-0.12/digits_mlp_vm_llvm.so");
  Session main = Session::create(model.function().value()).value();
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");

  EXPECT_THAT(model.functions().value(), ElementsAre("main"));
  EXPECT_EQ(model.module()->type_key().value(), "relay.VirtualMachine");
  ASSERT_EQ(main.inputs().size(), 1u);
  EXPECT_EQ(main.inputs()[0].name, "x");
  EXPECT_FALSE(main.inputs()[0].type);
  for (const std::int64_t i : {3, 4}) {
    ASSERT_TRUE(i == 3 ? main.set_input("x", *inputs.row(i)).ok()
                       : main.set_input(0, *inputs.row(i)).ok());
    ASSERT_TRUE(main.run().ok());
    const auto output = main.output("output");
    ASSERT_TRUE(output.ok()) << output.error().message;
    expect_equal(*output, *expected.row(i));
  }
}

// ---- what both refuse

using ModelArguments = AnyModel;

TEST_F(ModelArguments, ContainAModule) {
  expect_error(runtime.model(Module(), {"cpu"}).error(), Code::invalid,
               "model_new: the object is NULL, expected a module");
}

TEST_F(ModelArguments, NameInputsAndOutputsThatExist) {
  Session session = session_of("relax/prims_llvm.so", "prims");
  const Tensor tensor = int64(1);

  EXPECT_EQ(session.input("b").value(), 2u);
  EXPECT_EQ(session.input("1").value(), 1u);
  expect_error(session.input("3").error(), Code::invalid,
               "input \"3\" of function \"prims\" not found");
  expect_error(session.set_input("bb", tensor).error(), Code::invalid,
               "input \"bb\" of function \"prims\" not found, did you mean \"b\"");
  expect_error(session.set_input(3, tensor).error(), Code::invalid,
               "function \"prims\" has no input 3, input count is 3");
  expect_error(session.bind(3, Any()).error(), Code::invalid,
               "function \"prims\" has no input 3, input count is 3");
  expect_error(session.set_input(0, Tensor()).error(), Code::invalid,
               "input 0 of function \"prims\": the tensor handle is empty");
}

TEST_F(ModelArguments, NameAnOutputOfTheLastRun) {
  Session session = session_of("relax/cnn_llvm.so");
  ASSERT_TRUE(session.run({{"x", array("relax/cnn_llvm.npz", "c0_a0")}}).ok());

  expect_error(session.output("y").error(), Code::not_found,
               "output \"y\" of the model not found; outputs: \"output\"");
}

}  // namespace
}  // namespace gantry
