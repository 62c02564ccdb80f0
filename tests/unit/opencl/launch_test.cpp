// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class OpenclKernel : public OpenclTest {
 protected:
  // One kernel, alone in its module.
  std::unique_ptr<Loaded> kernel(const KernelRecord& record, std::string_view body) {
    return load(payload_bytes("cl", {record}, marked(record.name, body)));
  }
  static Error error_of(const Status& status) {
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error() : status.error();
  }
};

TEST_F(OpenclKernel, ComputesOnBuffers) {
  const auto module = load(both_kernels());
  void* const x = floats({1, 2, 3, 4});
  void* const y = floats({10, 20, 30, 40});

  const Status status = module->call("axpy", {pointer_value(x), pointer_value(y), float_value(2),
                                              int_value(3), int_value(2), int_value(2)});

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_THAT(floats_in(y, 4), ElementsAre(12, 24, 36, 40));
}

TEST_F(OpenclKernel, IsLaunchedAsItsTagsSay) {
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
                  ->call("where", {pointer_value(data), int_value(3), int_value(5), int_value(0),
                                   int_value(4)})
                  .ok());
  ASSERT_TRUE(copy(on_device(data), on_host(out.data()), 28).ok());

  EXPECT_THAT(out, ElementsAre(4, 3, 5, 4, 3, 1, 3)) << "extent 0 is 1";
}

