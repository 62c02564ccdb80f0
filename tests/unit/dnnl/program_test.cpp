// SPDX-License-Identifier: Apache-2.0
#include "plugins/dnnl/builder.hpp"
#include "plugins/dnnl/operators.hpp"
#include "plugins/dnnl/plan.hpp"
#include "plugins/dnnl/threads.hpp"
#include "tests/unit/dnnl/subgraph_runner.hpp"

#include "core/formats/type_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry::dnnl_plugin::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DnnlProgram, RunsAgainWithOtherMemory) {
  const SubgraphCase& what = subgraph_case("tensorrt", "network");
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());

  const auto first = runner.run(*module, what);
  SubgraphCase zeros = what;
  std::ranges::fill(zeros.inputs[0].bytes, std::uint8_t{0});
  const auto other = runner.run(*module, zeros);
  const auto second = runner.run(*module, what);

  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(second.ok());
  for (std::size_t i = 0; i < first->size(); ++i) EXPECT_EQ((*first)[i].bytes, (*second)[i].bytes);
  EXPECT_NE((*first)[0].bytes, (*other)[0].bytes);
}

TEST(DnnlProgram, RunsOnSeveralThreadsAtOnce) {
  const SubgraphCase& what = subgraph_case("tensorrt", "network");
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());
  const auto alone = runner.run(*module, what);
  ASSERT_TRUE(alone.ok());

  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto outputs = runner.run(*module, what);
        if (!outputs.ok() || (*outputs)[0].bytes != (*alone)[0].bytes) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

// The host counts spans, of which each primitive is one.
TEST(DnnlProgram, StopsBetweenPrimitivesWhenItsTaskIsCancelled) {
  const SubgraphCase& what = subgraph_case("tensorrt", "network");
  SubgraphRunner runner(true);
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());
  const auto before = runner.run(*module, what);
  ASSERT_TRUE(before.ok());
  const std::vector<std::string> spans = runner.fake.spans;
  ASSERT_GT(spans.size(), 5u);
  const int task = 0;

  for (const std::size_t done : {std::size_t{0}, std::size_t{3}, spans.size() - 1}) {
    runner.fake.spans.clear();
    runner.fake.cancelled_after_spans = done;
    runner.task = &task;
    const auto stopped = runner.run(*module, what);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, Code::cancelled);
    EXPECT_EQ(stopped.error().reason, "CANCELLED");
    // A span is "run:<operator>".
    EXPECT_EQ(stopped.error().message.text(),
              concat("run is cancelled before operator ", quoted(spans[done].substr(4))));
    EXPECT_EQ(runner.fake.spans.size(), done);

    // A call without a task is not stopped, and finds a frame in order.
    runner.task = nullptr;
    const auto after = runner.run(*module, what);
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_EQ((*after)[0].bytes, (*before)[0].bytes);
  }
}

TEST(DnnlProgram, WritesTensorsThatBeginAtAnOffset) {
  const SubgraphCase& what = subgraph_case("dnnl_json", "nn.relu");
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  std::vector<std::uint8_t> memory(what.outputs[0].bytes.size() + 4);
  CaseArray input = what.inputs[0];
  gantry_tensor in = input.tensor(), out = CaseArray(what.outputs[0]).tensor();
  std::vector<std::int64_t> shape = what.outputs[0].shape;
  out.shape = shape.data();
  out.data = memory.data();
  out.byte_offset = 4;

  const auto done = runner.call(*module, "main_0", {tensor_ref_value(&in), tensor_ref_value(&out)});

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(std::equal(memory.begin() + 4, memory.end(), what.outputs[0].bytes.begin()));
}

