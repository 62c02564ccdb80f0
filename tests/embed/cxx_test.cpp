// SPDX-License-Identifier: Apache-2.0
//
// The C++ classes of gantry/embed.hpp, which are compiled into this program and use libgantry.
#include <gantry/linked_symbols.h>
#include <gantry/progress.h>
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include "tests/support/built_plugins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace gantry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuntimeOptions options_of_build() {
  RuntimeOptions options;
  options.config_file = "/dev/null";
  options.plugin_paths = {test::built_plugins()};
  options.only_these_plugins = true;
  options.threads = 2;
  return options;
}

class EmbedCxx : public ::testing::Test {
 protected:
  Module digits() const { return runtime.load(file("tvm-0.12/digits_mlp_llvm.so")).value(); }
  static std::string file(std::string_view name) { return test::golden(name).string(); }
  Tensor image(std::int64_t index) const {
    const auto all = runtime.read_tensors(file("tvm-0.12/digits_mlp.input.npz")).value();
    return all.front().second.row(index).value();
  }
  static std::ptrdiff_t best(const Tensor& scores) {
    const auto elements = scores.elements<float>();
    return std::max_element(elements.begin(), elements.end()) - elements.begin();
  }

  ModelFunction function_of(std::string_view name, std::string_view function = {}) const {
    return runtime.model(runtime.load(file(name)).value(), {"cpu"})->function(function).value();
  }
  Session session_of(std::string_view name, std::string_view function = {}) const {
    return Session::create(function_of(name, function)).value();
  }
  Tensor array(std::string_view name, std::string_view member) const {
    const auto all = runtime.read_tensors(file(name)).value();
    for (const auto& [each, tensor] : all) {
      if (each == member) return tensor;
    }
    ADD_FAILURE() << name << " has no " << member;
    return {};
  }

  const Runtime runtime = Runtime::create(options_of_build()).value();
};

TEST_F(EmbedCxx, RunsAModelByName) {
  const Model model = runtime.model(digits(), {"cpu"}).value();
  EXPECT_THAT(model.functions().value(), ElementsAre("default"));
  const ModelFunction function = model.function().value();
  std::uint64_t copied = 0;

  const auto outputs = function.run({{"x", image(0)}}, {.copied_bytes = &copied});

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(best((*outputs)[0].value.tensor().value()), 7);
  EXPECT_EQ((*outputs)[0].name, function.outputs().value()->at(0).name);
}

TEST_F(EmbedCxx, StatesInputs) {
  const ModelFunction function = runtime.model(digits())->function().value();

  const auto inputs = function.inputs().value();

  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].type_text, "float32[1, 64]");
  EXPECT_THAT(inputs[0].type.value().shape, ElementsAre(1, 64));
}

TEST_F(EmbedCxx, FillsATensorOfTheProgram) {
  const ModelFunction function = runtime.model(digits())->function().value();
  const Tensor scores = runtime.tensor({1, 10}, dtypes::float32).value();
  const Tensor x = image(1);
  const gantry_value input = tensor_ref_value(x.dlpack());
  gantry_value output = tensor_ref_value(scores.dlpack());

  const auto count = function.run_into({&input, 1}, {&output, 1});

  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 1u);
  EXPECT_EQ(best(scores), 6);
}

TEST_F(EmbedCxx, ReportsErrorsWithTheirReason) {
  const ModelFunction function = runtime.model(digits())->function().value();

  const auto outputs = function.run({{"y", image(0)}});
  const auto module = runtime.load("absent.so");

  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, Code::invalid);
  EXPECT_EQ(outputs.error().reason, "INPUT");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("absent.so"));
}

TEST_F(EmbedCxx, CancelsARun) {
  const ModelFunction function = runtime.model(digits())->function().value();
  const Task task = Task::create().value();
  task.cancel();

  const auto outputs = function.run({{"x", image(0)}}, {.task = task});

  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().reason, "CANCELLED");
}

