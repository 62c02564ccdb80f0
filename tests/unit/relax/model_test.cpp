// SPDX-License-Identifier: Apache-2.0
//
// An executable as a model of gantry.model/1.
#include "plugins/relax/module.hpp"
#include "tests/support/model_calls.hpp"
#include "tests/unit/relax/machine.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

namespace gantry::relax::test {
namespace {

using gantry::test::ExecutorCalls;
using gantry::test::ModelCalls;
using gantry::test::parameter_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The kernel sum(a, b, out) adds float32 elements.
class RelaxModel : public VmTest {
 protected:
  RelaxModel() {
    fake.add_function("sum", [this](const gantry_env*, std::span<const gantry_value> args,
                                    gantry_value*, gantry_status*) {
      const gantry_tensor& out = *gantry_value_tensor(&args[2]);
      for (std::int64_t i = 0; i < out.shape[0]; ++i) {
        elements(out)[i] = elements(*gantry_value_tensor(&args[0]))[i] +
                           elements(*gantry_value_tensor(&args[1]))[i];
      }
      return GANTRY_OK;
    });
  }
  ~RelaxModel() override {
    model.reset();
    module.reset();
  }

  void load() {
    read();
    module = std::make_unique<ExecutableModule>(Host(fake.table()), loaded);
    model = std::make_unique<ModelCalls<ExecutableModule>>(*module);
  }
  std::unique_ptr<ExecutorCalls> executor(std::vector<gantry_device_id> devices = {cpu}) const {
    return model->executor(devices).value();
  }

  void annotate(std::string_view function, std::string_view parameter, std::string_view type) {
    code.text(parameter.empty()
                  ? concat("ErrorContext(fn=", function, ", loc=return, annotation=", type, ")")
                  : concat("ErrorContext(fn=", function, ", loc=param[0], param=", parameter,
                           ", annotation=", type, ")"));
  }
  // Adds instructions that put the sum of two registers into a new tensor float32[2].
  void add_sum(std::int64_t a, std::int64_t b, std::int64_t free, std::int64_t dst) {
    code.call(free, storage_,
              {relax_register(relax_vm), code.shape({8}), relax_immediate(0),
               code.dtype(dtypes::uint8), code.text("global")});
    code.call(
        dst, alloc_,
        {relax_register(free), relax_immediate(0), code.shape({2}), code.dtype(dtypes::float32)});
    code.call(relax_void, sum_, {relax_register(a), relax_register(b), relax_register(dst)});
  }
  void add_kernels() {
    storage_ = code.packed("vm.builtin.alloc_storage");
    alloc_ = code.packed("vm.builtin.alloc_tensor");
    sum_ = code.packed("sum");
  }
  // main(x, y): x + y, float32[2], whose types are in the file.
  void load_sum() {
    add_kernels();
    annotate("main", "x", R"(R.Tensor((2,), dtype="float32"))");
    annotate("main", "y", R"(R.Tensor((2,), dtype="float32"))");
    annotate("main", "", R"(R.Tensor((2,), dtype="float32"))");
    code.function("main", {"x", "y"}, 4);
    add_sum(0, 1, 2, 3);
    code.ret(3);
    load();
  }

