// SPDX-License-Identifier: Apache-2.0
//
// Time and memory of wide graphs, which a small file can describe.
#include "plugins/graph/storage_plan.hpp"

#include "tests/fuzz/budget.hpp"
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

// One node that is an input with many outputs, and one operator that reads all of them.
struct Wide {
  std::string name, function;
  // Attributes of the operator.
  std::size_t inputs, outputs;
  // of its input or output of that number
  std::uint64_t (*storage)(std::size_t index);
  friend void PrintTo(const Wide& wide, std::ostream* out) { *out << wide.name; }
};

template <class Item>
std::string list_of(std::size_t count, Item&& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += concat(i == 0 ? "" : ",", item(i));
  return text + "]";
}

std::string text_of(const Wide& wide) {
  const std::size_t entries = wide.inputs + wide.outputs;
  const auto reads = [](std::size_t i) { return concat("[0,", i, "]"); };
  const auto storage = [&](std::size_t e) {
    return wide.storage(e < wide.inputs ? e : e - wide.inputs);
  };
  return concat(
      R"({"nodes":[{"op":"null","name":"x","inputs":[]},{"op":"tvm_op","name":"y","attrs":{"func_name":")",
      wide.function, R"(","num_inputs":"1","num_outputs":")", wide.outputs,
      R"(","flatten_data":"0"},"inputs":)", list_of(wide.inputs, reads),
      R"(}],"arg_nodes":[0],"heads":[[1,0]],"node_row_ptr":[0,)", wide.inputs, ",", entries,
      R"(],"attrs":{"dltype":["list_str",)", list_of(entries, [](auto) { return "\"int8\""; }),
      R"(],"storage_id":["list_int",)", list_of(entries, storage), R"(],"shape":["list_shape",)",
      list_of(entries, [](auto) { return "[]"; }), "]}}");
}

class Graphs : public Model, public ::testing::WithParamInterface<Wide> {};

// The memory limit of tests/fuzz/graph_json_fuzz.cpp. The time limit is lower than the time of a
// quadratic algorithm on these graphs. Exceeding either ends the program.
constexpr std::int64_t kNanosecondsPerByte = 1000;

TEST_P(Graphs, AreReadAndPlannedWithinTheTimeLimit) {
  const std::string text = text_of(GetParam());
  const fuzz::Budget budget(
      text.size(), {.bytes_per_input_byte = 64, .nanoseconds_per_input_byte = kNanosecondsPerByte});

  const Result<Graph> graph = read_graph_json(text, 0);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const std::vector<gantry_device_id> devices(graph->entries.size(), gantry::test::cpu);
  const Result<StoragePlan> plan = plan_storage(*graph, devices);

  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->value_of.size(), graph->entries.size());
}

TEST_P(Graphs, BecomeExecutorsWithinTheTimeLimit) {
  const std::string text = text_of(GetParam());
  const Value factory = load(payload_bytes(text, {})).value();
  // The limit includes the fake host's tensors.
  const fuzz::Budget budget(text.size(), {.bytes_per_input_byte = 128,
                                          .nanoseconds_per_input_byte = kNanosecondsPerByte});

  const Value made = created(factory);

  EXPECT_NE(made.object(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Wide, Graphs,
    ::testing::Values(Wide{"ReshapeWithinOneStorage", "__nop", 20'000, 20'000,
                           [](auto) { return std::uint64_t{0}; }},
                      Wide{"ReshapeStorageByStorage", "__nop", 20'000, 20'000,
                           [](auto i) { return std::uint64_t{i}; }},
                      Wide{"CallOfManyArguments", "add", 20'000, 20'000,
                           [](auto i) { return std::uint64_t{i % 7}; }},
                      // Multiples of a size that a hash table of the standard library grows to.
                      Wide{"StorageIdsOfOneBucket", "add", 1, 40'000,
                           [](auto i) { return std::uint64_t{i} * 42'043; }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::graph::test
