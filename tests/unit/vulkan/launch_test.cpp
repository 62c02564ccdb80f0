// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/between.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <thread>

namespace gantry::vulkan::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view axpy2 = "axpy2_kernel0";

// The kernel axpy2 of v0.12 as a KernelSpec, which tests can change.
KernelSpec axpy2_kernel() {
  static const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const Payload payload =
      gantry::test::read_whole(gantry::test::payload_blob(bytes, 3, false), read_payload).value();
  const KernelInfo& info = payload.table.kernels()[0];
  KernelSpec spec{info.name, info.parameters, {"blockIdx.x", "threadIdx.x"}, {}};
  spec.words.resize(payload.shaders[0].words.size() / 4);
  std::memcpy(spec.words.data(), payload.shaders[0].words.data(), 4 * spec.words.size());
  return spec;
}

// Calls change(opcode, operands) for every instruction.
void each_instruction(std::vector<std::uint32_t>& words, auto&& change) {
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16)
    change(words[at] & 0xffff, &words[at + 1]);
}

// The form up to v0.7: scalars 4 bytes apart.
KernelSpec with_narrow_scalars(KernelSpec spec) {
  each_instruction(spec.words, [](std::uint32_t opcode, std::uint32_t* operands) {
    if (opcode == 72 && operands[2] == 35) operands[3] /= 2;
  });
  return spec;
}

// The form for scalars that do not fit into push constants: a uniform buffer after the last storage
// buffer.
KernelSpec with_uniform_buffer(KernelSpec spec) {
  std::uint32_t variable = 0;
  each_instruction(spec.words, [&](std::uint32_t opcode, std::uint32_t* operands) {
    if (opcode == 32 && operands[1] == 9) operands[1] = 2;
    if (opcode == 59 && operands[2] == 9) {
      operands[2] = 2;
      variable = operands[1];
    }
  });
  std::size_t at = 5;
  while ((spec.words[at] & 0xffff) < 19 || (spec.words[at] & 0xffff) > 33)
    at += spec.words[at] >> 16;
  const std::uint32_t decorations[] = {4 << 16 | 71, variable, 34, 0,
                                       4 << 16 | 71, variable, 33, 3};
  spec.words.insert(spec.words.begin() + static_cast<std::ptrdiff_t>(at), std::begin(decorations),
                    std::end(decorations));
  spec.flags = 1;
  return spec;
}

class Launches : public World {
 protected:
  // Runs axpy2 over n elements and compares every result.
  void expect_axpy2(Module& module, std::int64_t n) {
    std::vector<float> a(static_cast<std::size_t>(n));
    std::vector<float> b(a.size());
    std::iota(a.begin(), a.end(), 1.0f);
    std::iota(b.begin(), b.end(), -5.0f);
    void* const on_a = holding(a);
    void* const on_b = holding(b);
    void* const on_c = alloc(a.size() * sizeof(float)).value();
    const Status called = call(module, axpy2, axpy2_args(on_c, on_a, on_b, n));
    ASSERT_TRUE(called.ok()) << called.error().message;
    const std::vector<float> c = read<float>(on_c, a.size());
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], a[i] + 2 * b[i]) << i;
    for (void* const data : {on_a, on_b, on_c}) free(data);
  }
};

// Dispatches on the track of their device.
class TracedDispatches : public Launches {
 protected:
  void SetUp() override {
    host.tracing = true;
    start({});
    if (!IsSkipped()) module = load(golden, 3).value();
  }
  void TearDown() override {
    module.reset();
    Launches::TearDown();
  }
  Status prepare() {
    const gantry_env env{};
    const gantry_device_id id{vulkan_type, 0};
    return module->prepare(env, std::span(&id, 1));
  }
  Status launch(void* data) { return call(*module, axpy2, axpy2_args(data, data, data, 4)); }

  const std::vector<std::uint8_t> golden = golden_payload("tvm-0.12/axpy2_vulkan.so");
  std::unique_ptr<Module> module;
};