  float* elements(const gantry_tensor& tensor) const {
    return reinterpret_cast<float*>(fake.memory_of(tensor) + tensor.byte_offset);
  }
  Value tensor(std::vector<float> values, gantry_device_id device = cpu) const {
    auto extent = static_cast<std::int64_t>(values.size());
    const gantry_tensor like{nullptr, device, 1, dtypes::float32, &extent, nullptr, 0};
    Value made = Host(fake.table()).tensor_new(like).value();
    std::memcpy(elements(*made.tensor()), values.data(), 4 * values.size());
    return made;
  }
  std::vector<float> floats(const gantry_value& value) const {
    const gantry_tensor* const found = gantry_value_tensor(&value);
    if (found == nullptr) return {};
    return {elements(*found), elements(*found) + found->shape[0]};
  }
  std::vector<float> floats(const Value& value) const { return floats(value.get()); }
  std::span<const gantry_value> items(const Value& array) const {
    return Host(fake.table()).items(array.object()).value();
  }
  std::vector<std::string> inputs(std::uint32_t function) const {
    const gantry_signature& found = model->signature(function);
    return parameter_texts(found.inputs, found.input_count);
  }
  std::vector<std::string> outputs(std::uint32_t function) const {
    const gantry_signature& found = model->signature(function);
    EXPECT_EQ(found.flags, static_cast<std::uint32_t>(GANTRY_SIGNATURE_OUTPUTS));
    return parameter_texts(found.outputs, found.output_count);
  }

  std::unique_ptr<ExecutableModule> module;
  std::unique_ptr<ModelCalls<ExecutableModule>> model;