TEST_F(EmbedCxx, CallsFunctionsOfModulesAndOfTheProgram) {
  const Module module = runtime.load(file("tvm-0.12/axpy2_llvm.so")).value();
  const Function axpy = module.function("axpy2").value();
  const Tensor a = runtime.tensor({1024}, dtypes::float32).value(),
               b = runtime.tensor({1024}, dtypes::float32).value(),
               sum = runtime.tensor({1024}, dtypes::float32).value();
  std::ranges::fill(a.elements<float>(), 1.0f);
  std::ranges::fill(b.elements<float>(), 2.0f);
  std::ranges::fill(sum.elements<float>(), 0.0f);
  ASSERT_TRUE(runtime
                  .add_function("test.twice",
                                [](std::span<const gantry_value> args) -> Result<Any> {
                                  if (args.size() != 1) return invalid("one argument is expected");
                                  return Any(Value::adopt(int_value(2 * args[0].i)));
                                })
                  .ok());
  const Function twice = runtime.function("test.twice").value();

  const auto called = axpy(a, b, sum);
  const auto doubled = twice(21);
  const auto refused = twice();

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_NE(sum.elements<float>()[1023], 0.0f);
  EXPECT_EQ(doubled->integer().value(), 42);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "one argument is expected");
  EXPECT_EQ(Function()(1).error().code, Code::invalid);
}

TEST_F(EmbedCxx, HasTheErrorsOfAFunctionThatThrows) {
  ASSERT_TRUE(runtime
                  .add_function("test.throws",
                                [](std::span<const gantry_value>) -> Result<Any> {
                                  throw std::runtime_error("thrown");
                                })
                  .ok());

  const auto called = runtime.function("test.throws").value()();

  ASSERT_FALSE(called.ok());
  EXPECT_THAT(called.error().message, HasSubstr("thrown"));
}

TEST_F(EmbedCxx, DescribesModules) {
  const Module module = digits();

  EXPECT_EQ(module.type_key().value(), "GraphExecutorFactory");
  ASSERT_EQ(module.imports()->size(), 1u);
  EXPECT_EQ(module.imports()->front().type_key().value(), "_lib");
  EXPECT_TRUE(module.missing()->empty());
  EXPECT_TRUE(module.bind_missing().ok());
}

TEST_F(EmbedCxx, LoadsBytesAndReaders) {
  std::ifstream in(file("tvm-0.12/digits_mlp_llvm.so"), std::ios::binary);
  std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
  const std::span<const std::uint8_t> view(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                           bytes.size());
  gantry_reader reader{};
  reader.struct_size = sizeof reader;
  reader.size = bytes.size();
  reader.self = bytes.data();
  reader.read = [](void* self, std::uint64_t offset, void* to, std::uint64_t size,
                   gantry_status*) -> gantry_code {
    std::copy_n(static_cast<const char*>(self) + offset, size, static_cast<char*>(to));
    return GANTRY_OK;
  };

  EXPECT_EQ(runtime.load_bytes(view, "digits.so")->type_key().value(), "GraphExecutorFactory");
  EXPECT_EQ(runtime.load_reader(reader)->type_key().value(), "GraphExecutorFactory");
}

TEST_F(EmbedCxx, MakesTensorsOverMemoryOfTheProgram) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const std::int64_t shape[] = {3, 2};
  int destroyed = 0;
  {
    const Tensor tensor =
        runtime
            .tensor_over(
                compact_tensor(dtypes::float32, shape, {cpu_device_type, 0}, memory.data()), 24,
                &destroyed, [](void* self) { ++*static_cast<int*>(self); })
            .value();

    EXPECT_EQ(tensor.byte_size(), 24u);
    EXPECT_EQ(tensor.describe(), "float32[3, 2]");
    EXPECT_THAT(tensor.row(1)->elements<float>(), ElementsAre(3, 4));
    EXPECT_EQ(tensor.row(3).error().message,
              "row 3 of tensor float32[3, 2] does not exist, the last is 2");
    EXPECT_EQ(tensor.row(0)->row(0)->row(0).error().message, "tensor float32[] has no first axis");
  }
  EXPECT_EQ(destroyed, 1);
}

TEST_F(EmbedCxx, PassesTensorsThroughDlPack) {
  const Tensor made = runtime.tensor({4}, dtypes::float32).value();
  std::ranges::fill(made.elements<float>(), 2.5f);

  DLManagedTensorVersioned* const managed = runtime.to_dlpack(made).value();
  const Tensor back = runtime.from_dlpack(managed).value();

  EXPECT_EQ(back.data(), made.data());
  EXPECT_THAT(back.elements<float>(), ElementsAre(2.5f, 2.5f, 2.5f, 2.5f));
}

