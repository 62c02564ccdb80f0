// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using gantry::test::cpu;
using gantry::test::handles;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

class Executing : public Model {};

TEST_F(Executing, RunsOperatorsInOrder) {
  const Value executor = this->executor(small_graph, {small_p0});
  Floats x({2, 2}, {1, 2, 3, 4});

  ASSERT_TRUE(call(executor, "set_input", {text_value("x"), x.value()}).ok());

  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(calls.size(), 1u);
}

TEST_F(Executing, ReleasesEverything) {
  {
    const Value executor = this->executor(small_graph, {small_p0});
    run(executor);
    EXPECT_GT(fake.live_objects(), 1);
  }
  // The blob's pin, which the test holds.
  EXPECT_EQ(fake.live_objects(), 1);
}

// Storage 2 contains two entries, storage 0 and 1 one each.
TEST_F(Executing, AllocatesEachSlotOnce) {
  executor(small_graph, {});

  EXPECT_THAT(fake.allocations, ElementsAre(16, 16, 16));
}

TEST_F(Executing, RunsWithoutAllocating) {
  const Value executor = this->executor(small_graph, {small_p0});
  run(executor);
  const std::size_t before = fake.allocations.size();
  const int objects = fake.live_objects();

  run(executor);

  EXPECT_EQ(fake.allocations.size(), before);
  EXPECT_EQ(fake.live_objects(), objects);
}

TEST_F(Executing, ReportsAllMissingFunctions) {
  const std::string graph =
      replaced(replaced(small_graph, "\"func_name\":\"add\"", "\"func_name\":\"mul\""),
               "\"func_name\":\"__nop\"", "\"func_name\":\"div\"");
  const Result<Value> factory = load(payload_bytes(graph, {}));
  ASSERT_TRUE(factory.ok());

  const Result<Value> made = call(*factory, "default", {device_value(cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::not_found);
  EXPECT_EQ(made.error().reason, "FUNCTIONS_MISSING");
  EXPECT_EQ(made.error().message,
            "graph calls 2 functions, 2 are in no import: \"div\", \"mul\"\n"
            "  look-up of the first reports: fake host: no function \"div\"");
}

// The parameter: the host has batches.
class ExecutingEitherWay : public Model, public ::testing::WithParamInterface<bool> {
 protected:
  ExecutingEitherWay() { fake.has_batches = GetParam(); }
};

TEST_P(ExecutingEitherWay, NamesTheFailingNode) {
  fake.add_function("add", [](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                              gantry_status* status) {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", "the driver is gone");
  });
  const Value executor = this->executor(small_graph, {small_p0});

  const Result<Value> ran = call(executor, "run");

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, Code::unavailable);
  EXPECT_EQ(ran.error().reason, "DRIVER");
  EXPECT_EQ(ran.error().message, "the driver is gone\n  in node 2 \"add\"");
}

INSTANTIATE_TEST_SUITE_P(HasBatches, ExecutingEitherWay, ::testing::Bool());

TEST_F(Executing, ReleasesTheResultOfAnOperator) {
  fake.add_function("add", [this](const gantry_env*, std::span<const gantry_value>,
                                  gantry_value* result, gantry_status*) {
    *result = host.text("unwanted").value().take();
    return gantry_code{GANTRY_OK};
  });
  const Value executor = this->executor(small_graph, {small_p0});
  const int objects = fake.live_objects();

  ASSERT_TRUE(call(executor, "run").ok());

  EXPECT_EQ(fake.live_objects(), objects);
}

TEST_F(Executing, StopsBetweenOperatorsWhenCancelled) {
  const Value executor = this->executor(small_graph, {small_p0});
  fake.cancelled = true;
  const int task = 0;
  const gantry_env env{cpu, nullptr, &task, nullptr};

  const Result<Value> ran = call(executor, "run", {}, &env);

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, Code::cancelled);
  EXPECT_EQ(ran.error().message, "run is cancelled");
  EXPECT_TRUE(calls.empty());
}

TEST_F(Executing, RecordsASpanForEachOperator) {
  fake.tracing = true;
  const Value executor = this->executor(small_graph, {small_p0});

  run(executor);

  EXPECT_THAT(fake.spans, ElementsAre("op:add"));
}