 private:
  std::int64_t storage_ = 0, alloc_ = 0, sum_ = 0;
};

// ---- functions and signatures

TEST_F(RelaxModel, HasTheFunctionsThatHaveParameters) {
  code.function("prefill", {"x"}, 1);
  code.ret(0);
  code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.ret(relax_void);
  code.vm_tir("compiled", 1, 2);
  load();

  const gantry_model_info info = model->info().value();

  EXPECT_THAT(model->functions(), ElementsAre("prefill", "main", "compiled"));
  EXPECT_EQ(info.default_function, 1u);
  EXPECT_EQ(info.flags, 0u);
  EXPECT_EQ(info.device_types, nullptr);
  EXPECT_EQ(info.device_count, 0u);
}

TEST_F(RelaxModel, HasNoDefaultWithoutMain) {
  code.function("decode", {}, 1);
  code.ret(relax_void);
  load();

  EXPECT_EQ(model->info().value().default_function, GANTRY_NO_FUNCTION);
}

TEST_F(RelaxModel, StatesTypesAndNamesOfExtentsFromAnnotations) {
  annotate("main", "x", R"(R.Tensor((n, 64), dtype="float32"))");
  annotate("main", "pairs", R"(R.Tensor((n * 2, T.int64(3), m), dtype="int8"))");
  annotate("main", "fixed", R"(R.Tensor((2, T.int64(3)), dtype="bool"))");
  annotate("main", "any", R"(R.Tensor(dtype="float32", ndim=2))");
  annotate("main", "state", "R.Object");
  annotate("main", "shape", "R.Shape([n])");
  annotate("main", "weights", R"x(T.Tuple(R.Tensor((1,), dtype="int8"), R.Any))x");
  annotate("main", "", R"(R.Tensor((n, n + 1), dtype="float32"))");
  annotate("main", "x", R"(R.Tensor((7,), dtype="int64"))");
  annotate("other", "unknown", R"(R.Tensor((7,), dtype="int64"))");
  code.text("no annotation");
  code.function("main", {"x", "pairs", "fixed", "any", "state", "shape", "weights", "unknown"}, 8);
  code.ret(0);
  load();

  EXPECT_THAT(inputs(0),
              ElementsAre("x float32[n, 64] {n,}", "pairs int8[n * 2, 3, m] {n * 2,,m}",
                          "fixed bool[2, 3]", R"(any R.Tensor(dtype="float32", ndim=2) kind 70)",
                          "state R.Object kind 70", "shape R.Shape([n]) kind 0",
                          R"x(weights T.Tuple(R.Tensor((1,), dtype="int8"), R.Any) kind 71)x",
                          "unknown kind 0"));
  EXPECT_THAT(outputs(0), ElementsAre("output float32[n, n + 1] {n,n + 1}"));
  const gantry_signature& signature = model->signature(0);
  EXPECT_THAT(std::span(signature.inputs[0]->shape, 2), ElementsAre(-1, 64));
  EXPECT_EQ(signature.inputs[0]->kind, GANTRY_TENSOR);
  EXPECT_EQ(&model->signature(0), &signature);
}

TEST_F(RelaxModel, NumbersInputsWithoutNames) {
  code.function("main", {"x", "y"}, 2);
  code.ret(0);
  code.functions[0].names.clear();
  load();

  EXPECT_THAT(inputs(0), ElementsAre("0 kind 0", "1 kind 0"));
}

TEST_F(RelaxModel, StatesTheItemsOfTuplesIfAllAreTensors) {
  for (const char* const name : {"main", "mixed", "silent"}) {
    code.function(name, {}, 1);
    code.ret(relax_void);
  }
  annotate("main", "",
           R"x(R.Tuple(R.Tensor((1,), dtype="int8"), T.Tuple(R.Tensor((n,), dtype="int32"))))x");
  annotate("mixed", "", R"x(R.Tuple(R.Tensor((1,), dtype="int8"), R.Object))x");
  load();

  EXPECT_THAT(outputs(0), ElementsAre("output0 int8[1]", "output1 int32[n] {n}"));
  for (const std::uint32_t function : {1u, 2u}) {
    EXPECT_EQ(model->signature(function).flags, 0u) << function;
    EXPECT_EQ(model->signature(function).output_count, 0u) << function;
    EXPECT_EQ(model->signature(function).outputs, nullptr) << function;
  }
}

// Tuples of all weights have annotations of many kilobytes; reports cut them.
TEST_F(RelaxModel, StatesLongAnnotationsOfInputsCompletely) {
  const std::string item = R"(R.Tensor((1,), dtype="int8"), )";
  std::string all = "R.Tuple(";
  for (int i = 0; i < 20; ++i) all += item;
  annotate("main", "weights", all + "R.Any)");
  code.function("main", {"weights"}, 1);
  code.ret(0);
  load();

  EXPECT_THAT(inputs(0), ElementsAre(::testing::StartsWith(concat("weights ", all, "R.Any)"))));
}

class RelaxWeights : public RelaxModel {
 protected:
  // main(weights, state, x): tuples of two items and of three, and a tensor.
  void load_metadata(std::string_view metadata) {
    const auto copy = code.packed("vm.builtin.copy");
    code.function("_metadata", {}, 1);
    code.call(0, copy, {code.text(metadata)});
    code.ret(0);
    add_tuples();
  }
  void add_tuples() {
    annotate("main", "weights",
             R"x(T.Tuple(R.Tuple(R.Any, R.Any), R.Tensor((2,), dtype="int8")))x");
    annotate("main", "state", "R.Tuple(R.Any, R.Any, R.Any)");
    annotate("main", "x", R"(R.Tensor((2,), dtype="int8"))");
    code.function("main", {"weights", "state", "x"}, 3);
    code.ret(0);
    load();
  }
  // of the last function
  std::vector<std::uint32_t> flags() const {
    const gantry_signature& found = model->signature(model->info()->function_count - 1);
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < found.input_count; ++i) all.push_back(found.inputs[i]->flags);
    return all;
  }
};

TEST_F(RelaxWeights, AreTheTupleOfAsManyItemsAsTheMetadataList) {
  load_metadata(R"({"params": [{"name": "a"}, {"name": "b"}], "model_type": "classifier"})");

  EXPECT_THAT(flags(), ElementsAre(GANTRY_PARAMETER_WEIGHT, 0, 0));
}

TEST_F(RelaxWeights, AreUnknownWithoutAListOfWeights) {
  load_metadata(R"({"params": {"name": "a", "shape": "b"}})");

  EXPECT_THAT(flags(), ElementsAre(0, 0, 0));
}

TEST_F(RelaxWeights, AreUnknownIfTheMetadataAreNoJson) {
  load_metadata(R"({"params": [1, 2])");

  EXPECT_THAT(flags(), ElementsAre(0, 0, 0));
}

TEST_F(RelaxWeights, AreUnknownIfTheMetadataAreComputed) {
  const auto copy = code.packed("vm.builtin.copy");
  code.function("_metadata", {}, 1);
  code.call(0, copy, {code.text(R"({"params": [1, 2]})")});
  code.call(0, copy, {relax_register(0)});
  code.ret(0);
  add_tuples();

  EXPECT_THAT(flags(), ElementsAre(0, 0, 0));
}

TEST_F(RelaxModel, MakesOneSignatureForAllThreads) {
  constexpr std::size_t count = 8;
  for (std::size_t i = 0; i < count; ++i) {
    code.function(concat("f", i), {"x"}, 1);
    code.ret(0);
    annotate(concat("f", i), "x", R"(R.Tensor((n,), dtype="int8"))");
  }
  load();
  std::vector<std::vector<const gantry_signature*>> found(4);

  {
    std::vector<std::jthread> threads;
    for (auto& own : found) {
      threads.emplace_back([&own, this] {
        for (std::uint32_t i = 0; i < count; ++i) own.push_back(&model->signature(i));
      });
    }
  }

  for (const auto& own : found) EXPECT_EQ(own, found[0]);
}

// ---- executors

TEST_F(RelaxModel, TakesInputsOnTheFirstDevice) {
  load_sum();
  const auto own = executor({handles, cpu});

  const ExecutorCalls::Placed placed = own->placements(0).value();

  for (const int i : {0, 1}) {
    EXPECT_EQ(placed.inputs[i].device.type, handles.type);
    EXPECT_EQ(placed.inputs[i].alignment, 64u);
    EXPECT_EQ(placed.inputs[i].flags, static_cast<std::uint32_t>(GANTRY_PLACEMENT_KEPT));
    EXPECT_EQ(placed.inputs[i].own, nullptr);
  }
  EXPECT_EQ(placed.outputs[0].device.type, handles.type);
  EXPECT_EQ(placed.outputs[0].alignment, 1u);
  EXPECT_EQ(placed.outputs[0].flags, 0u);
  EXPECT_EQ(placed.outputs[0].own, nullptr);
}

TEST_F(RelaxModel, PlacesNoOutputThatIsNotStated) {
  code.function("main", {}, 1);
  code.ret(relax_void);
  load();

  const ExecutorCalls::Placed placed = executor()->placements(0).value();

  EXPECT_EQ(placed.inputs, nullptr);
  EXPECT_EQ(placed.outputs, nullptr);
}

TEST_F(RelaxModel, ReturnsOutputsOneByOneOrAsAnArray) {
  load_sum();
  const auto own = executor();
  const Value x = tensor({1, 2}), y = tensor({10, 20});
  std::vector<Value> outputs(1);

  const Value all = own->run(0, {x, y}).value();
  ASSERT_TRUE(own->run(0, {y, y}, outputs).ok());

  ASSERT_EQ(items(all).size(), 1u);
  EXPECT_THAT(floats(items(all)[0]), ElementsAre(11, 22));
  EXPECT_THAT(floats(outputs[0]), ElementsAre(20, 40));
  EXPECT_EQ(fake.references(outputs[0].object()), 1) << "nothing keeps it";
}

TEST_F(RelaxModel, FillsTensorsOfTheCaller) {
  load_sum();
  const auto own = executor({handles});
  const std::vector<Value> inputs{tensor({1, 2}, handles), tensor({10, 20}, handles)};
  std::vector<Value> outputs{tensor({0, 0}, handles)};
  const gantry_object* const target = outputs[0].object();

  ASSERT_TRUE(own->run(0, inputs, outputs).ok());

  EXPECT_EQ(outputs[0].object(), target);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(11, 22));
}