TEST(DnnlPlugin, ReportsOnceThatItServesTheKeyOfAnotherVendor) {
  SubgraphRunner runner;

  ASSERT_TRUE(runner.run(subgraph_case("dnnl_json", "dense")).ok());
  EXPECT_THAT(runner.fake.log, IsEmpty());
  ASSERT_TRUE(runner.run(subgraph_case("tensorrt", "dense")).ok());
  ASSERT_TRUE(runner.run(subgraph_case("tensorrt", "exp")).ok());
  ASSERT_TRUE(runner.run(subgraph_case("bnns_json", "dense")).ok());

  ASSERT_THAT(runner.fake.log, SizeIs(2));
  EXPECT_THAT(runner.fake.log[0],
              ::testing::ContainsRegex("\"tensorrt\" sub-graphs run on the CPU with oneDNN [23]\\."
                                       "[0-9.]+, because no other plugin for them was chosen"));
  EXPECT_THAT(runner.fake.log[1], ::testing::HasSubstr("\"bnns_json\""));
}

// Where the core serves a key by its vendor's plugin, it reports this plugin.
TEST(DnnlPlugin, IsThePluginOfItsKeys) {
  for (const OperatorRow& row : operator_rows()) {
    const TypeKey* const key = find_type_key(row.key);
    ASSERT_NE(key, nullptr) << row.key;
    EXPECT_EQ(key->plugin, GANTRY_PLUGIN_ID);
    EXPECT_EQ(key->vendor.empty(), row.key == "dnnl_json") << row.key;
  }
}

Error error_on_device(std::string_view key, std::string_view name, gantry_device_id device) {
  const SubgraphCase& what = subgraph_case(key, name);
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  EXPECT_TRUE(runner.initialize(*module, what).ok());
  std::vector<CaseArray> arrays = what.inputs;
  arrays.insert(arrays.end(), what.outputs.begin(), what.outputs.end());
  std::vector<gantry_tensor> tensors;
  for (CaseArray& array : arrays) tensors.push_back(array.tensor());
  tensors.back().device = device;
  std::vector<gantry_value> args;
  for (gantry_tensor& tensor : tensors) args.push_back(tensor_ref_value(&tensor));

  const auto refused = runner.call(*module, "main_0", args);

  EXPECT_FALSE(refused.ok());
  return refused.ok() ? Error{} : refused.error();
}

TEST(DnnlPlugin, RefusesTensorsOnTheDeviceOfAnotherVendorsLibrary) {
  const gantry_device_id gpu{2, 0}, opencl{4, 1};

  const Error cublas = error_on_device("cublas_json", "matmul", gpu);
  EXPECT_EQ(cublas.code, Code::unsupported);
  EXPECT_EQ(cublas.reason, "ARGUMENT_DEVICE");
  EXPECT_EQ(cublas.message.text(),
            "argument 2 is float32[3, 5] on cuda:0, \"cublas_json\" sub-graphs run here with "
            "tensors on cpu; with others they run on CUDA GPUs with cuBLAS, by a plugin of NVIDIA");
  EXPECT_THAT(error_on_device("cudnn_json", "conv2d", gpu).message.text(),
              ::testing::HasSubstr("they run on CUDA GPUs with cuDNN, by a plugin of NVIDIA"));
  EXPECT_THAT(
      error_on_device("clml", "relu", opencl).message.text(),
      ::testing::HasSubstr(" on opencl:1, \"clml\" sub-graphs run here with tensors on cpu; "
                           "with others they run on Adreno GPUs with OpenCL ML, by a plugin "
                           "of Qualcomm"));
  // No other vendor has a plugin for oneDNN's: an argument of the caller is wrong.
  EXPECT_EQ(error_on_device("dnnl_json", "nn.relu", gpu).code, Code::invalid);
}

