// SPDX-License-Identifier: Apache-2.0
//
// The plugin's code generator, with a fake NVRTC.
#include "tests/unit/cuda/fake_nvrtc.hpp"
#include "tests/unit/cuda/world.hpp"

#include <gantry/generator.h>
#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

namespace gantry::cuda::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CudaGenerator : public WithFakeDriver {
 protected:
  CudaGenerator() {
    nvrtc.reset();
    open(GANTRY_FAKE_NVRTC);
    what.struct_size = sizeof what;
    what.kind = gantry_text("cuda");
    what.argument_tags = GANTRY_ARGUMENT_TAGS_YES;
    what.diagnostic = [](void*, std::int32_t, gantry_bytes) {};
    what.self = &at_kernels;
    what.at_kernel = [](void* self, std::uint64_t kernel) {
      static_cast<std::vector<std::uint64_t>*>(self)->push_back(kernel);
    };
  }
  void open(const std::string& library) {
    world = std::make_unique<World>(World::fake_library(),
                                    std::map<std::string, std::string>{{"nvrtc", library}});
  }
  const gantry_generator* table() {
    return static_cast<const gantry_generator*>(
        World::plugin_table().get_extension(world->self(), GANTRY_GENERATOR_1));
  }
  Result<Bytes> build() {
    what.target = bytes_of(target);
    what.sources = sources.data();
    what.source_count = sources.size();
    what.kernels = kernels.data();
    what.kernel_count = kernels.size();
    Bytes written;
    const gantry_sink sink{
        sizeof sink, 0, &written, 0,
        [](void* self, const void* data, std::uint64_t size, gantry_status*) -> gantry_code {
          const auto* from = static_cast<const std::uint8_t*>(data);
          static_cast<Bytes*>(self)->insert(static_cast<Bytes*>(self)->end(), from, from + size);
          return GANTRY_OK;
        }};
    StatusBuffer status;
    const gantry_code code = table()->build(world->self(), &what, &sink, status.get());
    if (code != GANTRY_OK) return status.error(code, "build");
    return written;
  }
  Status check() {
    gantry_build target_only{};
    target_only.struct_size = sizeof target_only;
    target_only.kind = what.kind;
    target_only.target = bytes_of(target);
    StatusBuffer status;
    const gantry_code code = table()->check(world->self(), &target_only, status.get());
    return code == GANTRY_OK ? Status() : Status(status.error(code, "check"));
  }
  static gantry_source source(std::string_view name, std::string_view text,
                              std::string_view language = "cuda") {
    return {bytes_of(name), bytes_of(language), bytes_of(text)};
  }
  gantry_kernel_record kernel(std::string_view name, std::uint64_t of) const {
    return {bytes_of(name), of, nullptr, 0, nullptr, 0};
  }

  FakeNvrtc& nvrtc = fake_nvrtc();
  std::string target = R"({"kind":"cuda","arch":"sm_90a"})";
  std::vector<gantry_source> sources = {
      source("k.cu", "extern \"C\" __global__ void empty_kernel() {}")};
  std::vector<gantry_kernel_record> kernels = {kernel("empty_kernel", 0)};
  gantry_build what{};
  std::vector<std::uint64_t> at_kernels;
};

TEST_F(CudaGenerator, WritesAPayloadThatItsLoaderLoads) {
  nvrtc.ptx_version = "8.4";
  target = R"({"kind":"cuda","arch":"sm_75"})";

  const Result<Bytes> payload = build();

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  const gantry_module module = world->load(*payload).value();
  EXPECT_TRUE(world->call(world->function(module, "empty_kernel").value(), {}).ok());
  module.table->destroy(module.self);
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(CudaGenerator, PassesParametersAndTags) {
  const gantry_dtype arguments[] = {{3, 64, 1}, {0, 32, 1}};
  const gantry_bytes tags[] = {gantry_text("blockIdx.x"), gantry_text("threadIdx.x")};
  kernels[0].arguments = arguments;
  kernels[0].argument_count = 2;
  kernels[0].launch_tags = tags;
  kernels[0].launch_tag_count = 2;
  for (const bool with_tags : {false, true}) {
    what.argument_tags = with_tags ? GANTRY_ARGUMENT_TAGS_YES : GANTRY_ARGUMENT_TAGS_NO;

    const Result<Bytes> payload = build();

    ASSERT_TRUE(payload.ok()) << payload.error().message;
    Words words;
    words.str("ptx").u64(1).str("empty_kernel").str("");
    words.u64(2).u8(3).u8(64).u16(1).u8(0).u8(32).u16(1);
    words.u64(2).str("blockIdx.x").str("threadIdx.x");
    if (with_tags) words.u64(2).u32(0).u32(0);
    words.str(".version 8.4\n.target sm_90a\n.visible .entry empty_kernel() { ret; }\n");
    EXPECT_EQ(*payload, bytes_of_words(words));
  }
}

TEST_F(CudaGenerator, CompilesAllSourcesTogetherForTheTarget) {
  sources.push_back(source("b \"2\".cu", "extern \"C\" __global__ void b_kernel() {}"));
  kernels.push_back(kernel("b_kernel", 1));

  ASSERT_TRUE(build().ok());

  ASSERT_EQ(nvrtc.compilations.size(), 1u);
  EXPECT_EQ(nvrtc.compilations[0].source,
            "#line 1 \"k.cu\"\nextern \"C\" __global__ void empty_kernel() {}\n"
            "#line 1 \"b \\\"2\\\".cu\"\nextern \"C\" __global__ void b_kernel() {}\n");
  EXPECT_EQ(nvrtc.compilations[0].options[0], "--gpu-architecture=compute_90a");
}

TEST_F(CudaGenerator, CompilesForTuringWithoutAnArchitecture) {
  target = R"({"kind":"cuda"})";

  ASSERT_TRUE(build().ok());

  EXPECT_EQ(nvrtc.compilations[0].options[0], "--gpu-architecture=compute_75");
}

TEST_F(CudaGenerator, ReportsFileAndLine) {
  nvrtc.failing = {"nvrtcCompileProgram"};
  nvrtc.fail_result = 6;
  nvrtc.log = "k.cu(1): error: identifier \"y\" is undefined\n";

  const Result<Bytes> payload = build();

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::unsupported);
  EXPECT_EQ(payload.error().reason, "KERNEL_BUILD");
  EXPECT_THAT(payload.error().message.text(),
              HasSubstr("\n  k.cu(1): error: identifier \"y\" is undefined"));
}

