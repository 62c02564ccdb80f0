// SPDX-License-Identifier: Apache-2.0
//
// Reads the demo's device modules with the payload readers of their plugins.
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/converted_payload.hpp"
#include "core/writing/pack.hpp"
#include "plugins/opencl/payload.hpp"
#include "plugins/vulkan/payload.hpp"
#include "tests/support/files.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"

#include <dmlc/memory_io.h>
#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;

constexpr auto pointer = ParameterKind::pointer;
constexpr auto number = ParameterKind::int32;

std::vector<ParameterKind> parameters(const KernelCall& call) {
  std::vector<ParameterKind> kinds;
  for (std::size_t i = 0; i < call.parameter_count(); ++i) kinds.push_back(call.parameter(i));
  return kinds;
}

class DemoPayloads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::TempDir directory;
    const Recipe recipe = read_recipe(test::golden("../../../tools/demo/digits.yaml")).value();
    const Status packed = pack(recipe, directory / "digits.so");
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    file_ = MappedFile::open(directory / "digits.so").value();
    const ElfFile elf = ElfFile::parse(file_).value();
    container_ = read_container(elf, PayloadLayouts::built_in()).value();
  }
  static void TearDownTestSuite() {
    container_ = {};
    file_.reset();
  }
  static std::span<const std::uint8_t> payload(std::size_t entry, std::string_view key) {
    EXPECT_EQ(container_.entries.at(entry).type_key, key);
    return container_.entries.at(entry).payload;
  }

 private:
  inline static std::shared_ptr<const MappedFile> file_;
  inline static Container container_;
};

TEST_F(DemoPayloads, OfOpenclHaveAProgramForEachKernel) {
  const std::span<const std::uint8_t> bytes = payload(2, "opencl");
  std::uint64_t consumed = 0;

  const auto read = test::read_whole(test::payload_blob(bytes), opencl::read_payload, &consumed);

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_EQ(read->format, "cl");
  ASSERT_EQ(read->calls.size(), 2u);
  EXPECT_EQ(read->calls[0].name(), "dense_opencl");
  EXPECT_THAT(parameters(read->calls[0]),
              ElementsAre(pointer, pointer, pointer, pointer, number, number));
  EXPECT_EQ(read->calls[0].argument_count(), 9u);
  EXPECT_EQ(read->calls[1].name(), "softmax_opencl");
  EXPECT_EQ(read->calls[1].argument_count(), 5u);
  EXPECT_THAT(read->program_of, ElementsAre(0, 1));
  for (const std::size_t kernel : {0u, 1u}) {
    const std::string source = test::golden(
        concat("../../../tools/demo/kernels/", kernel == 0 ? "dense" : "softmax", ".cl"));
    const std::vector<std::uint8_t> text = test::read_file(source);
    EXPECT_EQ(read->programs[kernel].code, "\n" + std::string(text.begin(), text.end()) + "\n");
  }
}

// Two kernels in one text of v0.7.
TEST(ConvertedPayload, OfOpenclHasTheWholeTextForEachKernel) {
  test::Words table = test::Words().str("cl").u64(2);
  for (const std::string_view name : {"axpy", "fill"}) {
    table.str(name).str("").u64(1).u8(3).u8(64).u16(1).strs({"blockIdx.x"});
  }
  const std::string text = "kernel void axpy(global int* x) {}\nkernel void fill(global int* x) {}";
  table.str(text);
  std::string bytes;
  dmlc::MemoryStringStream out(&bytes);
  ExporterFacts facts;
  facts.argument_tags = ArgumentTags::no;

  const Status converted = write_converted_payload("opencl", table.bytes(), facts,
                                                   PayloadLayouts::built_in(), Generation::g3, out);

  ASSERT_TRUE(converted.ok()) << converted.error().message;
  const std::vector<std::uint8_t> payload(bytes.begin(), bytes.end());
  const auto read = test::read_whole(test::payload_blob(payload), opencl::read_payload);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->program_of, ElementsAre(0, 1));
  ASSERT_EQ(read->programs.size(), 2u);
  for (const opencl::Program& program : read->programs) {
    EXPECT_EQ(program.code, concat("\n", text, "\n"));
  }
}

TEST_F(DemoPayloads, OfVulkanHaveShadersThatMatchTheirKernels) {
  const std::span<const std::uint8_t> bytes = payload(3, "vulkan");

  const auto read = test::read_whole(test::payload_blob(bytes), vulkan::read_payload);

  ASSERT_TRUE(read.ok()) << read.error().message;
  struct Wanted {
    std::string name;
    std::vector<std::uint32_t> bindings, offsets;
  };
  for (const Wanted& wanted :
       {Wanted{"dense_vulkan", {0, 1, 2, 3}, {0, 8}}, Wanted{"softmax_vulkan", {0, 1}, {0}}}) {
    const vulkan::Shader* const shader = read->shader_of(wanted.name);
    ASSERT_NE(shader, nullptr);
    EXPECT_EQ(shader->flags, 0u);
    const auto kernel = vulkan::make_kernel(*read->table.find(wanted.name), *shader);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    // SPIR-V 1.0, which every device supports
    EXPECT_EQ(kernel->shader.version, 0x00010000u);
    EXPECT_EQ(kernel->shader.entry_point, wanted.name);
    EXPECT_THAT(kernel->shader.local_size, ElementsAre(32, 1, 1));
    EXPECT_EQ(kernel->shader.storage_bindings, wanted.bindings);
    EXPECT_EQ(kernel->shader.scalar_location, ScalarLocation::push_constants);
    EXPECT_EQ(kernel->shader.scalar_offsets, wanted.offsets);
    EXPECT_EQ(kernel->buffer_count, wanted.bindings.size());
  }
}

}  // namespace
}  // namespace gantry
