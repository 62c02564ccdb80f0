// SPDX-License-Identifier: Apache-2.0
//
// Sources and a target in, payload out. tests/unit/writing has the payloads of recipes.
#include "core/writing/generator/build_payload.hpp"
#include "core/formats/type_key.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>

#include <dmlc/memory_io.h>

#include <filesystem>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class BuildPayload : public ::testing::Test {
 protected:
  BuildPayload() {
    generators_.tools.directory = generators_.tools.scratch = temp_.path();
    generators_.tools.programs.nvcc = {"no-nvcc"};
    generators_.warn = [this](const Message& text) { warnings_.push_back(text); };
  }
  // Returns the job of one kernel.
  BuildJob job(std::string_view type_key, std::string_view source, std::string_view language,
               std::string_view text) const {
    BuildJob made{.type_key = type_key};
    made.sources = {{source, language, text}};
    made.kernels = {&kernel_, 1};
    made.source_of = {0};
    made.location = "module";
    made.kernel_locations = {"kernel"};
    return made;
  }
  Result<std::string> build(const BuildJob& job) {
    bytes_.clear();
    dmlc::MemoryStringStream out(&bytes_);
    return build_payload(job, generators_, out);
  }
  static std::string text_of(const Words& words) {
    return {words.bytes().begin(), words.bytes().end()};
  }

  const test::TempDir temp_;
  const KernelInfo kernel_{"a", "", {{3, 64, 1}}, {"blockIdx.x"}, {}};
  Generators generators_;
  std::string bytes_;
  std::vector<std::string> warnings_;
};

TEST_F(BuildPayload, StoresOpenclSource) {
  const Result<std::string> built = build(job("opencl", "a.cl", "opencl", "kernel a"));

  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(*built, "OpenCL source");
  EXPECT_EQ(bytes_, text_of(Words()
                                .str("cl")
                                .u64(1)
                                .str("a")
                                .str("")
                                .u64(1)
                                .text(std::string_view("\x03\x40\x01\0", 4))
                                .u64(1)
                                .str("blockIdx.x")
                                .str("// Function: a\nkernel a\n")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BuildPayload, WritesAnArgumentTagForEachParameter) {
  BuildJob tagged = job("opencl", "a.cl", "opencl", "kernel a");
  tagged.argument_tags = ArgumentTags::yes;

  ASSERT_TRUE(build(tagged).ok());

  EXPECT_THAT(bytes_, HasSubstr(text_of(Words().str("blockIdx.x").u64(1).u32(0))));
}

TEST_F(BuildPayload, WarnsOfSourceThatNothingCompiles) {
  const Result<std::string> built = build(job("cuda", "a.cu", "cuda", "void a();"));

  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(*built, "CUDA source");
  EXPECT_THAT(warnings_, ElementsAre(StartsWith("CUDA C++ is stored as source, which ")));
}

TEST_F(BuildPayload, DoesNotWarnOfSourceOnRequest) {
  BuildJob source = job("cuda", "a.cu", "cuda", "void a();");
  source.code = KernelCode::source;

  EXPECT_EQ(build(source).value(), "CUDA source");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BuildPayload, OfCpuCodeIsALibrary) {
  test::write_file(temp_ / "f.c", "int f(void) { return X; }\n");
  generators_.tools.flags = {"-DX=1"};
  BuildJob host{.type_key = library_key};
  host.sources = {{"f.c", "c", "int f(void) { return X; }\n"}};

  const Result<std::string> built = build(host);

  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(*built, "C compiler");
  EXPECT_THAT(bytes_, StartsWith("\x7f"
                                 "ELF"));
}

TEST_F(BuildPayload, OfCpuCodeReportsFileAndLine) {
  test::write_file(temp_ / "f.c", "int f(void) { return missing; }\n");
  BuildJob host{.type_key = library_key};
  host.sources = {{"f.c", "c", ""}};

  const Result<std::string> built = build(host);

  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().reason, "COMPILE_FAILED");
  EXPECT_THAT(built.error().message.text(), HasSubstr("\n  f.c:1:22: error: "));
}

// The longest log that a compiler's run keeps, which is longer than the text of a status.
TEST_F(BuildPayload, ReportsALongLogWhole) {
  generators_.tools.programs.compiler = {
      "sh", "-c", "yes 'f.c:1: error: a line of forty characters' | head -n 1000; exit 1"};
  BuildJob host{.type_key = library_key};
  host.sources = {{"f.c", "c", ""}};

  const Error error = build(host).error();

  EXPECT_GT(error.message.text().size(), 16u * 1024);
  EXPECT_THAT(error.message.text(), HasSubstr(" more bytes of diagnostics)"));
}

// A module of shaders only requires no compiler.
TEST_F(BuildPayload, RequiresGlslangForGlslOnly) {
  generators_.tools.programs.glslang = {"no-glslang"};
  BuildJob both = job("vulkan", "a.spv", "spirv", "1234");
  EXPECT_THAT(build(both).error().message.text(),
              StartsWith("shader of kernel \"a\": has 1 words"));
  both.sources.push_back({"b.comp", "glsl", ""});

  const Error error = build(both).error();

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_THAT(error.message.text(), StartsWith("program \"no-glslang\" cannot be started"));
  EXPECT_THAT(error.message.text(), ::testing::EndsWith("\n  module"));
}

// The C compiler does not build payloads of a type key that a recipe can name.
TEST_F(BuildPayload, OfTypeKeyCIsUnknown) {
  const Error error = build(job("c", "a.c", "c", "")).error();

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.message,
            "no code generator builds payloads of type key \"c\"; known type keys: cuda, opencl, "
            "vulkan\n  module");
}

}  // namespace
}  // namespace gantry