TEST_F(CudaGenerator, ReportsThatNvrtcIsMissing) {
  open("/nowhere/libnvrtc.so");

  const Result<Bytes> payload = build();
  const Status checked = check();

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::unavailable);
  EXPECT_EQ(payload.error().reason, "CUDA_SOURCE");
  EXPECT_THAT(payload.error().message.text(), StartsWith("NVRTC, which compiles CUDA C++ source,"));
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::unavailable);
  EXPECT_EQ(checked.error().message, payload.error().message);
}

TEST_F(CudaGenerator, ChecksTheTargetWithoutACompilation) {
  EXPECT_TRUE(check().ok());
  target = R"({"arch":"gfx90a"})";

  const Status checked = check();

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::invalid);
  EXPECT_TRUE(nvrtc.compilations.empty());
}

TEST_F(CudaGenerator, NamesTheKernelThatIsMissing) {
  kernels.push_back(kernel("b_kernel", 0));

  ASSERT_FALSE(build().ok());

  EXPECT_EQ(at_kernels, std::vector<std::uint64_t>{1});
}

TEST_F(CudaGenerator, RefusesWhatItCannotBuild) {
  struct Wrong {
    std::string target;
    gantry_source source;
    std::string kernel, message;
  };
  const std::string text = "extern \"C\" __global__ void a() {}";
  for (const Wrong& wrong : {
           Wrong{R"({"arch":"sm_9"})", source("a.cu", text), "a",
                 "arch of the target is \"sm_9\", expected sm_75, sm_90a or the like"},
           Wrong{R"({"arch":"gfx90a"})", source("a.cu", text), "a",
                 "arch of the target is \"gfx90a\", expected sm_75, sm_90a or the like"},
           Wrong{R"({"arch":"sm_90 -G"})", source("a.cu", text), "a",
                 "arch of the target is \"sm_90 -G\", expected sm_75, sm_90a or the like"},
           Wrong{"{}", source("a.cl", text, "opencl"), "a",
                 "source \"a.cl\" is \"opencl\", gantry.cuda compiles cuda"},
           Wrong{"{}", source("a.cu", std::string_view("a\0b", 3)), "a",
                 "source \"a.cu\" contains a NUL, expected text"},
           Wrong{"{}", source("a.cu", text), "b",
                 "source \"a.cu\" has no kernel \"b\", expected: extern \"C\" __global__ void "
                 "b(...)"},
       }) {
    target = wrong.target;
    sources = {wrong.source};
    kernels = {kernel(wrong.kernel, 0)};

    const Result<Bytes> payload = build();

    ASSERT_FALSE(payload.ok()) << wrong.message;
    EXPECT_EQ(payload.error().message, wrong.message);
  }
  kernels = {kernel("b", 0), kernel("b", 0)};
  EXPECT_EQ(build().error().message, "kernel \"b\" is listed twice, expected once");
  sources.clear();
  kernels.clear();
  EXPECT_EQ(build().error().message, "there is no source, expected one at least");
}

TEST_F(CudaGenerator, IsFoundByItsNameOnly) {
  EXPECT_NE(table(), nullptr);
  for (const char* name : {"gantry.generator/2", "gantry.generator/", "gantry.globals/2", ""}) {
    EXPECT_EQ(World::plugin_table().get_extension(world->self(), name), nullptr) << name;
  }
}

}  // namespace
}  // namespace gantry::cuda::test