TEST_F(RelaxModel, RefusesATensorToFillOfAnotherType) {
  load_sum();
  const auto own = executor();
  const std::vector<Value> inputs{tensor({1, 2}), tensor({10, 20})};
  std::vector<Value> outputs{tensor({0, 0, 0})};

  const Status ran = own->run(0, inputs, outputs);

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, Code::invalid);
  EXPECT_EQ(ran.error().reason, "ARGUMENT_SHAPE");
  EXPECT_EQ(ran.error().message.text(),
            "the tensor for output \"output\" of function \"main\" is float32[3], expected "
            "float32[2]");
}

TEST_F(RelaxModel, ReturnsTheItemsOfNestedTuples) {
  add_kernels();
  const auto tuple = code.packed("vm.builtin.make_tuple");
  code.function("main", {"x"}, 4);
  add_sum(0, 0, 1, 2);
  code.call(1, tuple, {relax_register(2), relax_immediate(7)});
  code.call(3, tuple, {relax_register(1), relax_register(0)});
  code.ret(3);
  load();
  const Value x = tensor({1, 2});

  const Value all = executor()->run(0, {x}).value();

  ASSERT_EQ(items(all).size(), 3u);
  EXPECT_THAT(floats(items(all)[0]), ElementsAre(2, 4));
  EXPECT_EQ(value_int(items(all)[1]), 7);
  EXPECT_EQ(items(all)[2].object, x.object());
}