TEST_F(TracedDispatches, AreRecordedBeforeSynchronizeReturns) {
  if (device().gpu().timestamp_bits == 0) GTEST_SKIP() << "the device has no clock";
  void* const data = holding<float>({1, 2, 3, 4});
  const std::int64_t before = std::chrono::steady_clock::now().time_since_epoch().count();

  ASSERT_TRUE(launch(data).ok());
  ASSERT_TRUE(launch(data).ok());
  EXPECT_TRUE(host.track_spans.empty());
  ASSERT_TRUE(synchronize().ok());

  const std::int64_t after = std::chrono::steady_clock::now().time_since_epoch().count();
  ASSERT_EQ(host.track_spans.size(), 2u);
  for (const auto& span : host.track_spans) {
    EXPECT_EQ(span.track, "vulkan:0/default queue");
    EXPECT_EQ(span.name, axpy2);
    EXPECT_EQ(span.category, "kernel");
    EXPECT_LE(before, span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, after);
  }
  EXPECT_LE(host.track_spans[0].begin, host.track_spans[1].begin);
  ASSERT_TRUE(synchronize().ok());
  EXPECT_EQ(host.track_spans.size(), 2u);
  free(data);
}

TEST_F(TracedDispatches, AreRecordedByACopyThatWaits) {
  if (device().gpu().timestamp_bits == 0) GTEST_SKIP() << "the device has no clock";
  void* const data = holding<float>({1, 2, 3, 4});
  ASSERT_TRUE(launch(data).ok());

  (void)read<float>(data, 4);

  EXPECT_EQ(host.track_spans.size(), 1u);
  free(data);
}

TEST_F(TracedDispatches, AreNotMeasuredWhileNothingIsRecorded) {
  void* const data = holding<float>({1, 2, 3, 4});
  host.recording = false;
  ASSERT_TRUE(launch(data).ok());
  host.recording = true;

  ASSERT_TRUE(synchronize().ok());

  EXPECT_TRUE(host.track_spans.empty());
  free(data);
}

TEST_F(TracedDispatches, CompileNothingAfterAPreparation) {
  ASSERT_TRUE(prepare().ok());
  const std::size_t compiled = host.works.size();
  EXPECT_EQ(compiled, 1u);

  void* const data = holding<float>({1, 2, 3, 4});
  ASSERT_TRUE(launch(data).ok());

  EXPECT_EQ(host.works.size(), compiled);
  free(data);
}

struct Way {
  std::string name;
  KernelSpec (*change)(KernelSpec);
  Options options;
  Form form;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class EveryWay : public Launches, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override { start(GetParam().options); }
};

