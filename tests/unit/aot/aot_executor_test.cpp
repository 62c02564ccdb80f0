// SPDX-License-Identifier: Apache-2.0
#include "plugins/aot/functions.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/support/placed_bytes.hpp"
#include "tests/unit/aot/aot_model.hpp"

#include <gmock/gmock.h>

namespace gantry::aot::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AotExecutors : public AotModel {
 protected:
  std::uint32_t workspace() const {
    return *static_cast<const std::uint32_t*>(arguments.at(4).data);
  }
};

TEST_F(AotExecutors, PassInputsOutputsAndPools) {
  const Value made = executor();

  EXPECT_THAT(run(made, {1, 2, 3, 4}), ElementsAre(12, 24, 36, 48));

  ASSERT_THAT(arguments, SizeIs(5));
  EXPECT_EQ(arguments[3].shape[0], 144);
  EXPECT_EQ(arguments[4].shape[0], 256);
  for (const gantry_tensor& argument : arguments) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(argument.data) % 64, 0u);
    EXPECT_EQ(argument.device.type, 1);
  }
}

TEST_F(AotExecutors, PlaceTheirPoolsOnce) {
  const Value first = executor(), second = executor();
  run(first, {1, 2, 3, 4});
  const void* const pool = arguments[4].data;
  const std::uint32_t before = workspace();
  const std::size_t allocations = fake.allocations.size();

  run(first, {1, 2, 3, 4});

  EXPECT_EQ(arguments[4].data, pool);
  EXPECT_EQ(workspace(), before + 1);
  EXPECT_EQ(fake.allocations.size(), allocations);
  run(second, {1, 2, 3, 4});
  EXPECT_NE(arguments[4].data, pool) << "executors share no workspace";
}

TEST_F(AotExecutors, PassAnEmptyPoolOfConstantsBesideWorkspaces) {
  metadata.constant_count = 0;
  fake.add_function("model___tvm_main__",
                    [](const gantry_env*, std::span<const gantry_value> args, gantry_value*,
                       gantry_status*) -> gantry_code {
                      EXPECT_EQ(args.size(), 5u);
                      EXPECT_EQ(args[3].tensor->shape[0], 0);
                      return GANTRY_OK;
                    });

  EXPECT_TRUE(call(executor(), "run").ok());
}

TEST_F(AotExecutors, PassNoPoolsWithoutWorkspaces) {
  metadata.workspace_count = 0;

  EXPECT_THAT(run(executor(), {1, 2, 3, 4}), ElementsAre(2, 4, 6, 8));

  EXPECT_THAT(arguments, SizeIs(3));
}

TEST_F(AotExecutors, HoldNoMoreObjectsAfterRuns) {
  const Value made = executor();
  run(made, {1, 2, 3, 4});
  const int objects = fake.live_objects();

  for (int i = 0; i < 10; ++i) run(made, {1, 2, 3, 4});

  EXPECT_EQ(fake.live_objects(), objects);
}

TEST_F(AotExecutors, MakeOneBatchOfTheirCall) {
  fake.has_batches = true;
  const Value made = executor();

  EXPECT_THAT(run(made, {1, 2, 3, 4}), ElementsAre(12, 24, 36, 48));
  EXPECT_EQ(fake.batch_runs, 1);
}

TEST_F(AotExecutors, CallTheFunctionItselfWhileATraceIsRecorded) {
  fake.has_batches = true;
  fake.tracing = true;
  const Value made = executor();

  EXPECT_THAT(run(made, {1, 2, 3, 4}), ElementsAre(12, 24, 36, 48));
  EXPECT_EQ(fake.batch_runs, 0);
}

TEST_F(AotExecutors, ReportThatABatchIsRefused) {
  fake.has_batches = true;
  fake.batch_refusal = "no batch today";

  EXPECT_EQ(
      call(load(payload({})).value(), "default", {device_value(gantry::test::cpu)}).error().message,
      "no batch today");
}

TEST_F(AotExecutors, ReportTheErrorOfTheFunction) {
  const Value made = executor();
  fails = true;

  const Result<Value> ran = call(made, "run");

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, Code::invalid);
  EXPECT_EQ(ran.error().reason, "RAISED");
  EXPECT_EQ(ran.error().message, "x is odd");
}