// The caller takes over the items of an array of which it has the only reference.
TEST_F(RelaxModel, ReturnsAnArrayOfItsOwn) {
  const Value kept = Host(fake.table()).array({Value::adopt(int_value(1))}).value();
  fake.add_function("kept", [&](const gantry_env*, std::span<const gantry_value>,
                                gantry_value* result, gantry_status*) {
    *result = Value(kept).take();
    return GANTRY_OK;
  });
  const auto get = code.packed("kept");
  code.function("main", {}, 1);
  code.call(0, get, {});
  code.ret(0);
  load();

  const Value all = executor()->run(0, {}).value();

  EXPECT_NE(all.object(), kept.object());
  ASSERT_EQ(items(all).size(), 1u);
  EXPECT_EQ(value_int(items(all)[0]), 1);
}

TEST_F(RelaxModel, RefusesAnotherNumberOfOutputsThanTheFileStates) {
  const auto tuple = code.packed("vm.builtin.make_tuple");
  annotate("main", "", R"(R.Tensor((2,), dtype="float32"))");
  code.function("main", {"x"}, 2);
  code.call(1, tuple, {relax_register(0), relax_register(0)});
  code.ret(1);
  load();
  const auto own = executor();
  std::vector<Value> outputs(1);

  const Status ran = own->run(0, {tensor({1, 2})}, outputs);
  const auto all = own->run(0, {tensor({1, 2})});

  for (const Error& error : {ran.error(), all.error()}) {
    EXPECT_EQ(error.code, Code::malformed);
    EXPECT_EQ(error.message.text(), "function \"main\" has 2 outputs, its signature has 1");
  }
  EXPECT_EQ(outputs[0].kind(), GANTRY_NONE);
}

TEST_F(RelaxModel, CopiesAStatedOutputOfAnotherDevice) {
  annotate("main", "", R"(R.Tensor((2,), dtype="float32"))");
  code.function("main", {"x"}, 1);
  code.ret(0);
  load();

  const Value all = executor({handles})->run(0, {tensor({1, 2})}).value();

  EXPECT_EQ(gantry_value_tensor(&items(all)[0])->device.type, handles.type);
  EXPECT_THAT(floats(items(all)[0]), ElementsAre(1, 2));
}