TEST_F(Executing, ReportsOutOfMemory) {
  const Result<Value> factory = load(payload_bytes(small_graph, {}));
  fake.max_allocations = 2;

  const Result<Value> made = call(*factory, "default", {device_value(cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::exhausted);
  EXPECT_EQ(made.error().message,
            "fake host: memory is exhausted\n  while allocating storage 2, 16 bytes on device 1:0");
}

// In a host with gantry.batch/1. The other tests run in a host without it.
class ExecutingInBatches : public Model {
 protected:
  ExecutingInBatches() { fake.has_batches = true; }
};

TEST_F(ExecutingInBatches, RunsAllOperatorsWithOneCallOfTheHost) {
  {
    const Value executor = this->executor(small_graph, {small_p0});
    Floats x({2, 2}, {1, 2, 3, 4});
    ASSERT_TRUE(call(executor, "set_input", {text_value("x"), x.value()}).ok());

    EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
    EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
    EXPECT_EQ(fake.batch_runs, 2);
    EXPECT_EQ(calls.size(), 2u);
  }
  // The blob's pin, which the test holds.
  EXPECT_EQ(fake.live_objects(), 1);
}

TEST_F(ExecutingInBatches, StopsWhenCancelledAndNamesNoNode) {
  const Value executor = this->executor(small_graph, {small_p0});
  fake.cancelled = true;
  const int task = 0;
  const gantry_env env{cpu, nullptr, &task, nullptr};

  const Result<Value> ran = call(executor, "run", {}, &env);

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, "run is cancelled");
  EXPECT_TRUE(calls.empty());
}

TEST_F(ExecutingInBatches, MakesSingleCallsWhileARunIsTraced) {
  fake.tracing = true;
  const Value executor = this->executor(small_graph, {small_p0});

  run(executor);

  EXPECT_THAT(fake.spans, ElementsAre("op:add"));
  EXPECT_EQ(fake.batch_runs, 0);
}

TEST_F(ExecutingInBatches, FailsToBeMadeIfTheHostRefusesABatch) {
  fake.batch_refusal = "no batches today";
  const Value factory = load(payload_bytes(small_graph, {})).value();

  const Result<Value> made = call(factory, "default", {device_value(cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid);
  EXPECT_EQ(made.error().reason, "BATCH");
  EXPECT_EQ(made.error().message, "no batches today");
}

// x on device 4, the rest on the CPU; a copy between.
const char two_devices[] = R"({"nodes":[
{"op":"null","name":"x","inputs":[]},
{"op":"tvm_op","name":"here","attrs":{"func_name":"negate","num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[0,0]]},
{"op":"tvm_op","name":"over","attrs":{"func_name":"__copy","num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[1,0]]},
{"op":"tvm_op","name":"there","attrs":{"func_name":"negate","num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[2,0]]}],
"arg_nodes":[0],"heads":[[3,0]],"node_row_ptr":[0,1,2,3,4],
"attrs":{"dltype":["list_str",["float32","float32","float32","float32"]],"device_index":["list_int",[9,9,1,1]],
"storage_id":["list_int",[0,1,2,3]],"shape":["list_shape",[[2],[2],[2],[2]]]}})";

class TwoDevices : public Model {
 protected:
  TwoDevices() { fake.device_numbers[9] = 4; }
  Value make() {
    factory = load(payload_bytes(two_devices, {})).value();
    return call(factory, "default", {device_value(cpu), device_value(handles)}).value();
  }
  Value factory;
};

TEST_F(TwoDevices, CopiesFromOneToTheOther) {
  const Value executor = make();
  Floats x({2}, {5, 6});

  ASSERT_TRUE(call(executor, "set_input", {int_value(0), x.value()}).ok());

  EXPECT_THAT(run(executor), ElementsAre(5, 6));
}

TEST_F(TwoDevices, UseTheCallersStreamOnItsDeviceOnly) {
  const Value executor = make();
  int stream = 0;
  const gantry_env env{handles, &stream, nullptr, nullptr};

  ASSERT_TRUE(call(executor, "run", {}, &env).ok());

  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].device.type, handles.type);
  EXPECT_EQ(calls[0].stream, &stream);
  EXPECT_EQ(calls[1].device.type, cpu.type);
  EXPECT_EQ(calls[1].stream, nullptr);
}

TEST_F(TwoDevices, UseTheStreamsOfBoth) {
  int own = 0, other = 0;
  const gantry_device_stream item{handles, &own};
  const gantry_streams others{&item, 1};
  const gantry_env env{cpu, &other, nullptr, &others};
  for (const bool has_batches : {false, true}) {
    fake.has_batches = has_batches;
    const Value executor = make();
    calls.clear();

    ASSERT_TRUE(call(executor, "run", {}, &env).ok());

    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].device.type, handles.type);
    EXPECT_EQ(calls[0].stream, &own);
    EXPECT_EQ(calls[1].device.type, cpu.type);
    EXPECT_EQ(calls[1].stream, &other);
  }
}

TEST_F(TwoDevices, RunABatchOnEachSideOfTheCopy) {
  fake.has_batches = true;
  const Value executor = make();
  Floats x({2}, {5, 6});
  int stream = 0;
  const gantry_env env{handles, &stream, nullptr, nullptr};
  ASSERT_TRUE(call(executor, "set_input", {int_value(0), x.value()}).ok());

  ASSERT_TRUE(call(executor, "run", {}, &env).ok());

  EXPECT_THAT(output(executor), ElementsAre(5, 6));
  EXPECT_EQ(fake.batch_runs, 2);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].stream, &stream);
  EXPECT_EQ(calls[1].device.type, cpu.type);
  EXPECT_EQ(calls[1].stream, nullptr);
}

TEST_F(TwoDevices, NameTheFailingNodeOfTheSecondBatch) {
  fake.has_batches = true;
  int calls_made = 0;
  fake.add_function("negate", [&](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                                  gantry_status* status) {
    return calls_made++ == 0 ? gantry_code{GANTRY_OK}
                             : gantry_fail(status, GANTRY_BUG, "TEST", "the second one");
  });
  const Value executor = make();

  const Result<Value> ran = call(executor, "run");

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, "the second one\n  in node 3 \"there\"");
}