TEST_F(AotExecutors, RunOnTheCpuInTheStreamOfTheCall) {
  const Value made = executor();
  const ObjectRef function = host.find(made.object(), GANTRY_FIND_SELF, "run").value();
  int stream = 0;
  const gantry_env on_cpu{{1, 0}, &stream, nullptr, nullptr},
      elsewhere{{4, 1}, &stream, nullptr, nullptr};

  EXPECT_TRUE(host.call(function.get(), &on_cpu, {}).ok());
  EXPECT_TRUE(host.call(function.get(), &elsewhere, {}).ok());

  ASSERT_THAT(envs, SizeIs(2));
  EXPECT_EQ(envs[0].stream, &stream);
  EXPECT_EQ(envs[1].device.type, 1);
  EXPECT_EQ(envs[1].device.index, 0);
  EXPECT_EQ(envs[1].stream, nullptr);
  EXPECT_THAT(device_streams, ElementsAre(nullptr, &stream));
}

TEST_F(AotExecutors, BindMemoryOfTheCaller) {
  const Value made = executor();
  run(made, {1, 2, 3, 4});
  Floats x({5, 6, 7, 8}), y({0, 0, 0, 0});

  ASSERT_TRUE(call(made, "set_input_zero_copy", {name_value("x"), x.value()}).ok());
  ASSERT_TRUE(call(made, "set_output_zero_copy", {int_value(0), y.value()}).ok());
  ASSERT_TRUE(call(made, "run").ok());

  EXPECT_EQ(arguments[0].data, x.tensor.data);
  EXPECT_THAT(y.values(), ElementsAre(20, 32, 44, 56));
  EXPECT_THAT(output(made), ElementsAre(20, 32, 44, 56));
}

TEST_F(AotExecutors, DoNotCopyToBoundInputs) {
  const Value made = executor();
  Floats x({5, 6, 7, 8});
  ASSERT_TRUE(call(made, "set_input_zero_copy", {name_value("x"), x.value()}).ok());

  EXPECT_THAT(run(made, {1, 2, 3, 4}), ElementsAre(12, 24, 36, 48));

  EXPECT_THAT(x.values(), ElementsAre(5, 6, 7, 8));
  EXPECT_NE(arguments[0].data, x.tensor.data);
}

TEST_F(AotExecutors, KeepTheirInputIfThereIsNoMemoryForAnother) {
  const Value made = executor();
  Floats x({5, 6, 7, 8}), other({1, 1, 1, 1});
  ASSERT_TRUE(call(made, "set_input_zero_copy", {name_value("x"), x.value()}).ok());
  fake.max_allocations = fake.allocations.size();

  const Result<Value> set = call(made, "set_input", {name_value("x"), other.value()});

  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, Code::exhausted);
  EXPECT_THAT(set.error().message.text(), EndsWith("\n  while allocating input \"x\", 16 bytes\n"
                                                   "  while setting input \"x\" float32[4]"));
  EXPECT_TRUE(call(made, "run").ok());
  EXPECT_EQ(arguments[0].data, x.tensor.data);
}

TEST_F(AotExecutors, KeepATensorObjectWhileItIsBound) {
  const Value made = executor();
  const Value tensor = host.tensor_new(Floats({1, 2, 3, 4}).tensor).value();
  const int before = fake.references(tensor.object());

  ASSERT_TRUE(call(made, "set_input_zero_copy", {name_value("x"), tensor.get()}).ok());
  EXPECT_EQ(fake.references(tensor.object()), before + 1);

  run(made, {1, 2, 3, 4});
  EXPECT_EQ(fake.references(tensor.object()), before);
}

TEST_F(AotExecutors, FindInputsByNameIndexAndOriginalName) {
  const Value made = executor();
  const auto data = [&](const char* function, gantry_value key) {
    return call(made, function, {key}).value().tensor()->data;
  };

  EXPECT_EQ(data("get_input", name_value("x")), data("get_input", int_value(0)));
  EXPECT_EQ(data("get_output", name_value("y:0")), data("get_output", int_value(0)));
  EXPECT_EQ(value_int(call(made, "get_input_index", {name_value("scale")})->get()), 1);
  EXPECT_EQ(value_int(call(made, "get_input_index", {name_value("none")})->get()), -1);
  EXPECT_EQ(value_text(call(made, "get_input_name", {int_value(1)}).value().get()), "scale");
  EXPECT_EQ(value_int(call(made, "get_num_inputs")->get()), 2);
  EXPECT_EQ(value_int(call(made, "get_num_outputs")->get()), 1);
}