TEST_F(RelaxModel, PassesCompiledCodeTensorsWithoutAByteOffset) {
  std::uint64_t offset = 1;
  fake.add_function("sum", [&](const gantry_env*, std::span<const gantry_value> args,
                               gantry_value* result, gantry_status*) {
    const gantry_tensor& first = *gantry_value_tensor(&args[0]);
    offset = first.byte_offset;
    result->kind = GANTRY_FLOAT;
    result->f = elements(first)[0];
    return GANTRY_OK;
  });
  const auto sum = code.packed("sum");
  code.function("main", {"x"}, 2);
  code.call(1, sum, {relax_register(0)});
  code.ret(1);
  load();
  const Value whole = tensor(std::vector<float>(32, 5));
  gantry_tensor part = *whole.tensor();
  std::int64_t extent = 8;
  part.shape = &extent;
  part.byte_offset = 64;
  elements(*whole.tensor())[16] = 9;
  const Value view = Host(fake.table()).tensor_view(part, whole.object()).value();

  const Value all = executor()->run(0, {view}).value();

  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(items(all)[0].f, 9);
}

TEST_F(RelaxModel, KeepsResultsApartFromLaterRuns) {
  load_sum();
  const auto first = executor(), second = executor();
  const Value x = tensor({1, 2}), y = tensor({10, 20});

  const Value a = first->run(0, {x, x}).value();
  const Value b = second->run(0, {x, y}).value();
  const Value c = first->run(0, {y, y}).value();
  const Value d = second->run(0, {y, x}).value();

  EXPECT_THAT(floats(items(a)[0]), ElementsAre(2, 4));
  EXPECT_THAT(floats(items(b)[0]), ElementsAre(11, 22));
  EXPECT_THAT(floats(items(c)[0]), ElementsAre(20, 40));
  EXPECT_THAT(floats(items(d)[0]), ElementsAre(11, 22));
}

TEST_F(RelaxModel, KeepsNothingOfARun) {
  load_sum();
  const auto own = executor();
  const Value x = tensor({1, 2});
  (void)own->run(0, {x, x}).value();
  const int before = fake.live_objects();

  Value result = own->run(0, {x, x}).value();
  result = Value();

  EXPECT_EQ(fake.live_objects(), before);
  EXPECT_EQ(fake.references(x.object()), 1);
}

TEST_F(RelaxModel, RunsAfterAFailure) {
  const auto refuse = code.packed("refuse");
  code.function("main", {"ok"}, 1);
  code.branch(0, 2);
  code.ret(0);
  code.call(0, refuse, {});
  code.ret(0);
  load();
  const auto own = executor();

  const auto failed = own->run(0, {Value::adopt(int_value(0))});
  const auto done = own->run(0, {Value::adopt(int_value(3))});

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::unsupported);
  EXPECT_EQ(failed.error().reason, "TEST");
  EXPECT_THAT(std::string(failed.error().message.text()),
              ::testing::EndsWith("\n  in function \"main\""));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(value_int(items(*done)[0]), 3);
}

TEST_F(RelaxModel, RefusesToBeRecorded) {
  load_sum();

  const auto made = model->executor({cpu}, GANTRY_EXECUTOR_CAPTURE);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_EQ(made.error().reason, "CAPTURE");
  EXPECT_EQ(made.error().message.text(),
            "the model is a virtual machine, only graphs can be recorded (capture)");
  EXPECT_TRUE(model->executor({cpu}, GANTRY_EXECUTOR_PREPARE).ok());
}

TEST_F(RelaxModel, ListsTheFunctionsThatNobodyHas) {
  const auto absent = code.packed("absent");
  code.function("main", {}, 1);
  code.call(0, absent, {});
  code.ret(0);
  load();

  const auto made = model->executor({cpu});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().reason, "FUNCTIONS_MISSING");
  EXPECT_EQ(
      made.error().message.text(),
      "the executable requires \"absent\", which neither its library nor this runtime has\n"
      "  \"absent\" is a function that the model's compiler left to the program; add it before the "
      "load (Runtime::add_function, in Python Runtime.add_function)\n"
      "  while making a virtual machine");
}

}  // namespace
}  // namespace gantry::relax::test
