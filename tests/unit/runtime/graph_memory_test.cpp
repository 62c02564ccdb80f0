// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph with large parameters: the file's own pages where they are aligned.
#include "tests/support/aligned_bytes.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/large_memory.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::anonymous_bytes;
using test::LinkedRelease;
using test::Words;

// One operator, total, with all parameters as inputs.
std::string graph_of_parameters() {
  std::string nodes, arguments, inputs, dtypes, devices, storages, shapes, rows;
  for (std::int64_t i = 0; i < test::large_array_count; ++i) {
    nodes += concat(R"({"op":"null","name":"p)", i, R"(","inputs":[]},)");
    arguments += concat(i == 0 ? "" : ",", i);
    inputs += concat(i == 0 ? "" : ",", "[", i, ",0,0]");
    dtypes += R"("float32",)";
    devices += "1,";
    storages += concat(i, ",");
    shapes += concat("[", test::large_array_floats, "],");
    rows += concat(i, ",");
  }
  const std::int64_t count = test::large_array_count;
  return concat(
      R"({"nodes":[)", nodes,
      R"({"op":"tvm_op","name":"total","attrs":{"func_name":"total","num_inputs":")", count,
      R"(","num_outputs":"1","flatten_data":"0"},"inputs":[)", inputs, R"(]}],"arg_nodes":[)",
      arguments, R"(],"heads":[[)", count, R"(,0,0]],"attrs":{"dltype":["list_str",[)", dtypes,
      R"("float32"]],"device_index":["list_int",[)", devices, R"(1]],"storage_id":["list_int",[)",
      storages, count, R"(]],"shape":["list_shape",[)", shapes, R"([1]]]},"node_row_ptr":[)", rows,
      count, ",", count + 1, "]}");
}

// Without fillers, as TVM writes it.
Words payload_of_parameters() {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < test::large_array_count; ++i) names.push_back(concat("p", i));
  Words payload =
      Words().str(graph_of_parameters()).u64(names.size()).strs({names.begin(), names.end()});
  const std::vector<float> ones(test::large_array_floats, 0.25f);
  for (std::size_t i = 0; i < names.size(); ++i) {
    payload.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(1);
    payload.i64(test::large_array_floats).u64(4 * ones.size());
    payload.raw(ones.data(), 4 * ones.size());
  }
  return payload.str("default");
}

// Returns the anonymous memory from the load to the first output.
std::int64_t bytes_to_first_output(bool is_aligned) {
  constexpr std::string_view key = "GraphExecutorFactory";
  const LinkedRelease& release =
      *std::ranges::find(test::linked_releases, "v0_16_LLVM", &LinkedRelease::name);
  Words payload = payload_of_parameters();
  if (is_aligned) {
    // After the length of the container, the count of entries and the key.
    const std::uint64_t at = 8 + 8 + 8 + key.size();
    payload = Words().bytes(
        test::aligned(key, payload.bytes(), ExporterFacts::Numbering::packed, at).value());
  }
  const Words container =
      test::layout_one(2, Words().str(key).bytes(payload.bytes()).str("_lib"), {0, 1, 1}, {1});
  const std::string file = test::link_release(release, "graph.c", container.bytes());
  Runtime runtime = test::new_runtime(test::built_plugins_only("graph"));

  const std::int64_t before = test::anonymous_bytes_in_use();
  EXPECT_GT(before, 0) << "/proc/self/smaps_rollup has no line Anonymous";
  const Module model = runtime.load(file).value();
  auto executor = runtime.executor(model, {"cpu"});
  EXPECT_TRUE(executor.ok()) << executor.error().message;
  EXPECT_TRUE(executor->run().ok());
  const Tensor output = executor->output(0).value();
  EXPECT_EQ(*static_cast<const float*>(output.data()), 0.25f * test::large_model_bytes / 4);
  const std::int64_t bytes = anonymous_bytes() - before;
  std::printf("[          ] %lld bytes of anonymous memory, parameters have %lld\n",
              static_cast<long long>(bytes), static_cast<long long>(test::large_model_bytes));
  return bytes;
}

TEST(GraphParameters, AreNotCopiedFromAnAlignedPayload) {
  EXPECT_LT(bytes_to_first_output(true), test::max_bytes_in_place);
}

TEST(GraphParameters, AreCopiedFromAPayloadThatIsNotAligned) {
  EXPECT_GE(bytes_to_first_output(false), test::min_bytes_of_copies);
}

}  // namespace
}  // namespace gantry