TEST(DnnlPlugin, RestoresTheNumberOfThreads) {
  omp_set_num_threads(3);
  SubgraphRunner runner;

  ASSERT_TRUE(runner.run(subgraph_case("dnnl_json", "dense")).ok());

  EXPECT_EQ(omp_get_max_threads(), 3);
  {
    const ThreadCount one(1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST(DnnlPlugin, TakesTheNumberOfThreadsFromItsOptionThenFromTheRuntimes) {
  gantry::test::FakeHost fake;
  fake.options["threads"] = std::int64_t{5};
  EXPECT_EQ(Plugin(Host(fake.table())).threads, 5);
  fake.options["dnnl_threads"] = std::int64_t{2};
  EXPECT_EQ(Plugin(Host(fake.table())).threads, 2);
  fake.options["dnnl_threads"] = std::int64_t{0};
  EXPECT_EQ(Plugin(Host(fake.table())).threads, 5);
}

TEST(DnnlPlan, RefusesMoreMemoryThanTheMachineHas) {
  const auto memory = new_aligned_bytes(std::size_t{1} << 60);

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::exhausted);
  EXPECT_EQ(memory.error().reason, "MEMORY");
  EXPECT_THAT(
      memory.error().message,
      ::testing::StartsWith("tensors need 1.0 EiB (1152921504606846976 bytes), the machine has "));
}

// Buffers 0 and 2 are not used at the same time, 1 overlaps both; 3 keeps its memory.
TEST(DnnlPlan, SharesTheMemoryOfBuffersThatDoNotOverlap) {
  Plan plan;
  const auto add = [&](BufferKind kind, std::size_t bytes, std::uint32_t first,
                       std::uint32_t last) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.bytes = bytes;
    buffer.first_step = first;
    buffer.last_step = last;
    plan.buffers.push_back(buffer);
  };
  add(BufferKind::temporary, 100, 0, 1);
  add(BufferKind::temporary, 64, 1, 3);
  add(BufferKind::temporary, 120, 2, 3);
  add(BufferKind::zeroed, 10, 0, 0);
  add(BufferKind::argument, 1000, 0, 0);

  ASSERT_TRUE(place_buffers(plan).ok());

  std::vector<std::size_t> offsets;
  for (const Buffer& buffer : plan.buffers) offsets.push_back(buffer.offset);
  EXPECT_THAT(offsets, ElementsAre(0, 128, 0, 192, 0));
  EXPECT_EQ(plan.arena_bytes, 256u);
}

TEST(DnnlPlan, RefusesBuffersWhoseSumExceedsEveryMemory) {
  for (const BufferKind kind : {BufferKind::temporary, BufferKind::zeroed}) {
    Plan plan;
    for (int i = 0; i < 3; ++i) {
      Buffer& buffer = plan.buffers.emplace_back();
      buffer.kind = kind;
      buffer.bytes = std::size_t{1} << 61;
    }

    const Status refused = place_buffers(plan);

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::exhausted);
    EXPECT_EQ(refused.error().reason, "MEMORY");
    EXPECT_THAT(refused.error().message, ::testing::StartsWith("tensors need 4.0 EiB "));
  }
}

Plan plan_of_a_view(const Desc& desc, std::size_t bytes, std::size_t offset = 0) {
  Plan plan;
  plan.buffers.emplace_back().bytes = bytes;
  plan.views.push_back({desc, 0, offset});
  return plan;
}

TEST(DnnlPlan, RefusesAViewThatEndsBehindItsBuffer) {
  using Memory = ::dnnl::memory;
  const Desc whole({2, 6}, Memory::data_type::f32, Dims{6, 1});
  const Desc part({2, 3}, Memory::data_type::f32, Dims{6, 1});
  const Desc blocked({1, 16, 2, 2}, Memory::data_type::f32, Memory::format_tag::nChw8c);

  EXPECT_TRUE(check_views(plan_of_a_view(whole, 48)).ok());
  EXPECT_TRUE(check_views(plan_of_a_view(part, 48, 12)).ok());
  EXPECT_TRUE(check_views(plan_of_a_view(blocked, 256)).ok());
  EXPECT_TRUE(check_views(plan_of_a_view(plain_desc({2, 0}, Memory::data_type::f32), 0)).ok());
  EXPECT_EQ(check_views(plan_of_a_view(blocked, 255)).error().code, Code::bug);
  const Status refused = check_views(plan_of_a_view(part, 47, 12));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::bug);
  EXPECT_EQ(refused.error().message,
            "view of shape [2, 3] ends at byte 48 of a buffer of 47 bytes");
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
