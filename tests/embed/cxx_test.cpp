// SPDX-License-Identifier: Apache-2.0
//
// The C++ classes of gantry/embed.hpp, which are compiled into this program and use libgantry.
#include <gantry/linked_symbols.h>
#include <gantry/embed.hpp>

#include "tests/support/built_plugins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
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