TEST_F(AotExecutors, FindNamesWithoutAnAllocation) {
  constexpr char original[] = "a name of a tensor:0 that is longer than short texts";
  std::vector<AotTensor> tensors(3);
  tensors[1].name = "a_name_of_a_tensor_0_that_is_longer_than_short_texts";
  constexpr fuzz::Cost any{.nanoseconds_for_free = 60'000'000'000};
  const fuzz::Budget budget(0, any);

  const std::size_t found = index_of(original, tensors);
  const std::size_t absent = index_of("a_name", tensors);
  const std::int64_t allocations = budget.allocations();

  EXPECT_EQ(found, 1u);
  EXPECT_EQ(absent, 3u);
  EXPECT_EQ(allocations, 0);
}

TEST_F(AotExecutors, CopyTheirOutput) {
  const Value made = executor();
  run(made, {1, 2, 3, 4});
  Floats y({0, 0, 0, 0});

  EXPECT_TRUE(call(made, "get_output", {name_value("y_0"), y.value()}).ok());

  EXPECT_THAT(y.values(), ElementsAre(12, 24, 36, 48));
}

// {"shape": {name: shape}, "dtype": {name: text}} as "name dtype[shape]" texts.
std::vector<std::string> described(const Host& host, const Value& info) {
  const auto map = host.items(info.object()).value();
  const auto shapes = host.items(map[1].object).value(), dtypes = host.items(map[3].object).value();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < shapes.size(); i += 2) {
    std::string text(*value_text(shapes[i]));
    text += concat(" ", *value_text(dtypes[i + 1]));
    const auto extents = value_shape(shapes[i + 1]);
    for (const std::int64_t extent : *extents) text += concat(" ", extent);
    texts.push_back(text);
  }
  return texts;
}

TEST_F(AotExecutors, DescribeTheirTensors) {
  const Value plain = executor(), with_parameter = executor({{"x", {1, 2, 3, 4}}});

  EXPECT_THAT(described(host, *call(plain, "get_input_info")),
              ElementsAre("x float32 4", "scale float32"));
  EXPECT_THAT(described(host, *call(with_parameter, "get_input_info")),
              ElementsAre("scale float32"));
  EXPECT_THAT(described(host, *call(plain, "get_output_info")), ElementsAre("y_0 float32 4"));
}

TEST_F(AotExecutors, CopyParametersThatAreNotAligned) {
  const Value made = executor({{"x", {1, 2, 3, 4}}, {"spare", {1}}});
  const auto x = call(made, "get_input", {int_value(0)});

  EXPECT_THAT(floats_of(*x->tensor()), ElementsAre(1, 2, 3, 4));
}

TEST_F(AotExecutors, UseAlignedParametersInPlaceUntilTheyAreSet) {
  const std::vector<std::uint8_t> aligned =
      saved(load(payload({{"x", {1, 2, 3, 4}}})).value(), 128);
  const Value factory = load(aligned).value();
  const Value made = call(factory, "default", {device_value(gantry::test::cpu)}).value();
  const void* const in_place = call(made, "get_input", {int_value(0)}).value().tensor()->data;
  const Value second = call(factory, "default", {device_value(gantry::test::cpu)}).value();
  EXPECT_EQ(call(second, "get_input", {int_value(0)}).value().tensor()->data, in_place);

  EXPECT_THAT(run(made, {5, 5, 5, 5}), ElementsAre(20, 30, 40, 50));

  EXPECT_THAT(floats_of(*call(second, "get_input", {int_value(0)}).value().tensor()),
              ElementsAre(1, 2, 3, 4));
}

// Code of v0.7 to v0.9 loads 128 bytes at once.
TEST_F(AotExecutors, UseParametersInPlaceAtMultiplesOf128BytesOnly) {
  const std::vector<float> values = {1, 2, 3, 4};
  const std::vector<std::uint8_t> bytes = payload({{"x", values}});
  const std::uint64_t data_at = gantry::test::offset_of(bytes, values);

  for (const std::size_t past : {0, 1, 4, 16, 32, 64, 96, 128}) {
    const Value factory = load(bytes, (past + 256 - data_at) % 128).value();
    fake.copies.clear();
    const Value made = call(factory, "default", {device_value(gantry::test::cpu)}).value();

    // The pool of constants is copied, too.
    const bool is_copied = std::ranges::count(fake.copies, 16) == 2;
    EXPECT_EQ(is_copied, past % 128 != 0) << past;
    EXPECT_THAT(floats_of(*call(made, "get_input", {int_value(0)}).value().tensor()),
                ElementsAre(1, 2, 3, 4));
  }
}

