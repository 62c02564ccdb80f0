// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

using OpenclKernel = OpenclTest;

TEST_F(OpenclKernel, ComputesOnBuffers) {
  const auto module = load(both_kernels());
  void* const x = floats({1, 2, 3, 4});
  void* const y = floats({10, 20, 30, 40});

  const Status status = module->call("axpy", {pointer_value(x), pointer_value(y), float_value(2),
                                              int_value(3), int_value(2), int_value(2)});

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_THAT(floats_in(y, 4), ElementsAre(12, 24, 36, 40));
}

TEST_F(OpenclKernel, LaunchesWithTheExtentsOfItsTags) {
  const KernelRecord where{
      "where", {handle}, {"threadIdx.y", "blockIdx.z", "blockIdx.x", "threadIdx.x"}};
  const auto module =
      kernel(where,
             "__kernel void where(__global int* out) {\n"
             "  if (get_global_id(0) | get_global_id(1) | get_global_id(2)) return;\n"
             "  for (int i = 0; i < 3; ++i) {\n"
             "    out[i] = get_global_size(i); out[3 + i] = get_local_size(i);\n"
             "  }\n"
             "  out[6] = get_work_dim();\n"
             "}\n");
  std::vector<std::int32_t> out(7, -1);
  void* const data = memory(28);

  ASSERT_TRUE(module
                  ->call("where", {pointer_value(data), int_value(3), int_value(5), int_value(1),
                                   int_value(4)})
                  .ok());
  ASSERT_TRUE(copy(on_device(data), on_host(out.data()), 28).ok());

  EXPECT_THAT(out, ElementsAre(4, 3, 5, 4, 3, 1, 3));
}

