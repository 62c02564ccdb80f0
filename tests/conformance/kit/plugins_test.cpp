// SPDX-License-Identifier: Apache-2.0
//
// gantry-conformance over the plugins of this build, and over a plugin without defects.
#include "kit_run.hpp"

#include "tests/support/built_plugins.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

// Not every container permits case 47 to hide /dev; no level is reached then.
MATCHER_P(HasLevel, level, "") {
  return arg.find(std::string("level: ") + level + "\n") != std::string::npos ||
         arg.find("works-without-devices: this system does not permit") != std::string::npos;
}

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* kAxpyCall = R"(
    calls:
      - function: axpy2_kernel0
        arguments:
          - {buffer: {dtype: float32, shape: [4], values: [0, 0, 0, 0], after: [21, 42, 63, 84]}}
          - {buffer: {dtype: float32, shape: [4], values: [1, 2, 3, 4]}}
          - {buffer: {dtype: float32, shape: [4], values: [10, 20, 30, 40]}}
          - {int: 4}
          - {int: 1}
          - {int: 1}
          - {int: 1}
          - {int: 1}
          - {int: 64}
)";

// Without a driver they are not run.
constexpr const char* kOpenclBuilds = R"(
builds:
  - target: opencl
    source: "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2; }"
    broken: "__kernel void once(__global float* x) { x[0] = 1; }"
    kernels: [{name: twice, arguments: [handle], launch: [blockIdx.x]}]
    refused_targets: [opencl -format=spirv]
  - target: opencl -format=clbin
    source: "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2; }"
    broken: "__kernel void twice(__global float* x) { x[get_global_id(0)] *= two; }"
    kernels: [{name: twice, arguments: [handle], launch: [blockIdx.x]}]
    refused_targets: [opencl -format=clbin -binary_device=99]
    calls:
      - function: twice
        arguments:
          - {buffer: {dtype: float32, shape: [2], values: [1, 2], after: [2, 4]}}
          - {int: 2}
)";

struct OwnPlugin {
  const char* name;
  const char* key;
  // a golden file, or one of the build tree
  const char* artifact;
  const char* calls = "";
  const char* builds = "";
};

constexpr OwnPlugin kPlugins[] = {
    {"graph", "GraphExecutorFactory", "tests/conformance/abacus.so"},
    {"relax", "relax.VMExecutable", "relax/cnn_llvm.so"},
    {"opencl", "opencl", "tvm-0.12/axpy2_opencl.so", kAxpyCall, kOpenclBuilds},
    {"vulkan", "vulkan", "tvm-0.12/axpy2_vulkan.so", kAxpyCall},
    {"cuda", "cuda", "tvm-0.12/axpy2_cuda_ptx75.so"},
};

// Runs all cases but the soak. Two hundred mutations; the default is for vendors.
KitRun run_over(const std::string& manifest, const std::string& payloads,
                std::string_view beside = "graph") {
  return run_kit({manifest, "--payloads", payloads, "--seed", "7", "--mutations", "200", "--soak",
                  "0.1", "--beside", built_manifest(beside)});
}

class OwnPluginConforms : public ::testing::TestWithParam<OwnPlugin> {};

TEST_P(OwnPluginConforms, ToEveryCase) {
  const OwnPlugin& own = GetParam();
#ifdef __SANITIZE_ADDRESS__
  // Drivers are opened hundreds of times, which takes minutes.
  if (*own.calls != 0) GTEST_SKIP() << "plugins with drivers run without sanitizers";
#endif
  const std::filesystem::path manifest = built_manifest(own.name);
  if (!std::filesystem::exists(manifest)) GTEST_SKIP() << own.name << " is not built";
  const std::string_view artifact = own.artifact;
  const std::filesystem::path file =
      artifact.starts_with("tests/") ? build_tree() / artifact : golden(artifact);
  const TempDir temp;
  write_file(temp / "payloads.yaml",
             "schema: \"1.0\"\npayloads:\n  - key: " + std::string(own.key) +
                 "\n    artifact: " + file.string() + own.calls + "\n" + own.builds);

  const KitRun run = run_over(manifest.string(), temp / "payloads.yaml",
                              std::string_view(own.name) == "graph" ? "relax" : "graph");

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_EQ(run.status, 0) << run.output;
  // Other warnings depend on the drivers of this host.
  EXPECT_THAT(run.cases("WARNING"), Not(Contains(91))) << run.output;
}

INSTANTIATE_TEST_SUITE_P(Kit, OwnPluginConforms, ::testing::ValuesIn(kPlugins),
                         [](const auto& test) { return std::string(test.param.name); });

