// SPDX-License-Identifier: Apache-2.0
#include "core/writing/device_payload.hpp"
#include "core/formats/spirv_shader.hpp"
#include "core/writing/converted_payload.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/writing/bytes_of.hpp"
#include "tests/unit/writing/kernel_words.hpp"

#include <gmock/gmock.h>

#include <cerrno>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;

// A shader without bindings and scalars.
std::string shader_with(std::string_view entry) {
  // OpEntryPoint GLCompute %1 of the name in one word
  const Words words = Words().u32(spirv_magic).u32(0x00010000).u32(0).u32(10).u32(0);
  const Words rest = Words().u32(4u << 16 | 15).u32(5).u32(1).text(entry).u8(0);
  std::string bytes(words.bytes().begin(), words.bytes().end());
  bytes.append(rest.bytes().begin(), rest.bytes().end());
  return bytes;
}

// A substitute for glslang that writes a shader, and its own arguments to the file "args".
const std::vector<std::string> good = {"sh", "-c",
                                       R"(while [ "$1" != -o ]; do all="$all$1 "; shift; done
printf '%s%s' "$all" "$3" > args; cp valid.spv "$2")",
                                       "sh"};

class DevicePayload : public ::testing::Test {
 protected:
  DevicePayload() {
    file("add.cl", "void add() {}\n");
    file("add.comp", "void main() {}\n");
    file("valid.spv", shader_with("add"));
  }
  void file(std::string_view name, std::string_view text) const {
    test::write_file(directory_ / name, text);
  }
  Generators tools(std::vector<std::string> glslang = good) const {
    Generators generators;
    generators.tools.programs.glslang = std::move(glslang);
    generators.tools.directory = generators.tools.scratch = directory_.path();
    return generators;
  }
  // Returns a module of one kernel with one tensor argument.
  static DeviceModuleSource module(std::string type_key, std::string source) {
    const std::string format = type_key == "opencl" ? "cl" : type_key;
    return {std::move(type_key),
            format,
            "",
            {{"add", {{3, 64, 1}}, {"blockIdx.x"}, std::move(source), "r.yaml:4:7: kernels.add"}}};
  }
  static Words table(std::string_view format) { return test::kernel_words(format, "add"); }
  Error refused(const DeviceModuleSource& module, const Generators& tools) const {
    Pieces out;
    const Status written = write_device_payload(module, tools, out);
    EXPECT_FALSE(written.ok());
    EXPECT_EQ(out.size(), 0u);
    return written.ok() ? Error() : written.error();
  }

  const test::TempDir directory_;
};

TEST_F(DevicePayload, WithoutAFormatIsTheFile) {
  file("ready", "whole payload");
  Pieces out;

  ASSERT_TRUE(write_device_payload({"npu", "", directory_ / "ready", {}}, {}, out).ok());

  EXPECT_THAT(test::bytes_of(out), ElementsAreArray(Words().text("whole payload").bytes()));
}

TEST_F(DevicePayload, OfOpenclHasEachProgramAfterItsKernelsName) {
  Pieces out;

  ASSERT_TRUE(write_device_payload(module("opencl", "add.cl"), tools(), out).ok());

  EXPECT_THAT(test::bytes_of(out),
              ElementsAreArray(table("cl").str("// Function: add\nvoid add() {}\n\n").bytes()));
}

TEST_F(DevicePayload, OfVulkanHasTheSpirvOfEachKernel) {
  Pieces out;

  ASSERT_TRUE(write_device_payload(module("vulkan", "add.comp"), tools(), out).ok());

  EXPECT_THAT(
      test::bytes_of(out),
      ElementsAreArray(
          table("vulkan").u64(1).str("add").u32(0).u64(9).text(shader_with("add")).bytes()));
}

