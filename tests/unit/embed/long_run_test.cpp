// SPDX-License-Identifier: Apache-2.0
//
// Tasks that end within one run of a graph of many operators.
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/embed/digits_run.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gantry/join.hpp>

#include <chrono>
#include <thread>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_ok;
using test::Words;

// The JSON of a graph that passes float32[2] through `count` operators, all of them "step".
std::string chain_json(int count) {
  std::string nodes = R"({"op":"null","name":"x","inputs":[]})";
  std::string types = R"("float32")", ids = "0", shapes = "[2]", rows = "0,1";
  for (int i = 1; i <= count; ++i) {
    nodes += concat(R"(,{"op":"tvm_op","name":"step)", i,
                    R"(","attrs":{"func_name":"step","num_inputs":"1","num_outputs":"1",)",
                    R"("flatten_data":"0"},"inputs":[[)", i - 1, R"(,0,0]]})");
    types += R"(,"float32")";
    ids += concat(",", i % 2);
    shapes += ",[2]";
    rows += concat(",", i + 1);
  }
  return concat(R"({"nodes":[)", nodes, R"(],"arg_nodes":[0],"heads":[[)", count,
                R"(,0,0]],"attrs":{"dltype":["list_str",[)", types,
                R"(]],"storage_id":["list_int",[)", ids, R"(]],"shape":["list_shape",[)", shapes,
                R"(]]},"node_row_ptr":[)", rows, "]}");
}

// A model whose one run takes two seconds: 200 operators of 10 ms, functions of the program's
// plugin.
class LongRun : public test::Embedded {
 protected:
  static constexpr int operator_count = 200;

  LongRun() : Embedded("graph") {
    test::program_plugin() = {};
    test::program_plugin().call_name = "step";
    test::program_plugin().call = [this](const gantry_env*, const gantry_value*, std::int32_t,
                                         gantry_value*, gantry_status*) -> gantry_code {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ++calls;
      if (calls == late_at) std::this_thread::sleep_for(std::chrono::milliseconds(1100));
      if (calls == cancel_at) embed().task_cancel(task.get());
      return GANTRY_OK;
    };
    expect_ok(done([&](gantry_status* status) {
      return embed().plugin_add(runtime.get(), test::query_program_plugin, status);
    }));
    const Words container = test::layout_one(1, Words().str("test.block").str("hello"), {0, 0}, {});
    test::write_file(directory / "deploy.so",
                     test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    test::write_file(directory / "deploy.json", chain_json(operator_count));
    const std::string library = (directory / "deploy.so").string(),
                      graph = (directory / "deploy.json").string();
    gantry_object* module = nullptr;
    expect_ok(done([&](gantry_status* status) {
      return embed().load_graph(runtime.get(), bytes_of(library), bytes_of(graph), {}, nullptr,
                                &module, status);
    }));
    const ObjectRef owned = ObjectRef::adopt(module);
    model = test::new_model(owned).value();
  }
  ~LongRun() override { test::program_plugin() = {}; }

  // Runs the model once with a task of these options.
  Status run_with(gantry_task_options options) {
    options.struct_size = sizeof options;
    gantry_object* made = nullptr;
    GANTRY_CHECK(
        done([&](gantry_status* status) { return embed().task_new(&options, &made, status); }));
    task = ObjectRef::adopt(made);
    std::vector<float> elements(2);
    const std::int64_t shape[] = {2};
    gantry_tensor x = test::tensor_of(elements, shape);
    const gantry_value input = tensor_ref_value(&x);
    gantry_value output{};
    gantry_run run = test::new_run(input, output);
    run.task = task.get();
    const Status ran = test::run(model, run);
    const Value owned = Value::adopt(output);
    return ran;
  }
  static void expect_cancelled(const Status& status, std::string_view reason) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::cancelled);
    EXPECT_EQ(status.error().reason, reason);
  }

  test::TempDir directory;
  ObjectRef model, task;
  int calls = 0;
  // the operator that cancels the task, and one that takes 1.1 s
  int cancel_at = 0, late_at = 0;
};

TEST_F(LongRun, StopsBeforeTheOperatorAfterItsCancellation) {
  cancel_at = 3;

  const Status status = run_with({});

  expect_cancelled(status, "CANCELLED");
  EXPECT_EQ(calls, 3);
}

TEST_F(LongRun, StopsAtItsDeadline) {
  gantry_task_options options{};
  options.deadline_ns = 1'000'000'000;
  late_at = 3;

  const Status status = run_with(options);

  expect_cancelled(status, "DEADLINE");
  EXPECT_EQ(calls, 3);
}

TEST_F(LongRun, StopsAfterAPollThatCancelsIt) {
  struct Polls {
    int count = 0;
    std::thread::id thread;
  } polls;
  gantry_task_options options{};
  options.self = &polls;
  options.poll = [](void* self) -> std::int32_t {
    auto& seen = *static_cast<Polls*>(self);
    seen.thread = std::this_thread::get_id();
    return ++seen.count == 3 ? 1 : 0;
  };

  const Status status = run_with(options);

  expect_cancelled(status, "CANCELLED");
  EXPECT_EQ(polls.count, 3);
  EXPECT_EQ(polls.thread, std::this_thread::get_id());
  // one poll at most before each operator
  EXPECT_GE(calls, 2);
  EXPECT_LT(calls, operator_count / 2);
}

TEST_F(LongRun, ThatWasCancelledCanBeRepeated) {
  cancel_at = 3;
  expect_cancelled(run_with({}), "CANCELLED");
  cancel_at = 6;

  expect_cancelled(run_with({}), "CANCELLED");

  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace gantry