TEST_F(EmbedCxx, ImportsDlPackTensorsAfterTheWorkInAStream) {
  const Tensor made = runtime.tensor({4}, dtypes::float32).value();
  const Stream stream = runtime.stream(made.device()).value();
  DLManagedTensorVersioned* const managed = runtime.to_dlpack(made).value();

  const Tensor back = runtime.from_dlpack(managed, nullptr, stream).value();

  EXPECT_EQ(back.data(), made.data());
}

TEST_F(EmbedCxx, SharesAPool) {
  const Pool pool = Pool::create(3, false).value();
  RuntimeOptions options = options_of_build();
  options.threads = 0;
  options.pool = pool;

  const Runtime first = Runtime::create(options).value(), second = Runtime::create(options).value();

  EXPECT_EQ(first.threads().value(), 3);
  EXPECT_EQ(second.threads().value(), 3);
  EXPECT_EQ(Pool::create(-1).error().reason, "ARGUMENT_RANGE");
}

TEST_F(EmbedCxx, WritesTheLogToTheProgram) {
  std::vector<std::string> lines;
  RuntimeOptions options = options_of_build();
  options.log_sink = [&](std::int32_t, std::string_view line) { lines.emplace_back(line); };
  const Runtime logged = Runtime::create(options).value();

  logged.host().log(GANTRY_LOG_ERROR, "text");

  EXPECT_THAT(lines, Contains(HasSubstr("text")));
}

TEST_F(EmbedCxx, HasReports) {
  RuntimeOptions options = options_of_build();
  options.trace = true;
  const Runtime traced = Runtime::create(options).value();

  EXPECT_THAT(traced.trace_json().value(), HasSubstr("find plugins"));
  EXPECT_THAT(traced.explain_plugins().value(), HasSubstr("gantry.graph"));
  EXPECT_EQ(runtime.report("weather").error().reason, "REPORT");
  EXPECT_TRUE(runtime.report("plugins")->member("plugins")->items().ok());
  EXPECT_TRUE(runtime.report("plugins")->member("absent")->is_none());
  EXPECT_EQ(core_version(), embed_table().version);
}

TEST_F(EmbedCxx, HasDevicesAndStreams) {
  const gantry_device_id cpu = runtime.device("cpu").value();
  const Stream stream = runtime.stream(cpu).value();

  EXPECT_EQ(cpu.type, cpu_device_type);
  EXPECT_EQ(stream.handle(), nullptr);
  EXPECT_TRUE(runtime.synchronize(cpu, stream).ok());
  EXPECT_EQ(runtime.device("absent").error().reason, "NO_PLUGIN");
}

// "swap" takes a tuple of float32[2] and int32[3], and returns the second, and twice the first.
TEST_F(EmbedCxx, CallsAVirtualMachineWithATuple) {
  const Model model = runtime.model(runtime.load(file("relax/tuples_llvm.so")).value()).value();
  const Tensor two = runtime.tensor({2}, dtypes::float32).value();
  const Tensor three = runtime.tensor({3}, dtypes::int32).value();
  std::ranges::fill(two.elements<float>(), 1.5f);
  std::ranges::fill(three.elements<std::int32_t>(), 7);
  const Module machine = model.module().value();

  const auto swapped =
      machine.function("swap").value()(runtime.array({Any(two), Any(three)}).value());

  ASSERT_TRUE(swapped.ok()) << swapped.error().message;
  const std::vector<Any> items = swapped->items().value();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_THAT(items[0].tensor()->elements<std::int32_t>(), ElementsAre(7, 7, 7));
  EXPECT_THAT(items[1].tensor()->elements<float>(), ElementsAre(3.0f, 3.0f));
}

TEST_F(EmbedCxx, HasAVirtualMachineForEachCaller) {
  const Model machines = runtime.model(runtime.load(file("relax/cnn_llvm.so")).value()).value();
  const Module graph = digits();
  const Model model = runtime.model(graph).value();

  EXPECT_NE(machines.module()->get(), machines.module()->get());
  EXPECT_EQ(model.module()->get(), graph.get());
}

