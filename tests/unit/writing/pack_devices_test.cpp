// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/unit/writing/packed.hpp"

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A model for the CPU and two devices.
constexpr std::string_view device_text = R"(schema: "1.0"
sources: [twice.c]
device_modules:
  - type_key: opencl
    kernels: {twice_opencl: {source: twice.cl, arguments: [handle], launch: [blockIdx.x]}}
  - type_key: vulkan
    kernels: {twice_vulkan: {source: twice.comp, arguments: [handle], launch: [blockIdx.x]}}
)";

class PackDevices : public PackTest {
 protected:
  PackDevices() {
    write_file(in() / "twice.cl", "__kernel void twice_opencl(__global float* x) {}\n");
    write_file(in() / "twice.comp",
               "#version 450\nlayout(binding = 0) buffer X { float x[]; };\n"
               "void main() { x[gl_WorkGroupID.x] *= 2.0; }\n");
  }
};

TEST_F(PackDevices, KeepsTheirOrderBelowTheCpuCode) {
  const Status packed = pack_text(device_text);

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const ElfFile elf = ElfFile::parse(MappedFile::open(target()).value()).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  EXPECT_THAT(container.warnings, ElementsAre());
  ASSERT_EQ(container.entries.size(), 3u);
  EXPECT_TRUE(container.entries[0].is_library());
  EXPECT_EQ(container.entries[1].type_key, "opencl");
  EXPECT_EQ(container.entries[2].type_key, "vulkan");
  EXPECT_THAT(container.tree.rows(), ElementsAre(0, 2, 2, 2));
  EXPECT_THAT(container.tree.edges(), ElementsAre(1, 2));
}

TEST_F(PackDevices, ProduceEqualBytesInAnotherDirectory) {
  ASSERT_TRUE(pack_text(device_text).ok());
  const std::vector<std::uint8_t> first = read_file(target());
  const TempDir elsewhere;
  std::filesystem::copy(in(), elsewhere / "copy");

  const Recipe copy = parse_recipe(device_text, "other.yaml", elsewhere / "copy").value();
  ASSERT_TRUE(pack(copy, elsewhere / "other.so").ok());

  EXPECT_EQ(read_file(elsewhere / "other.so"), first);
}

TEST_F(PackDevices, ReportTheDiagnosticsOfGlslangWithTheLocation) {
  write_file(in() / "twice.comp", "#version 450\nvoid main() { missing = 1; }\n");

  const Status packed = pack_text(device_text);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().reason, "COMPILE_FAILED");
  EXPECT_THAT(packed.error().message,
              StartsWith("GLSL compiler \"glslangValidator\" exits with status 2, expected 0\n"));
  EXPECT_THAT(packed.error().message,
              HasSubstr("\n  ERROR: twice.comp:2: 'missing' : undeclared identifier"));
  EXPECT_THAT(packed.error().message,
              ::testing::EndsWith("\n  r.yaml:7:15: device_modules[1].kernels.twice_vulkan\n"
                                  "  while writing entry 2 \"vulkan\""));
  EXPECT_TRUE(files_out().empty());
}

// Functions that the graph calls must be CPU code, unless there is a payload whose functions are
// unknown.
TEST_F(PackDevices, DefineFunctionsOfTheGraphOnlyInUnknownPayloads) {
  std::string text(recipe_text);
  text.replace(text.find("function: twice"), 15, "function: thrice");
  const std::size_t modules = device_text.find("device_modules");

  const Status kernels = pack_text(text + std::string(device_text.substr(modules)));
  const Status ready = pack_text(text + "device_modules: [{type_key: npu, data: twice.cl}]\n");

  ASSERT_FALSE(kernels.ok());
  EXPECT_EQ(kernels.error().code, Code::not_found);
  EXPECT_EQ(kernels.error().message,
            "graph calls function \"thrice\", did you mean \"twice\", the CPU code has twice\n"
            "  for r.yaml:6:18: graph.operators[0].function");
  EXPECT_TRUE(ready.ok()) << ready.error().message;
}

}  // namespace
}  // namespace gantry::test