TEST_F(TwoDevices, AreMatchedByTheRuntimesDeviceType) {
  make();

  const Result<Value> made = call(factory, "default", {device_value(cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid);
  EXPECT_EQ(made.error().reason, "DEVICE");
  EXPECT_EQ(made.error().message,
            "graph requires a device \"opencl\" for entry 0, devices given are cpu:0");
}

// Functions of NNVM's element-wise fusions require rank 1; the executor's tensors keep their shape.
TEST_F(Executing, FlattensArgumentsOnly) {
  std::vector<std::int32_t> ranks;
  std::vector<std::int64_t> extents;
  fake.add_function("add", [&](const gantry_env*, std::span<const gantry_value> args, gantry_value*,
                               gantry_status*) {
    for (const gantry_value& arg : args) {
      ranks.push_back(arg.tensor->ndim);
      extents.push_back(arg.tensor->shape[0]);
    }
    return gantry_code{GANTRY_OK};
  });
  const Value executor = this->executor(
      replaced(replaced(small_graph, "\"flatten_data\":\"0\"", "\"flatten_data\":\"1\""),
               "[[3,0,0]]", "[[2,0,0]]"),
      {});

  ASSERT_TRUE(call(executor, "run").ok());

  EXPECT_THAT(ranks, ElementsAre(1, 1, 1));
  EXPECT_THAT(extents, ElementsAre(4, 4, 4));
  EXPECT_EQ(tensor_of(executor, "get_output", 0).ndim, 2);
}

// A call without arguments is unusual but valid.
TEST_F(Executing, CallsAFunctionOfNoArguments) {
  std::size_t argument_count = 9;
  fake.add_function("tick", [&](const gantry_env*, std::span<const gantry_value> args,
                                gantry_value*, gantry_status*) {
    argument_count = args.size();
    return gantry_code{GANTRY_OK};
  });
  const Value factory = load(payload_bytes(R"({"nodes":[{"op":"tvm_op","name":"t","inputs":[],
"attrs":{"func_name":"tick","num_inputs":"0","num_outputs":"0","flatten_data":"0"}}],
"arg_nodes":[],"heads":[],"node_row_ptr":[0,0],
"attrs":{"dltype":["list_str",[]],"storage_id":["list_int",[]],"shape":["list_shape",[]]}})",
                                           {}))
                            .value();
  const Value executor =
      call(factory, "debug_create", {text_value("default"), device_value(cpu)}).value();

  ASSERT_TRUE(call(executor, "run").ok());
  EXPECT_EQ(argument_count, 0u);

  const Result<Value> output = call(executor, "debug_get_output", {int_value(0)});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().message,
            "debug_get_output(node name or index[, tensor]): node \"t\" has no output");
}

TEST_F(Executing, ChecksTheNumberOfArgumentsOfEachFunction) {
  struct Counts {
    const char* function;
    std::size_t min, max;
  };
  const Value factory = load(payload_bytes(small_graph, {small_p0})).value();
  const Value executor =
      call(factory, "debug_create", {text_value("default"), device_value(cpu)}).value();
  const auto expect_refused = [&](const Value& module, const char* function, std::size_t count) {
    const Result<Value> called =
        call(module, function, std::vector<gantry_value>(count, int_value(0)));
    ASSERT_FALSE(called.ok()) << function;
    EXPECT_EQ(called.error().reason, "ARGUMENT_COUNT") << function << " of " << count;
  };
  for (const auto& [function, min, max] :
       {Counts{"set_input", 2, 2}, Counts{"set_input_zero_copy", 2, 2}, Counts{"get_input", 1, 1},
        Counts{"get_input_index", 1, 1}, Counts{"get_num_inputs", 0, 0},
        Counts{"set_output_zero_copy", 2, 2}, Counts{"get_output", 1, 2},
        Counts{"get_num_outputs", 0, 0}, Counts{"load_params", 1, 1}, Counts{"share_params", 2, 2},
        Counts{"get_input_info", 0, 0}, Counts{"get_output_info", 0, 0},
        Counts{"debug_get_output", 1, 2}, Counts{"profile", 0, 0}}) {
    if (min != 0) expect_refused(executor, function, min - 1);
    expect_refused(executor, function, max + 1);
  }
  for (const char* const function : {"get_graph_json", "get_graph_params", "remove_params"}) {
    expect_refused(factory, function, 1);
  }
}