TEST_F(EmbedCxx, MakesShapesAndObjects) {
  static int destroyed = 0;
  static constexpr gantry_object_type counted{sizeof(gantry_object_type), 0, "test.counted",
                                              [](void* self) { ++*static_cast<int*>(self); }};
  destroyed = 0;

  const Any shape = runtime.shape({1, 64}).value();
  Any object = runtime.object(counted, &destroyed).value();

  EXPECT_THAT(shape.shape().value(), ElementsAre(1, 64));
  EXPECT_EQ(runtime.host().object_get(object.value().object, counted).value(), &destroyed);
  EXPECT_EQ(destroyed, 0);
  object = Any();
  EXPECT_EQ(destroyed, 1);
}

TEST_F(EmbedCxx, MakesNoValuesWithoutARuntime) {
  const auto made = Runtime().shape({1});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(made.error().message, "shape: the object is NULL, expected a runtime");
}

TEST_F(EmbedCxx, NamesFunctionsForMessages) {
  const ModelFunction graph = function_of("tvm-0.12/digits_mlp_llvm.so");
  const ModelFunction machine = function_of("relax/cnn_llvm.so");

  EXPECT_EQ(graph.name(), "default");
  EXPECT_EQ(graph.subject(), "the model");
  EXPECT_EQ(graph.device().type, cpu_device_type);
  EXPECT_EQ(machine.name(), "main");
  EXPECT_EQ(machine.subject(), "the model");
  EXPECT_EQ(machine.device().type, cpu_device_type);
  EXPECT_EQ(machine.module()->type_key().value(), "relax.VirtualMachine");
}

TEST_F(EmbedCxx, FindsInputsByNameAndByPosition) {
  const ModelFunction prims = function_of("relax/prims_llvm.so", "prims");

  EXPECT_EQ(prims.input("b").value(), 2u);
  EXPECT_EQ(prims.input("1").value(), 1u);
  EXPECT_EQ(prims.input("3").error().message, "input \"3\" of function \"prims\" not found");
  EXPECT_EQ(prims.input("bb").error().message,
            "input \"bb\" of function \"prims\" not found, did you mean \"b\"");
  EXPECT_EQ(prims.input("bb").error().reason, "INPUT");
}

TEST_F(EmbedCxx, TellsTuplesAndNumbersFromTensors) {
  const auto prims = function_of("relax/prims_llvm.so", "prims").inputs().value();
  const auto nest = function_of("relax/tuples_llvm.so", "nest").inputs().value();

  EXPECT_FALSE(prims[0].accepts_tensor());
  EXPECT_FALSE(prims[0].is_tuple());
  EXPECT_TRUE(nest[0].accepts_tensor());
  EXPECT_TRUE(nest[1].is_tuple());
  EXPECT_FALSE(nest[1].accepts_tensor());
}

class EmbedSession : public EmbedCxx {
 protected:
  std::ptrdiff_t best_of(const Session& session) const {
    return best(session.outputs()->front().value.tensor().value());
  }
};

TEST_F(EmbedSession, KeepsACopyOfAnInput) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so");
  const Tensor x = runtime.tensor({1, 64}, dtypes::float32).value();
  ASSERT_TRUE(runtime.copy(image(0), x).ok());

  ASSERT_TRUE(session.set_input("x", x).ok());
  std::ranges::fill(x.elements<float>(), -1.0f);

  for (int i = 0; i < 2; ++i) {
    std::uint64_t copied = 1;
    const Status ran = session.run({.copied_bytes = &copied});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(best_of(session), 7);
    EXPECT_EQ(copied, 0u);
  }
}

TEST_F(EmbedSession, SharesNoInputsWithAnother) {
  const ModelFunction function = function_of("tvm-0.12/digits_mlp_llvm.so");
  Session one = Session::create(function).value(), other = Session::create(function).value();

  ASSERT_TRUE(one.set_input(0, image(0)).ok());
  ASSERT_TRUE(other.set_input(0, image(1)).ok());
  ASSERT_TRUE(one.run().ok());
  ASSERT_TRUE(other.run().ok());

  EXPECT_EQ(best_of(one), 7);
  EXPECT_EQ(best_of(other), 6);
}