TEST_P(EveryWay, ComputesTheSameResults) {
  const KernelSpec kernel = GetParam().change(axpy2_kernel());
  const std::vector<std::uint8_t> bytes = payload_bytes({kernel}, GetParam().form);
  const auto module = load(bytes, GetParam().form == Form::bare ? 3 : 5);
  ASSERT_TRUE(module.ok()) << module.error().message;

  for (const std::int64_t n : {1, 63, 64, 65, 10'000}) expect_axpy2(**module, n);
}

KernelSpec unchanged(KernelSpec spec) { return spec; }

INSTANTIATE_TEST_SUITE_P(
    Axpy2, EveryWay,
    ::testing::Values(Way{"AsExported", unchanged, {}, Form::bare},
                      Way{"Sized", unchanged, {}, Form::sized},
                      Way{"NarrowScalars", with_narrow_scalars, {}, Form::bare},
                      Way{"UniformBuffer", with_uniform_buffer, {}, Form::sized},
                      Way{"Sets", unchanged, {.descriptors = DescriptorChoice::sets}, Form::bare},
                      Way{"UniformBufferInSets",
                          with_uniform_buffer,
                          {.descriptors = DescriptorChoice::sets},
                          Form::sized},
                      Way{"Staged", unchanged, {.memory = MemoryChoice::staged}, Form::bare}),
    [](const auto& test) { return test.param.name; });

// Long enough to submit several batches and to reuse descriptor pools, uniform and command buffers,
// which are in use until a late device has run them.
class LongChains : public Launches, public ::testing::WithParamInterface<DescriptorChoice> {
 protected:
  void SetUp() override {
    start({.descriptors = GetParam()});
    between.is_late = true;
  }
};

TEST_P(LongChains, RunInOrder) {
  const std::vector<std::uint8_t> bytes =
      payload_bytes({with_uniform_buffer(axpy2_kernel())}, Form::sized);
  const auto module = load(bytes, 5).value();
  const std::vector<float> one(64, 1.0f);
  void* const sum = holding(std::vector<float>(64, 0.0f));
  void* const step = holding(one);

  // Each launch adds to the result of the previous one: sum = sum + 2 * step.
  for (int i = 0; i < 3000; ++i) {
    const Status called = call(*module, axpy2, axpy2_args(sum, sum, step, 64));
    ASSERT_TRUE(called.ok()) << called.error().message;
  }

  EXPECT_EQ(read<float>(sum, 64), std::vector<float>(64, 6000.0f));
  free(sum);
  free(step);
}

INSTANTIATE_TEST_SUITE_P(All, LongChains,
                         ::testing::Values(DescriptorChoice::automatic, DescriptorChoice::sets),
                         [](const auto& test) {
                           return test.param == DescriptorChoice::sets ? "Sets" : "AsTheDeviceHas";
                         });

TEST_F(Launches, CompleteAfterTheirModuleAndMemoryAreFreed) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const std::vector<float> values(1 << 16, 1.0f);
  void* const c = alloc(values.size() * sizeof(float)).value();
  auto module = load(bytes, 3).value();
  void* const a = holding(values);
  void* const b = holding(values);

  for (int i = 0; i < 20; ++i) ASSERT_TRUE(call(*module, axpy2, axpy2_args(c, a, b, 1 << 16)).ok());
  // Nothing has been submitted yet.
  module.reset();
  free(a);
  free(b);

  EXPECT_EQ(read<float>(c, values.size()), std::vector<float>(values.size(), 3.0f));
  free(c);
}

TEST_F(Launches, AreLeftOutWithAnExtentOfZero) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const auto module = load(bytes, 3).value();
  void* const sum = holding(std::vector<float>(64, 0.0f));
  void* const step = holding(std::vector<float>(64, 1.0f));
  std::vector<gantry_value> none = axpy2_args(sum, sum, step, 64);
  none.at(none.size() - 2) = int_value(0);

  ASSERT_TRUE(call(*module, axpy2, none).ok());
  EXPECT_EQ(read<float>(sum, 64), std::vector<float>(64, 0.0f));
  ASSERT_TRUE(call(*module, axpy2, axpy2_args(sum, sum, step, 64)).ok());
  EXPECT_EQ(read<float>(sum, 64), std::vector<float>(64, 2.0f));

  free(sum);
  free(step);
}

TEST_F(Launches, FromManyThreadsCompileOnce) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const auto module = load(bytes, 3).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) expect_axpy2(*module, 100 + t * 64 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_NE(module->find(axpy2).value()->pipelines[0].load(), nullptr);
}

TEST_F(Launches, AcceptPartsOfMemory) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const auto module = load(bytes, 3).value();
  const std::uint64_t step =
      std::max<std::uint64_t>(device().gpu().properties.limits.minStorageBufferOffsetAlignment, 4);
  std::vector<float> values(step / 4 + 64, 1.0f);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(step / 4), values.end(), 10.0f);
  void* const data = holding(values);
  void* const c = alloc(64 * sizeof(float)).value();
  std::int64_t shape = 64;
  gantry_tensor part{data, {7, 0}, 1, {2, 32, 1}, &shape, nullptr, step};
  auto args = axpy2_args(c, data, data, 64);
  args[1] = args[2] = tensor_ref_value(&part);

  ASSERT_TRUE(call(*module, axpy2, args).ok());
  EXPECT_EQ(read<float>(c, 64), std::vector<float>(64, 30.0f));

  part.byte_offset = step + 1;
  const Status askew = call(*module, axpy2, args);
  ASSERT_FALSE(askew.ok());
  EXPECT_EQ(askew.error().code, Code::unsupported);
  EXPECT_EQ(askew.error().reason, "BUFFER_OFFSET");
  EXPECT_THAT(askew.error().message,
              HasSubstr(concat("argument 1 begins ", step + 1, " bytes into its memory")));
  free(data);
  free(c);
}