TEST_F(OpenclKernel, DoesNotRunWithAnExtentOfZero) {
  const auto module =
      kernel({"count", {handle}}, "__kernel void count(__global float* out) { out[0] += 1; }\n");
  void* const out = floats({0});

  for (const std::int64_t blocks : {1, 0, 0, 1}) {
    const Status status =
        module->call("count", {pointer_value(out), int_value(blocks), int_value(1)});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  EXPECT_THAT(floats_in(out, 1), ElementsAre(2));
}

TEST_F(OpenclKernel, ReceivesScalarsInTheirDeclaredWidth) {
  const KernelRecord scalars{"scalars", {handle, int32, uint32, int64, float32, float64}};
  const auto module = kernel(
      scalars,
      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
      "__kernel void scalars(__global double* out, int a, uint b, long c, float d, double e) {\n"
      "  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e;\n"
      "}\n");
  std::vector<double> out(5);
  void* const data = memory(40);

  const Status status =
      module->call("scalars", {pointer_value(data), int_value(-5), int_value(4000000000),
                               int_value(-(1LL << 40)), float_value(0.1), float_value(0.1),
                               int_value(1), int_value(1)});
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_TRUE(copy(on_device(data), on_host(out.data()), 40).ok());

  EXPECT_THAT(out, ElementsAre(-5.0, 4e9, -1099511627776.0, double{0.1f}, 0.1));
}

TEST_F(OpenclKernel, ReceivesTheScalarsOfEachCall) {
  const auto module = load(both_kernels());
  void* const data = memory(16);

  for (const float value : {1.0f, 1.0f, 2.0f, -0.0f, 0.0f, 1.0f}) {
    const Status status =
        module->call("fill", {pointer_value(data), float_value(value), int_value(1), int_value(4)});

    ASSERT_TRUE(status.ok()) << status.error().message;
    const std::vector<float> values = floats_in(data, 4);
    EXPECT_THAT(values, Each(value));
    EXPECT_EQ(std::signbit(values[0]), std::signbit(value));
  }
}

// An argument that the kernel object already holds is not set again.
TEST_F(OpenclKernel, SetsOnlyChangedArguments) {
  const auto module = load(both_kernels());
  void* const x = memory(16);
  void* const y = memory(16);
  const auto fill_with = [&](void* data, double value, std::int64_t threads) {
    between.arguments_set = 0;
    const Status status = module->call(
        "fill", {pointer_value(data), float_value(value), int_value(1), int_value(threads)});
    EXPECT_TRUE(status.ok()) << status.error().message;
    return between.arguments_set;
  };

  EXPECT_EQ(fill_with(x, 1, 4), 2);
  EXPECT_EQ(fill_with(x, 1, 4), 0);
  EXPECT_EQ(fill_with(y, 1, 4), 1);
  EXPECT_EQ(fill_with(y, 2, 2), 1);
  EXPECT_THAT(floats_in(x, 4), Each(1.0f));
  EXPECT_THAT(floats_in(y, 4), ElementsAre(2, 2, 1, 1)) << "two threads";
}

TEST_F(OpenclKernel, SetsANewBufferAtAnOldAddress) {
  const auto module = load(both_kernels());
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 16;
  std::vector<void*> seen;
  bool again = false;
  for (float value = 1; value <= 20; ++value) {
    void* data = nullptr;
    ASSERT_EQ(table_.alloc(self_, 0, &what, &data, nullptr), GANTRY_OK);
    again = again || std::find(seen.begin(), seen.end(), data) != seen.end();
    seen.push_back(data);
    between.arguments_set = 0;

    const Status status =
        module->call("fill", {pointer_value(data), float_value(1), int_value(1), int_value(4)});

    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_GE(between.arguments_set, 1);
    EXPECT_THAT(floats_in(data, 4), Each(1.0f));
    table_.free(self_, 0, data);
  }
  if (!again) GTEST_SKIP() << "no address was reused";
}

// An argument that could not be set is set by the next call, which does not run with the older
// value.
TEST_F(OpenclKernel, SetsArgumentsAgainAfterARejectedCall) {
  const auto module = load(both_kernels());
  void* const data = memory(16);
  const std::vector<gantry_value> good = {pointer_value(data), float_value(3), int_value(1),
                                          int_value(4)};
  ASSERT_TRUE(module->call("fill", good).ok());
  between.arguments_set = 0;

  EXPECT_FALSE(
      module->call("fill", {pointer_value(data), pointer_value(data), int_value(1), int_value(4)})
          .ok());
  EXPECT_FALSE(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), float_value(4)})
          .ok());
  ASSERT_TRUE(module->call("fill", good).ok());

  EXPECT_EQ(between.arguments_set, 1) << "the float";
  EXPECT_THAT(floats_in(data, 4), Each(3.0f));
}

TEST_F(OpenclKernel, ReceivesASubBufferForATensorWithAnOffset) {
  const auto module = load(both_kernels());
  const std::uint64_t step = plugin().driver.device(0).value()->alignment_bytes;
  const std::size_t first = step / 4;
  void* const data = floats(std::vector<float>(first + 4, 7));
  gantry_tensor part{};
  part.data = data;
  part.device = {device_type, 0};
  part.byte_offset = step;

  const Status status =
      module->call("fill", {tensor_ref_value(&part), float_value(3), int_value(1), int_value(4)});

  ASSERT_TRUE(status.ok()) << status.error().message;
  const std::vector<float> values = floats_in(data, first + 4);
  EXPECT_THAT(std::span(values).first(first), Each(7.0f));
  EXPECT_THAT(std::span(values).last(4), Each(3.0f));
}

TEST_F(OpenclKernel, SharesTheProgramOfTextWithoutMarkers) {
  const auto module =
      load(payload_bytes("cl", {axpy, fill}, std::string(axpy_body) + std::string(fill_body)));
  void* const x = memory(16);
  void* const y = memory(16);

  for (const auto& [data, value] : {std::pair(x, 2.0), std::pair(y, 1.0)}) {
    ASSERT_TRUE(
        module->call("fill", {pointer_value(data), float_value(value), int_value(1), int_value(4)})
            .ok());
  }
  ASSERT_TRUE(module
                  ->call("axpy", {pointer_value(x), pointer_value(y), float_value(3), int_value(4),
                                  int_value(1), int_value(4)})
                  .ok());

  EXPECT_THAT(floats_in(y, 4), Each(7.0f));
  EXPECT_EQ(between.source_programs, 1);
}