// A sub-graph of one operator. The golden ones have constants, which a call cannot pass.
TEST(KitOver, ThePluginOfOneDnnConforms) {
  const std::filesystem::path manifest = built_manifest("dnnl");
  if (!std::filesystem::exists(manifest)) GTEST_SKIP() << "dnnl is not built";
  const TempDir temp;
  Words payload;
  payload.str("relu")
      .str(R"({"nodes": [
        {"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[4]]]}},
        {"op": "kernel", "name": "nn.relu", "inputs": [[0, 0, 0]],
         "attrs": {"dtype": [["float32"]], "shape": [[[4]]]}}],
        "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]})")
      .u64(0);
  write_file(temp / "relu.bin", payload.bytes());
  write_file(temp / "payloads.yaml", R"(schema: "1.0"
payloads:
  - key: dnnl_json
    file: relu.bin
    calls:
      - function: relu
        arguments:
          - {tensor: {dtype: float32, shape: [4], values: [-1, 2, -3, 4]}}
          - {tensor: {dtype: float32, shape: [4], values: [9, 9, 9, 9], after: [0, 2, 0, 4]}}
)");

  const KitRun run = run_over(manifest.string(), temp / "payloads.yaml");

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_EQ(run.status, 0) << run.output;
}

// An example of the SDK as this build has made it, with its golden payloads.
class KitOverExample : public ::testing::Test {
 protected:
  // directory  [in]  in sdk/
  KitOverExample(const std::string& directory, const std::string& plugin)
      : manifest(build_tree() / "tests/conformance/plugins.d" / plugin / (plugin + ".yaml")),
        payloads(payloads_of_example(temp_.path(), directory, plugin)) {}

 private:
  const TempDir temp_;

 protected:
  const std::string manifest, payloads;
};
struct KitOverDevice : KitOverExample {
  KitOverDevice() : KitOverExample("example", "abacus") {}
};
struct KitOverExecutor : KitOverExample {
  KitOverExecutor() : KitOverExample("example_executor", "ensemble") {}
};

TEST_F(KitOverDevice, ReachesSilver) {
  const KitRun run = run_over(manifest, payloads);

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_THAT(run.cases("WARNING"), IsEmpty()) << run.output;
#ifndef __SANITIZE_ADDRESS__
  EXPECT_THAT(run.output, HasLevel("silver"));
#endif
}

TEST_F(KitOverExecutor, ReachesSilverWithItsImports) {
  const KitRun run = run_over(manifest, payloads);

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_THAT(run.cases("passed"), IsSupersetOf({51, 117, 118, 119, 120, 121, 122}));
#ifndef __SANITIZE_ADDRESS__
  EXPECT_THAT(run.output, HasLevel("silver"));
#endif
}

TEST_F(KitOverExecutor, FailsTheRunsThatUseAModuleWithoutItsPlugin) {
  const KitRun run = run_kit({manifest, "--payloads", payloads, "--case", "51", "--case", "118"});

  EXPECT_THAT(run.cases("passed"), ElementsAre(51)) << run.output;
  EXPECT_THAT(run.cases("FAILED"), ElementsAre(118)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("GraphExecutorFactory"));
}

TEST(KitOver, APluginWithoutDefectsPasses) {
  const TempDir temp;

  const KitRun run =
      run_over(plugin_with_defect(temp.path(), "none"), payloads_of_kit_plugin(temp.path()));

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_THAT(run.cases("WARNING"), IsEmpty()) << run.output;
  EXPECT_EQ(run.status, 0);
}

// Without payloads, the cases that need them are skipped and the level is not reached.
TEST(KitOver, APluginWithoutPayloadsReachesBronze) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "case 28 does not run under a sanitizer";
#endif
  const TempDir temp;

  const KitRun run = run_kit({plugin_with_defect(temp.path(), "none")});

  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("skipped 51  D  golden-results: no payloads: pass --payloads "
                                    "FILE, see CONFORMANCE.md\n"));
  EXPECT_THAT(run.output, HasLevel("bronze"));
  if (run.output.find("\nlevel: bronze\n") == std::string::npos) return;
  EXPECT_THAT(run.output, HasSubstr("\nsilver requires cases\n  51, 52, 53, 54, 56, "));
  EXPECT_THAT(run.output,
              HasSubstr(" more: no payloads: pass --payloads FILE, see CONFORMANCE.md\n"));
}

}  // namespace
}  // namespace gantry::test