TEST_F(EmbedSession, HasOutputsThatNoLaterRunWrites) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so");
  const Tensor first = session.run({{"x", image(0)}})->front().value.tensor().value();

  const auto second = session.run({{"x", image(1)}});

  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(best(first), 7);
  EXPECT_EQ(best_of(session), 6);
}

TEST_F(EmbedSession, FillsATensorOfTheProgram) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so");
  const Tensor scores = runtime.tensor({1, 10}, dtypes::float32).value();
  gantry_value output = tensor_ref_value(scores.dlpack());
  const auto too_early = session.run_into({&output, 1});
  ASSERT_TRUE(session.run({{"x", image(0)}}).ok());
  ASSERT_TRUE(session.set_input("x", image(1)).ok());

  const auto count = session.run_into({&output, 1});

  EXPECT_EQ(too_early.error().message, "input \"x\" of the model is missing");
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 1u);
  EXPECT_EQ(best(scores), 6);
  EXPECT_FALSE(session.outputs().ok());
}

TEST_F(EmbedSession, HasTheModelOfItsFunction) {
  const Session session = session_of("relax/tuples_llvm.so", "swap");

  const Model model = session.function().model();

  EXPECT_THAT(model.functions().value(), ::testing::Contains("split3"));
}

TEST_F(EmbedSession, BindsTuplesAndNumbers) {
  Session swap = session_of("relax/tuples_llvm.so", "swap");
  Session addn = session_of("relax/prims_llvm.so", "addn");
  const Any pair = runtime
                       .array({Any(array("relax/tuples_llvm.npz", "c0_a0_0")),
                               Any(array("relax/tuples_llvm.npz", "c0_a0_1"))})
                       .value();

  ASSERT_TRUE(swap.bind(0, pair).ok());
  ASSERT_TRUE(swap.run().ok());
  ASSERT_TRUE(addn.set_input(0, array("relax/prims_llvm.npz", "c2_a0")).ok());
  ASSERT_TRUE(addn.bind("n", Any(Value::adopt(int_value(4)))).ok());
  ASSERT_TRUE(addn.run().ok());

  EXPECT_EQ(swap.outputs()->size(), 2u);
  EXPECT_EQ(swap.output("output0")->tensor()->describe(),
            array("relax/tuples_llvm.npz", "c0_r_0").describe());
  EXPECT_THAT(addn.output("output")->shape().value(), ElementsAre(5, 12));
}

TEST_F(EmbedSession, BindsATensorWithoutACopy) {
  Session session = session_of("tvm-0.12/digits_mlp_llvm.so");
  const Tensor x = runtime.tensor({1, 64}, dtypes::float32).value();
  ASSERT_TRUE(session.bind("x", Any(x)).ok());

  ASSERT_TRUE(runtime.copy(image(1), x).ok());
  ASSERT_TRUE(session.run().ok());

  EXPECT_EQ(best_of(session), 6);
}

TEST_F(EmbedSession, RefusesInputsThatDoNotFit) {
  Session graph = session_of("tvm-0.12/digits_mlp_llvm.so");
  Session prims = session_of("relax/prims_llvm.so", "prims");
  const Tensor wide = runtime.tensor({1, 65}, dtypes::float32).value();
  const Tensor whole = runtime.tensor({1, 64}, dtypes::int32).value();
  const Any text = runtime.text("x").value();
  const std::tuple<Status, std::string_view, std::string_view> refused[] = {
      {graph.set_input("x", wide),
       "input \"x\" of the model is float32[1, 65], expected float32[1, 64]", "ARGUMENT_SHAPE"},
      {graph.bind("x", Any(whole)),
       "input \"x\" of the model is int32[1, 64], expected float32[1, 64]", "ARGUMENT_DTYPE"},
      {graph.bind("x", text), "value is a string, expected a tensor", "VALUE_KIND"},
      {prims.set_input("bb", wide),
       "input \"bb\" of function \"prims\" not found, did you mean \"b\"", "INPUT"},
      {prims.set_input(3, wide), "function \"prims\" has no input 3, input count is 3", "INPUT"},
      {prims.bind(3, text), "function \"prims\" has no input 3, input count is 3", "INPUT"},
      {prims.set_input(0, Tensor()), "input 0 of function \"prims\": the tensor handle is empty",
       "ARGUMENT_KIND"}};

  for (const auto& [status, message, reason] : refused) {
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, Code::invalid);
    EXPECT_EQ(status.error().message, message);
    EXPECT_EQ(status.error().reason, reason);
  }
}

