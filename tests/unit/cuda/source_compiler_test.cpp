// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ source is compiled once; its code is kept in the disk cache.
#include "plugins/cuda/source_compiler.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/cuda/fake_nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;

constexpr Architecture h200{9, 0};
constexpr Architecture t4{7, 5};

class SourceCompilerTest : public ::testing::Test {
 protected:
  SourceCompilerTest() {
    fake.reset();
    host.options["nvrtc"] = GANTRY_FAKE_NVRTC;
    host.options["cache_directory"] = directory.path().string();
  }
  ~SourceCompilerTest() override { EXPECT_EQ(fake.programs, 0); }

  Result<std::string> compile(std::string_view source = "a", Architecture device = h200) {
    return SourceCompiler(Host(host.table())).compile(source, device, "compiling a");
  }
  std::size_t files() const {
    std::size_t count = 0;
    std::error_code missing;
    for (std::filesystem::directory_iterator at(directory / "cuda", missing), end; at != end; ++at)
      ++count;
    return count;
  }

  FakeNvrtc& fake = fake_nvrtc();
  gantry::test::TempDir directory;
  gantry::test::FakeHost host;
};

TEST_F(SourceCompilerTest, CompilesOnceForSeveralProcesses) {
  const Result<std::string> first = compile();
  const Result<std::string> second = compile();

  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(fake.compilations.size(), 1u);
  EXPECT_EQ(files(), 1u);
  EXPECT_THAT(host.works, ElementsAre("compiling a"));
  EXPECT_EQ(host.running_works, 0);
}

TEST_F(SourceCompilerTest, CompilesAgainForOtherSourceArchitectureVersionOptionsOrHeaders) {
  const auto expect_compiled = [&](std::string_view source, Architecture device) {
    const std::size_t before = fake.compilations.size();
    ASSERT_TRUE(compile(source, device).ok());
    EXPECT_EQ(fake.compilations.size(), before + 1);
  };

  expect_compiled("a", h200);
  expect_compiled("b", h200);
  expect_compiled("a", t4);
  fake.minor = 8;
  expect_compiled("a", h200);
  host.options["compile_options"] = std::string("-G  --use_fast_math");
  expect_compiled("a", h200);
  host.options["include"] = std::string("/a:/b");
  expect_compiled("a", h200);

  const auto& options = fake.compilations.back().options;
  EXPECT_THAT(options,
              ElementsAre("--gpu-architecture=sm_90", "--std=c++17", "--disable-warnings",
                          "--include-path=/a", "--include-path=/b", "-G", "--use_fast_math"));
  EXPECT_EQ(files(), 6u);
}

TEST_F(SourceCompilerTest, CompilesAgainIfTheFileIsDamaged) {
  ASSERT_TRUE(compile().ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory / "cuda")) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file.put('!');
  }

  ASSERT_TRUE(compile().ok());

  EXPECT_EQ(fake.compilations.size(), 2u);
  EXPECT_THAT(host.log, ElementsAre(::testing::HasSubstr(" is ignored: ")));
}

TEST_F(SourceCompilerTest, StoresNothingWithoutACache) {
  host.options["cache"] = false;
  ASSERT_TRUE(compile().ok());
  ASSERT_TRUE(compile().ok());

  EXPECT_EQ(fake.compilations.size(), 2u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(SourceCompilerTest, StoresNothingAfterAFailure) {
  fake.failing = {"nvrtcCompileProgram"};
  fake.fail_result = 6;
  EXPECT_EQ(compile().error().reason, "KERNEL_BUILD");
  EXPECT_EQ(files(), 0u);

  fake.failing.clear();
  EXPECT_TRUE(compile().ok());
}

TEST_F(SourceCompilerTest, OpensNvrtcAgainAfterAFailure) {
  SourceCompiler compiler{Host(host.table())};
  fake.failing = {"nvrtcVersion"};
  EXPECT_FALSE(compiler.nvrtc().ok());

  fake.failing.clear();

  EXPECT_TRUE(compiler.nvrtc().ok());
}

TEST_F(SourceCompilerTest, MakesPtxForANamedArchitecture) {
  SourceCompiler compiler{Host(host.table())};

  const auto ptx = compiler.compile_ptx("__global__ void k() {}", "k.cu", "sm_90a");

  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  EXPECT_EQ(fake.compilations[0].name, "k.cu");
  EXPECT_EQ(fake.compilations[0].options[0], "--gpu-architecture=compute_90a");
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace gantry::cuda::test