// The form of a payload that repack converts.
TEST_F(DevicePayload, OfGeneration5IsAsRepackWritesIt) {
  for (const char* key : {"vulkan", "opencl", "cuda"}) {
    const std::string_view kind = key;
    DeviceModuleSource what =
        kind == "vulkan" ? module(key, "valid.spv") : module(key, kind == "opencl" ? "add.cl" : "");
    if (kind == "cuda") what.data = directory_ / "add.cl";
    what.kernels[0].launch.emplace_back("tir.use_dyn_shared_memory");
    Pieces older, converted, written;
    ASSERT_TRUE(write_device_payload(what, tools(), older, Generation::g3).ok());
    const std::vector<std::uint8_t> bytes = test::bytes_of(older);
    ExporterFacts facts;
    facts.argument_tags = ArgumentTags::no;
    const Status done = write_converted_payload(key, bytes, facts, PayloadLayouts::built_in(),
                                                Generation::g5, converted);
    ASSERT_TRUE(done.ok()) << done.error().message;

    ASSERT_TRUE(write_device_payload(what, tools(), written, Generation::g5).ok());

    EXPECT_EQ(test::bytes_of(written), test::bytes_of(converted)) << key;
    EXPECT_NE(test::bytes_of(written), bytes) << key;
  }
}

TEST_F(DevicePayload, HasNoLaunchTagThatItsGenerationLacks) {
  DeviceModuleSource what = module("opencl", "add.cl");
  what.kernels[0].launch = {"tirx.use_cooperative_launch"};

  const Error error = refused(what, tools());

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.message,
            "launch tag \"tirx.use_cooperative_launch\" exists since v0.23, G3 is v0.8 to v0.20\n"
            "  r.yaml:4:7: kernels.add");
}

// Before DLPack had numbers for these types, exporters had their own.
TEST_F(DevicePayload, HasTheElementTypesOfItsGeneration) {
  DeviceModuleSource what = module("opencl", "add.cl");
  what.kernels[0].arguments = {{10, 8, 1}};
  for (const auto& [generation, code] : {std::pair(Generation::g3, 6), {Generation::g5, 10}}) {
    Pieces out;

    ASSERT_TRUE(write_device_payload(what, tools(), out, generation).ok());

    // after format, count, name, its repetition and the number of arguments
    const std::size_t at = 10 + 8 + 11 + (generation == Generation::g3 ? 8 : 11) + 8;
    EXPECT_EQ(test::bytes_of(out)[at], code);
  }
}

TEST_F(DevicePayload, RenamesTheEntryPointToTheKernelsName) {
  Pieces out;

  ASSERT_TRUE(write_device_payload(module("vulkan", "add.comp"), tools(), out).ok());

  const std::vector<std::uint8_t> bytes = test::read_file(directory_ / "args");
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
            "-V -S comp -e add --source-entrypoint main add.comp");
}

TEST_F(DevicePayload, TakesSpirvFromAFile) {
  Pieces compiled, taken;

  ASSERT_TRUE(write_device_payload(module("vulkan", "add.comp"), tools(), compiled).ok());
  ASSERT_TRUE(write_device_payload(module("vulkan", "valid.spv"), tools({"false"}), taken).ok());

  EXPECT_EQ(test::bytes_of(taken), test::bytes_of(compiled));
}

TEST_F(DevicePayload, RejectsAShaderThatDoesNotFitItsKernel) {
  file("sub.spv", shader_with("sub"));
  file("odd.spv", shader_with("add") + "x");
  file("short.spv", shader_with("add").substr(0, 24));
  file("words.spv", "1234");
  DeviceModuleSource with_scalar = module("vulkan", "valid.spv");
  with_scalar.kernels[0].arguments.push_back({0, 32, 1});
  const std::string place = "\n  r.yaml:4:7: kernels.add";

  EXPECT_EQ(refused(module("vulkan", "sub.spv"), tools()).message,
            "shader \"sub.spv\" has entry point \"sub\", expected the kernel's name" + place);
  EXPECT_EQ(refused(module("vulkan", "odd.spv"), tools()).message,
            "shader \"odd.spv\" has 37 bytes, expected a multiple of 4" + place);
  EXPECT_EQ(refused(module("vulkan", "short.spv"), tools()).message,
            "shader of kernel \"add\": instruction is 4 words long, range is 1 to 1" + place);
  EXPECT_EQ(refused(module("vulkan", "words.spv"), tools()).message,
            "shader of kernel \"add\": has 1 words, minimum is 5" + place);
  EXPECT_EQ(refused(with_scalar, tools()).message,
            "shader of kernel \"add\": has 0 scalars, the kernel has 1" + place);
}