TEST_F(Launches, RejectWrongArguments) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  const auto module = load(bytes, 3).value();
  void* const data = alloc(64 * sizeof(float)).value();
  const auto good = axpy2_args(data, data, data, 64);
  const auto with = [&](std::size_t i, gantry_value value) {
    auto args = good;
    args[i] = value;
    return args;
  };
  const auto expect = [&](const std::vector<gantry_value>& args, std::string_view reason,
                          std::string_view message) {
    const Status called = call(*module, axpy2, args);
    ASSERT_FALSE(called.ok()) << message;
    EXPECT_EQ(called.error().code, Code::invalid);
    EXPECT_EQ(called.error().reason, reason);
    EXPECT_EQ(called.error().message, message);
  };

  expect({}, "ARGUMENT_COUNT",
         "kernel \"axpy2_kernel0\" is called with 0 arguments, expected 9: 7 parameters and 2 "
         "launch extents");
  expect(with(8, int_value(32)), "LAUNCH_EXTENT",
         "kernel \"axpy2_kernel0\" is launched with 32 threads along x, its shader has 64");
  expect(with(1, pointer_value(nullptr)), "DEVICE_DATA",
         "0x0 is not memory of device vulkan:0: pass the handle from alloc unchanged, and offsets "
         "in byte_offset\n  in argument 1 of kernel \"axpy2_kernel0\"");
  expect(with(3, float_value(1)), "ARGUMENT_KIND",
         "kernel \"axpy2_kernel0\": argument 3 is a float, expected an integer");
  const std::uint32_t max = device().gpu().properties.limits.maxComputeWorkGroupCount[0];
  expect(with(7, int_value(std::int64_t{max} + 1)), "LAUNCH_EXTENT",
         concat("kernel \"axpy2_kernel0\" is launched with ", std::int64_t{max} + 1,
                " blocks along x, the device runs ", max));
  EXPECT_TRUE(call(*module, axpy2, good).ok());
  free(data);
}

struct Unfit {
  std::string name;
  void (*change)(KernelSpec&);
  std::string reason;
  std::string message;
};
void PrintTo(const Unfit& unfit, std::ostream* out) { *out << unfit.name; }

class UnfitKernels : public Launches, public ::testing::WithParamInterface<Unfit> {};

TEST_P(UnfitKernels, AreRejectedWithoutADriverCall) {
  KernelSpec kernel = axpy2_kernel();
  GetParam().change(kernel);
  const std::vector<std::uint8_t> bytes = payload_bytes({kernel}, Form::bare);
  const auto module = load(bytes, 3).value();
  void* const data = alloc(64 * sizeof(float)).value();
  auto args = axpy2_args(data, data, data, 64);
  args[8] = int_value((*module).find(axpy2).value()->kernel->shader.local_size[0]);

  const Status called = call(*module, axpy2, args);

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::unsupported);
  EXPECT_EQ(called.error().reason, GetParam().reason);
  EXPECT_THAT(called.error().message,
              HasSubstr("kernel \"axpy2_kernel0\" requires " + GetParam().message));
  free(data);
}

INSTANTIATE_TEST_SUITE_P(
    All, UnfitKernels,
    ::testing::Values(Unfit{"Capability", [](KernelSpec& k) { k.words[6] = 5297; },
                            "SHADER_CAPABILITY", "SPIR-V capability 5297, which is missing"},
                      Unfit{"Version", [](KernelSpec& k) { k.words[1] = 0x00010900; },
                            "SHADER_VERSION", "SPIR-V 1.9, newest is 1."},
                      Unfit{"Threads",
                            [](KernelSpec& k) {
                              each_instruction(k.words, [](std::uint32_t op, std::uint32_t* o) {
                                if (op == 16) o[2] = 1 << 20;
                              });
                            },
                            "SHADER_LIMIT", "1048576 threads along x, maximum is "}),
    [](const auto& test) { return test.param.name; });

TEST_F(Launches, SucceedBesideAnUnsupportedKernel) {
  KernelSpec other = axpy2_kernel();
  other.name = "other";
  other.tags.push_back("tirx.use_cooperative_launch");
  const std::vector<std::uint8_t> bytes = payload_bytes({other, axpy2_kernel()}, Form::bare);
  auto module = load(bytes, 3);
  ASSERT_TRUE(module.ok()) << module.error().message;

  EXPECT_EQ((*module)->find("other").error().code, Code::unsupported);
  expect_axpy2(**module, 100);
}

TEST_F(Launches, LeakNoAllocations) {
  const std::vector<std::uint8_t> bytes = golden_payload("tvm-0.12/axpy2_vulkan.so");
  for (int i = 0; i < 100; ++i) expect_axpy2(*load(bytes, 3).value(), 1000);

  EXPECT_EQ(device().allocated_bytes(), 0);
}

}  // namespace
}  // namespace gantry::vulkan::test