struct BadCall {
  std::string name, function;
  std::vector<gantry_value> args;
  Code code;
  std::string message;
  friend void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }
};
Floats& three() {
  static Floats floats({1, 2, 3});
  return floats;
}
Floats& misaligned() {
  static Floats floats({1, 2, 3, 4}, 64);
  return floats;
}
Floats& strided() {
  static std::int64_t stride = 2;
  static Floats floats({1, 2, 3, 4});
  floats.tensor.strides = &stride;
  return floats;
}
Floats& elsewhere() {
  static Floats floats({1, 2, 3, 4});
  floats.tensor.device = {4, 0};
  return floats;
}

class AotExecutorsRefuse : public AotModel, public ::testing::WithParamInterface<BadCall> {};
TEST_P(AotExecutorsRefuse, AWrongCall) {
  const BadCall& bad = GetParam();

  const Result<Value> done = call(executor(), bad.function, bad.args);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, bad.code);
  EXPECT_EQ(done.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    Calls, AotExecutorsRefuse,
    ::testing::Values(
        BadCall{"UnknownInput",
                "set_input",
                {name_value("z"), three().value()},
                Code::not_found,
                "input \"z\" not found; inputs: \"x\", \"scale\""},
        BadCall{"UnknownOutput",
                "get_output",
                {name_value("z")},
                Code::not_found,
                "output \"z\" not found; outputs: \"y_0\""},
        BadCall{"InputIndex",
                "get_input",
                {int_value(2)},
                Code::invalid,
                "get_input(name or index): input index is 2, input count is 2"},
        BadCall{"NegativeIndex",
                "get_output",
                {int_value(-1)},
                Code::invalid,
                "get_output(name or index[, tensor]): output index is -1, output count is 1"},
        BadCall{"NoKey",
                "get_input",
                {float_value(1)},
                Code::invalid,
                "get_input(name or index): key is a float, expected a name or an index"},
        BadCall{"NameForName",
                "get_input_name",
                {name_value("x")},
                Code::invalid,
                "get_input_name(index): argument 0 (index) is a string, expected an integer"},
        BadCall{"NoTensor",
                "set_input",
                {name_value("x"), int_value(1)},
                Code::invalid,
                "set_input(name or index, tensor): argument 1 (tensor) is an integer, expected a "
                "tensor"},
        BadCall{"InputSize",
                "set_input",
                {name_value("x"), three().value()},
                Code::invalid,
                "fake host: source and target differ\n  while setting input \"x\" float32[4]"},
        BadCall{"OutputShape",
                "get_output",
                {int_value(0), three().value()},
                Code::invalid,
                "get_output(name or index[, tensor]): tensor has another shape than output "
                "\"y_0\" float32[4]"},
        BadCall{"BoundShape",
                "set_input_zero_copy",
                {name_value("x"), three().value()},
                Code::invalid,
                "tensor is float32[3], expected float32[4]\n  while binding input \"x\" "
                "float32[4]"},
        BadCall{"BoundStrides",
                "set_output_zero_copy",
                {int_value(0), strided().value()},
                Code::invalid,
                "tensor float32[4] has strides, expected dense rows\n  while binding output "
                "\"y_0\" float32[4]"},
        BadCall{"BoundDevice",
                "set_output_zero_copy",
                {int_value(0), elsewhere().value()},
                Code::invalid,
                "tensor is on device 4:0, expected device 1:0\n  while binding output \"y_0\" "
                "float32[4]"},
        BadCall{"RunWithoutName",
                "get_input_index",
                {int_value(0)},
                Code::invalid,
                "get_input_index(name): argument 0 (name) is an integer, expected a string or "
                "bytes"}),
    [](const auto& test) { return test.param.name; });

TEST_F(AotExecutors, RefuseBoundMemoryThatIsNotAligned) {
  const Result<Value> bound =
      call(executor(), "set_input_zero_copy", {int_value(0), misaligned().value()});

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().reason, "ZERO_COPY");
  EXPECT_THAT(bound.error().message.text(),
              EndsWith(", 64 bytes past a multiple of 128\n  while binding input \"x\" "
                       "float32[4]"));
}

TEST_F(AotExecutors, RefuseAnyOtherNumberOfArguments) {
  const Value made = executor();
  for (const char* function : {"set_input", "set_input_zero_copy", "get_input", "get_input_index",
                               "get_input_name", "set_output_zero_copy", "get_output"}) {
    EXPECT_EQ(call(made, function).error().reason, "ARGUMENT_COUNT") << function;
  }
  for (const char* function :
       {"get_num_inputs", "get_num_outputs", "get_input_info", "get_output_info"}) {
    EXPECT_EQ(call(made, function, {int_value(0)}).error().reason, "ARGUMENT_COUNT") << function;
  }
}

}  // namespace
}  // namespace gantry::aot::test