TEST_F(DevicePayload, RejectsAProgramWithoutTheKernel) {
  file("sub.cl", "void sub() {}\n");

  const Error error = refused(module("opencl", "sub.cl"), tools());

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.message,
            "source \"sub.cl\" has no kernel \"add\", expected: __kernel void add(...)\n"
            "  r.yaml:4:7: kernels.add");
}

TEST_F(DevicePayload, SuggestsAFunctionOfTheProgram) {
  file("near.cl", "__kernel void ad(__global float* x) { f(x); }\n");

  const Error error = refused(module("opencl", "near.cl"), tools());

  EXPECT_EQ(error.message,
            "source \"near.cl\" has no kernel \"add\", did you mean \"ad\", expected: __kernel "
            "void add(...)\n  r.yaml:4:7: kernels.add");
}

TEST_F(DevicePayload, RejectsAProgramThatContainsAMarker) {
  for (const char* text :
       {"// Function: add\nvoid add() {}\n", "void add() {}\n// Function: b\n"}) {
    file("cut.cl", text);

    const Error error = refused(module("opencl", "cut.cl"), tools());

    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_EQ(error.message,
              "source \"cut.cl\" has a line that begins with \"// Function: \", which loaders "
              "interpret as the start of the next kernel\n  r.yaml:4:7: kernels.add");
  }
}

TEST_F(DevicePayload, NamesAMissingSource) {
  for (const char* key : {"opencl", "vulkan"}) {
    const Error error = refused(module(key, "none"), tools());

    EXPECT_EQ(error.code, Code::not_found);
    EXPECT_THAT(error.message, ::testing::HasSubstr((directory_ / "none").native()));
    EXPECT_THAT(error.message, EndsWith("\n  r.yaml:4:7: kernels.add"));
  }
}

TEST_F(DevicePayload, ReportsTheDiagnosticsOfGlslangWithTheLocation) {
  const Error error = refused(module("vulkan", "add.comp"),
                              tools({"sh", "-c", "echo 'ERROR: add.comp:1: no'; exit 2"}));

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "COMPILE_FAILED");
  EXPECT_EQ(error.message,
            "GLSL compiler \"sh\" exits with status 2, expected 0\n  ERROR: add.comp:1: no\n"
            "  r.yaml:4:7: kernels.add");
}

TEST_F(DevicePayload, ReportsHowToInstallGlslang) {
  const Error error = refused(module("vulkan", "add.comp"), tools({"no-glslang"}));

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.native_code, ENOENT);
  EXPECT_EQ(error.message,
            "program \"no-glslang\" cannot be started: No such file or directory\n"
            "  GLSL requires glslang: install Debian's package glslang-tools or set GLSLANG");
}

TEST_F(DevicePayload, RejectsOutputThatIsNotSpirv) {
  const std::string to = R"(while [ "$1" != -o ]; do shift; done; printf )";
  for (const auto& [bytes, size] :
       {std::pair{"'no shader..'", 11}, {"'no shader...'", 12}, {R"('\003\002#\007...')", 7}}) {
    const Error error = refused(module("vulkan", "add.comp"),
                                tools({"sh", "-c", concat(to, bytes, " > \"$2\""), "sh"}));

    EXPECT_EQ(error.code, Code::unavailable);
    EXPECT_EQ(error.message, concat("GLSL compiler \"sh\" produces ", size,
                                    " bytes that are not SPIR-V\n  r.yaml:4:7: kernels.add"));
  }
}

TEST_F(DevicePayload, RejectsACompilerWithoutOutput) {
  const Error error = refused(module("vulkan", "add.comp"), tools({"true"}));

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.message, ::testing::HasSubstr("add.spv"));
}

}  // namespace
}  // namespace gantry