TEST_F(EmbedSession, RefusesToRunWithoutAnInput) {
  Session session = session_of("relax/prims_llvm.so", "addn");
  ASSERT_TRUE(session.set_input(0, array("relax/prims_llvm.npz", "c2_a0")).ok());

  const Status ran = session.run();

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, "input \"n\" of function \"addn\" is missing");
  EXPECT_EQ(ran.error().reason, "INPUT");
}

TEST_F(EmbedSession, HasNoOutputsBeforeARunThatSucceeds) {
  Session session = session_of("relax/cnn_llvm.so");
  const Task task = Task::create().value();
  task.cancel();
  const auto before = session.outputs();
  ASSERT_TRUE(session.run({{"x", array("relax/cnn_llvm.npz", "c0_a0")}}).ok());

  const auto unknown = session.output("y");
  const Status cancelled = session.run({.task = task});
  const auto after = session.outputs();

  EXPECT_EQ(before.error().message, "the model has no outputs before a run that succeeds");
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_EQ(unknown.error().message, "output \"y\" of the model not found; outputs: \"output\"");
  EXPECT_EQ(cancelled.error().reason, "CANCELLED");
  EXPECT_FALSE(after.ok());
}

TEST_F(EmbedCxx, RunsAnExecutorOfAGraph) {
  const Module module = digits();
  Executor executor = Executor::create(runtime, module, {"cpu"}).value();
  Executor other = Executor::wrap(executor.module()).value();

  const auto outputs = executor.run({{"x", image(0)}});

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(best(outputs->front()), 7);
  EXPECT_EQ(other.output_count().value(), 1);
  ASSERT_TRUE(other.set_input("x", image(1)).ok());
  ASSERT_TRUE(other.run().ok());
  EXPECT_EQ(best(executor.output(0).value()), 6);
}

TEST_F(EmbedCxx, RefusesExecutorsWithoutAGraphOrADevice) {
  const Module axpy = runtime.load(file("tvm-0.12/axpy2_llvm.so")).value();

  const auto no_factory = Executor::create(runtime, axpy, {"cpu"});
  const auto no_executor = Executor::wrap(digits());

  EXPECT_EQ(no_factory.error().code, Code::not_found);
  EXPECT_THAT(no_factory.error().message, HasSubstr("while making an executor of "));
  EXPECT_THAT(no_executor.error().message,
              HasSubstr("while looking for an executor's functions in GraphExecutorFactory"));
  EXPECT_EQ(Executor::create(runtime, Module(), {"cpu"}).error().message,
            "module handle is empty, expected a model");
  EXPECT_EQ(Executor::create(runtime, digits(), {}).error().message,
            "executor has 0 devices, minimum is 1");
  EXPECT_EQ(Executor::wrap(Module()).error().message,
            "module handle is empty, expected an executor");
}

TEST_F(EmbedCxx, NamesItemsOfNestedTuples) {
  const auto number = [](std::int64_t value) { return Any(Value::adopt(int_value(value))); };
  const Any nested =
      runtime.array({number(1), runtime.array({number(2), number(3)}).value()}).value();

  const auto items = named_items(nested, "y").value();
  const auto alone = named_items(number(4), "y").value();

  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[2].name, "y2");
  EXPECT_EQ(items[2].value.integer().value(), 3);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].name, "y");
}

TEST_F(EmbedCxx, LimitsItemsOfNestedTuples) {
  Any value = runtime.array({}).value();
  for (int i = 0; i < 60; ++i) value = runtime.array({value, value}).value();

  const auto items = named_items(value, "y");

  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code, Code::exhausted);
  EXPECT_EQ(items.error().message, "the result has more than 65536 items, the limit");
}