// `inputs` nodes without a function, then `calls` of functions "f0", "f1"..., each in a slot of its
// own.
std::string wide_graph(int inputs, int calls) {
  std::string nodes, rows = "0", arguments, types, ids, shapes;
  for (int i = 0; i < inputs + calls; ++i) {
    const char* const comma = i == 0 ? "" : ",";
    if (i < inputs) {
      nodes += concat(comma, R"({"op":"null","name":"x)", i, R"(","inputs":[]})");
      arguments += concat(comma, i);
    } else {
      nodes += concat(comma, R"({"op":"tvm_op","name":"y)", i, R"(","inputs":[[0,0]],"attrs":{)",
                      R"("func_name":"f)", i - inputs,
                      R"(","num_inputs":"1","num_outputs":"1","flatten_data":"0"}})");
    }
    rows += concat(',', i + 1);
    types += concat(comma, R"("float32")");
    ids += concat(comma, i);
    shapes += concat(comma, "[2]");
  }
  return concat(R"({"nodes":[)", nodes, R"(],"arg_nodes":[)", arguments,
                R"(],"heads":[[0,0]],"node_row_ptr":[)", rows,
                R"(],"attrs":{"dltype":["list_str",[)", types, R"(]],"storage_id":["list_int",[)",
                ids, R"(]],"shape":["list_shape",[)", shapes, "]]}}");
}

TEST_F(Executing, NamesAtMostEightMissingFunctions) {
  const auto error_of = [&](int calls) {
    const Value factory = load(payload_bytes(wide_graph(1, calls), {})).value();
    return call(factory, "default", {device_value(cpu)}).error().message;
  };
  const std::string eight = R"("f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7")";

  EXPECT_THAT(error_of(8),
              StartsWith(concat("graph calls 8 functions, 8 are in no import: ", eight, '\n')));
  EXPECT_THAT(error_of(9), StartsWith(concat("graph calls 9 functions, 9 are in no import: ", eight,
                                             ", ...\n")));
}

TEST_F(Executing, NamesAtMostSixteenInputs) {
  const auto error_of = [&](int inputs) {
    const Value executor = this->executor(wide_graph(inputs, 0), {});
    return call(executor, "get_input", {text_value("z")}).error().message;
  };

  EXPECT_THAT(error_of(16), EndsWith("\"x14\", \"x15\""));
  EXPECT_THAT(error_of(17), EndsWith("\"x14\", \"x15\", ... (17 in all)"));
}

TEST_F(Executing, RunsUpToTheNodeOfItsDebugger) {
  const Value factory = load(payload_bytes(two_devices, {})).value();
  fake.device_numbers[9] = 4;
  const Value executor = call(factory, "debug_create",
                              {text_value("default"), device_value(cpu), device_value(handles)})
                             .value();

  ASSERT_TRUE(call(executor, "debug_get_output", {int_value(1)}).ok());

  EXPECT_EQ(calls.size(), 1u);
}

TEST_F(TwoDevices, AreProfiledOnTheDeviceOfEachOperator) {
  make();
  const Value executor = call(factory, "debug_create",
                              {text_value("default"), device_value(cpu), device_value(handles)})
                             .value();
  int stream = 0;
  const gantry_env env{handles, &stream, nullptr, nullptr};
  fake.device_calls.clear();

  ASSERT_TRUE(call(executor, "profile", {}, &env).ok());

  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].device.type, handles.type);
  EXPECT_EQ(calls[0].stream, &stream);
  EXPECT_EQ(calls[1].device.type, cpu.type);
  EXPECT_EQ(calls[1].stream, nullptr);
  // Before and after each of three operations: two of them are on the CPU.
  EXPECT_EQ(fake.synchronizations, 6);
}

TEST_F(Executing, ListsItsFunctions) {
  const Value executor = this->executor(small_graph, {});

  EXPECT_TRUE(host.find(executor.object(), GANTRY_FIND_SELF, "run").ok());
  EXPECT_EQ(host.find(executor.object(), GANTRY_FIND_SELF, "profile").error().code,
            Code::not_found);
}

}  // namespace
}  // namespace gantry::graph::test