TEST_F(OpenclKernel, GetsScalarsOfTheirTrueWidth) {
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

TEST_F(OpenclKernel, GetsTheScalarsOfEachCall) {
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

TEST_F(OpenclKernel, GetsAPartOfABufferForATensorWithAnOffset) {
  const auto module = load(both_kernels());
  const std::uint64_t step = plugin_of(self_).driver.device(0).value()->alignment_bytes;
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

TEST_F(OpenclKernel, RefusesAnOffsetThatTheDriverCannotBeginAt) {
  const auto module = load(both_kernels());
  const std::uint64_t step = plugin_of(self_).driver.device(0).value()->alignment_bytes;
  if (step == 1) GTEST_SKIP() << "this driver begins parts anywhere";
  gantry_tensor part{};
  part.data = memory(4096);
  part.device = {device_type, 0};
  part.byte_offset = 1;

  const Error error = error_of(
      module->call("fill", {tensor_ref_value(&part), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "BUFFER_OFFSET");
  EXPECT_THAT(error.message,
              MatchesRegex("kernel \"fill\": argument 0 begins at byte 1 of its buffer; on "
                           "opencl:0 \\(.*\\) a part begins at a multiple of " +
                           std::to_string(step) + ": copy it into a tensor of its own"));
  part.byte_offset = 4096;
  EXPECT_EQ(error_of(module->call("fill", {tensor_ref_value(&part), float_value(3), int_value(1),
                                           int_value(4)}))
                .message,
            "kernel \"fill\": argument 0 begins at byte 4096, buffer has 4096");
}

TEST_F(OpenclKernel, RefusesWhatIsNoBuffer) {
  const auto module = load(both_kernels());
  std::uint64_t words[8] = {};

  const Error error = error_of(
      module->call("fill", {pointer_value(words), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "DEVICE_DATA");
  EXPECT_THAT(error.message, HasSubstr(" is no buffer of an opencl device\n  in argument 0 of "
                                       "kernel \"fill\""));
}

TEST_F(OpenclKernel, RefusesAnotherNumberOfArguments) {
  const auto module = load(both_kernels());

  const Error error = error_of(module->call("fill", {int_value(1)}));

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.message,
            "kernel \"fill\" gets 1 arguments, takes 4: 2 parameters and 2 launch extents");
}

TEST_F(OpenclKernel, RefusesLargerWorkGroupsThanTheDeviceHas) {
  const auto module = load(both_kernels());
  const std::int64_t most = attribute(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  void* const data = memory(64);

  const Error error = error_of(module->call(
      "fill", {pointer_value(data), float_value(3), int_value(1), int_value(2 * most)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "LAUNCH_EXTENT");
  EXPECT_THAT(error.message, HasSubstr(concat("wants work-groups of ", 2 * most, " x 1 x 1, ")));
  EXPECT_THAT(error.message, HasSubstr(concat("has at most ", most, " work-items in one")));
}

TEST_F(OpenclKernel, ShowsTheCompilersLogWhereItDoesNotBuild) {
  const auto module = kernel(fill,
                             "__kernel void fill(__global float* out, float value) {\n"
                             "  out[0] = value + no_such_name;\n"
                             "}\n");
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "KERNEL_BUILD");
  EXPECT_EQ(error.native_domain, "OPENCL");
  EXPECT_THAT(error.message, HasSubstr("kernel \"fill\" does not build on opencl:0 ("));
  EXPECT_THAT(error.message, HasSubstr("CL_BUILD_PROGRAM_FAILURE\n  "));
  EXPECT_THAT(error.message, HasSubstr("no_such_name"));
  ASSERT_EQ(host_.log.size(), 1u) << "the log has it whole";
  EXPECT_THAT(host_.log[0], HasSubstr("no_such_name"));
}

TEST_F(OpenclKernel, SaysThatItsCodeHasItNot) {
  const auto module = load(payload_bytes("cl", {axpy, fill}, axpy_body));
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "KERNEL_CODE");
  EXPECT_EQ(error.message, "kernel \"fill\" is in the payload's list and not in its code");
}

TEST_F(OpenclKernel, ComparesItsParametersWithTheList) {
  KernelRecord more = fill;
  more.parameters.push_back(int32);
  const auto module = kernel(more, fill_body);
  void* const data = memory(64);

  const Error error = error_of(module->call(
      "fill", {pointer_value(data), float_value(3), int_value(1), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message, "kernel \"fill\" takes 2 arguments, the payload's list says 3");
}

TEST_F(OpenclKernel, ComparesTheSizesOfItsParametersToo) {
  KernelRecord wide = fill;
  wide.parameters[1] = float64;
  const auto module = kernel(wide, fill_body);
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message,
            "kernel \"fill\": parameter 1 has another size in the code than in the payload's list");
}

TEST_F(OpenclKernel, SharesTheProgramOfOldText) {
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

TEST_F(OpenclKernel, IsBuiltOnceForEachDeviceByAllThreadsTogether) {
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

TEST_F(OpenclKernel, OutlivesItsModuleAndItsMemoryInFlight) {
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

TEST_F(OpenclKernel, SaysThatADeviceTakesNoSpirv) {
  const auto module = load(spirv_bytes({fill}, {{"fill", {0x07230203, 1}}}));
  if (!device_text(plugin_of(self_).driver.device(0).value()->id, CL_DEVICE_IL_VERSION).empty())
    GTEST_SKIP() << "this device takes SPIR-V";
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "SPIRV");
  EXPECT_THAT(error.message, MatchesRegex("kernel \"fill\" is SPIR-V, which opencl:0 \\(.*\\), "
                                          "OpenCL .*, does not take: export it as OpenCL C"));
}

TEST_F(OpenclKernel, HandsSpirvToADeviceThatTakesIt) {
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

TEST_F(OpenclKernel, RefusesABinaryThatIsNone) {
  const auto module = load(payload_bytes("clbin", {fill}, "no binary at all"));
  void* const data = memory(64);

  const Error error = error_of(
      module->call("fill", {pointer_value(data), float_value(3), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "BLOB_ARCH");
  EXPECT_THAT(error.message,
              HasSubstr("kernel \"fill\" is a binary for another device than opencl:0 ("));
}

TEST_F(OpenclKernel, KeepsThePayloadThatItIsReadFrom) {
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
  EXPECT_EQ(between.contexts, 0) << "looking asks no device";
}

}  // namespace
}  // namespace gantry::opencl::test