TEST_F(OpenclKernel, IsBuiltOncePerDeviceByManyThreads) {
  const auto module = load(both_kernels());
  constexpr int rounds = 20;
  std::vector<std::thread> threads;
  std::vector<void*> data;
  for (int i = 0; i < 8; ++i) data.push_back(memory(64 * 4, i % std::min(device_count_, 2)));
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::int32_t device = i % std::min(device_count_, 2);
      for (int round = 0; round < rounds; ++round) {
        const Status status =
            module->call("fill",
                         {pointer_value(data[static_cast<std::size_t>(i)]),
                          float_value(100 * i + round), int_value(2), int_value(32)},
                         device);
        if (!status.ok()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(between.source_programs, std::min(device_count_, 2));
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(floats_in(data[static_cast<std::size_t>(i)], 64, i % std::min(device_count_, 2)),
                Each(static_cast<float>(100 * i + rounds - 1)));
  }
}

TEST_F(OpenclKernel, CompletesAfterItsModuleAndMemoryAreFreed) {
  auto module = load(both_kernels());
  void* const y = floats(std::vector<float>(1 << 20, 1));
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 4 << 20;
  void* x = nullptr;
  ASSERT_EQ(table_.alloc(self_, 0, &what, &x, nullptr), GANTRY_OK);
  const auto extents = {int_value((1 << 20) / 64), int_value(64)};
  std::vector<gantry_value> args = {pointer_value(x), float_value(2)};
  args.insert(args.end(), extents);
  ASSERT_TRUE(module->call("fill", args).ok());
  args = {pointer_value(x), pointer_value(y), float_value(1), int_value(1 << 20)};
  args.insert(args.end(), extents);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(module->call("axpy", args).ok());

  table_.free(self_, 0, x);
  module->destroy();

  const std::vector<float> values = floats_in(y, 1 << 20);
  EXPECT_EQ(std::count(values.begin(), values.end(), 41.0f), 1 << 20);
}

TEST_F(OpenclKernel, PassesSpirvToADeviceThatAcceptsIt) {
  between.il_version = "SPIR-V_1.2";
  between.il_source = fill_body;
  const auto module = load(spirv_bytes({fill}, {{"fill", {0x07230203, 0xabcdef01, 7}}}));
  void* const data = memory(16);

  const Status status =
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)});

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_THAT(between.il_words, ElementsAre(0x07230203, 0xabcdef01, 7));
  EXPECT_THAT(floats_in(data, 4), Each(3.0f));
}

TEST_F(OpenclKernel, RetainsItsPayload) {
  gantry_object* const pin = host_.new_pin();
  auto module = load(both_kernels(), pin);
  EXPECT_EQ(host_.references(pin), 2);

  module->destroy();

  EXPECT_EQ(host_.references(pin), 1);
  host_.release(pin);
}

TEST_F(OpenclKernel, IsListedAndLookedUp) {
  const auto module = load(both_kernels());
  std::vector<std::string> names;
  const gantry_visitor visitor{
      sizeof visitor, 0, &names,
      [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
        static_cast<std::vector<std::string>*>(self)->emplace_back(info->name.data,
                                                                   info->name.size);
        return GANTRY_OK;
      }};

  ASSERT_EQ(module->get().table->list_functions(module->get().self, &visitor, nullptr), GANTRY_OK);

  EXPECT_THAT(names, ElementsAre("axpy", "fill"));
  EXPECT_EQ(error_of(module->call("other", {})).code, Code::not_found);
  EXPECT_EQ(between.contexts, 0) << "look-up creates no context";
}

}  // namespace
}  // namespace gantry::opencl::test