TEST_F(EmbedCxx, ListsDevicesAndPlugins) {
  const DeviceList list = runtime.devices().value();
  const std::vector<std::string> before = runtime.plugins_in_use().value();
  const Module module = digits();

  ASSERT_FALSE(list.devices.empty());
  EXPECT_EQ(list.devices[0].name, "cpu");
  EXPECT_EQ(list.devices[0].id.type, cpu_device_type);
  EXPECT_EQ(list.devices[0].plugin, "");
  EXPECT_THAT(before, ::testing::Not(Contains(HasSubstr("gantry.graph"))));
  EXPECT_THAT(runtime.plugins_in_use().value(), Contains(HasSubstr("gantry.graph")));
  EXPECT_EQ(runtime.fallbacks().value(), 0);
  EXPECT_EQ(runtime.device_table({cpu_device_type, 0})->id.type, cpu_device_type);
  EXPECT_FALSE(runtime.device_table({99, 0}).ok());
}

TEST_F(EmbedCxx, MeasuresWorkOnADevice) {
  std::optional<DeviceTimer> timer = DeviceTimer::create(runtime, {cpu_device_type, 0}).value();
  ASSERT_TRUE(timer);

  ASSERT_TRUE(timer->start().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_TRUE(timer->stop().ok());

  EXPECT_GE(timer->elapsed().value(), 2'000'000);
  EXPECT_FALSE(DeviceTimer::create(runtime, {99, 0}).ok());
}

TEST_F(EmbedCxx, NotifiesTheProgramOfWork) {
  std::vector<std::string> texts;
  RuntimeOptions options = options_of_build();
  options.work_sink = [&](std::uint64_t, std::string_view text) { texts.emplace_back(text); };
  const Runtime notified = Runtime::create(options).value();
  const Host host = notified.host();
  const auto* const progress = host.extension<gantry_progress>(GANTRY_PROGRESS_1);

  progress->work_end(host.table(), progress->work_begin(host.table(), gantry_text("compiling")));

  ASSERT_EQ(texts.size(), 2u);
  EXPECT_THAT(texts[0], HasSubstr("compiling"));
  EXPECT_EQ(texts[1], "");
}

TEST_F(EmbedCxx, LimitsTheTimeForWhichThreadsSpin) {
  RuntimeOptions options = options_of_build();
  for (const int spin_us : {-1, 0, 50}) {
    options.spin_us = spin_us;
    EXPECT_TRUE(Runtime::create(options).ok()) << spin_us;
  }
  options.spin_us = 1'000'001;

  const auto refused = Runtime::create(options);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "ARGUMENT_RANGE");
  EXPECT_EQ(refused.error().message, "runtime_new: spin_us is 1000001, expected -1 to 1000000");
}

TEST_F(EmbedCxx, RaisesErrorsWithAKind) {
  const Host host = runtime.host();
  ASSERT_TRUE(runtime
                  .add_function("test.raises",
                                [host](std::span<const gantry_value>) -> Result<Any> {
                                  return raised_error(host, "ValueError", "boom");
                                })
                  .ok());

  const auto called = runtime.function("test.raises").value()();

  ASSERT_FALSE(called.ok());
  const auto what = raised(called.error());
  ASSERT_TRUE(what);
  EXPECT_EQ(what->kind, "ValueError");
  EXPECT_EQ(what->text, "boom");
  EXPECT_EQ(called.error().reason, "HOST_CODE");
  const Error other = Any().integer().error();
  EXPECT_FALSE(raised(other));
}

TEST_F(EmbedCxx, RefusesValuesOfOtherKinds) {
  const Any number(Value::adopt(int_value(3)));

  EXPECT_EQ(number.number().value(), 3.0);
  EXPECT_EQ(number.text().error().message, "value is an integer, expected a string");
  EXPECT_EQ(number.tensor().error().reason, "VALUE_KIND");
  EXPECT_EQ(number.shape().error().reason, "VALUE_KIND");
  EXPECT_EQ(number.items().error().reason, "VALUE_KIND");
  EXPECT_EQ(number.member("x").error().reason, "VALUE_KIND");
  EXPECT_EQ(number.function().error().reason, "VALUE_KIND");
  EXPECT_EQ(number.module().error().reason, "VALUE_KIND");
}

}  // namespace
}  // namespace gantry
