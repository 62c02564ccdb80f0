// SPDX-License-Identifier: Apache-2.0
#include "core/formats/spirv_shader.hpp"

#include "tests/unit/vulkan/spirv.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace gantry::vulkan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Shaders, HaveAnEntryPointBindingsAndScalars) {
  const Spirv shader = add_shader();

  const auto facts = read_shader(shader.bytes(), 0, "add");

  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->version, 0x00010000u);
  EXPECT_EQ(facts->entry_point, "add");
  EXPECT_THAT(facts->local_size, ElementsAre(64, 1, 1));
  EXPECT_THAT(facts->storage_bindings, ElementsAre(0, 1));
  EXPECT_THAT(facts->capabilities, ElementsAre(1));
  EXPECT_EQ(facts->scalar_location, ScalarLocation::push_constants);
  EXPECT_THAT(facts->scalar_offsets, ElementsAre(0, 8));
}

TEST(Shaders, OfVersion13UseStorageBuffer) {
  Spirv shader(0x00010300);
  shader.head("add").op(71, {40, 33, 0}).op(71, {40, 34, 0}).op(71, {20, 2}).op(30, {20, 10});
  shader.op(32, {21, 12, 20}).op(59, {21, 40, 12}).end();

  const auto facts = read_shader(shader.bytes(), 0, "add");

  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_THAT(facts->storage_bindings, ElementsAre(0));
  EXPECT_EQ(facts->scalar_location, ScalarLocation::none);
}

TEST(Shaders, MayReadScalarsFromAUniformBuffer) {
  Spirv shader;
  shader.head("add").buffer(40, 0).scalars({0, 16}, true, 1).end();

  const auto facts = read_shader(shader.bytes(), 0, "add");

  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->scalar_location, ScalarLocation::uniform_buffer);
  EXPECT_EQ(facts->scalar_binding, 1u);
  EXPECT_THAT(facts->scalar_offsets, ElementsAre(0, 16));
  EXPECT_THAT(facts->storage_bindings, ElementsAre(0));
}

// v0.7 to v0.11 for the web: the entry point is "main" for every kernel.
TEST(Shaders, UseTheirOnlyEntryPoint) {
  Spirv shader;
  shader.head("main").end();

  EXPECT_EQ(read_shader(shader.bytes(), 0, "add").value().entry_point, "main");
}

TEST(Shaders, UseTheEntryPointOfTheKernelsName) {
  Spirv shader;
  shader.head("other").op(15, {5, 5}, "add").op(16, {5, 17, 8, 4, 2}).end();

  const auto facts = read_shader(shader.bytes(), 0, "add");

  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->entry_point, "add");
  EXPECT_THAT(facts->local_size, ElementsAre(8, 4, 2));
}

TEST(Shaders, WithoutALiteralSizeReportNone) {
  Spirv shader;
  shader.op(17, {1}).op(15, {5, 1}, "add").end();

  EXPECT_THAT(read_shader(shader.bytes(), 0, "add").value().local_size, ElementsAre(0, 0, 0));
}

TEST(Shaders, NeedNoAlignment) {
  const Spirv shader = add_shader();
  std::vector<std::uint8_t> shifted(1);
  shifted.insert(shifted.end(), shader.bytes().begin(), shader.bytes().end());

  EXPECT_TRUE(read_shader(ShaderBytes(shifted).subspan(1), 0, "add").ok());
}

struct BadShader {
  std::string name;
  // Appends the wrong words.
  std::function<void(Spirv&)> make;
  // Index of the wrong word.
  std::size_t word;
  std::string message;
  Code code = Code::malformed;
};
void PrintTo(const BadShader& bad, std::ostream* out) { *out << bad.name; }

class ShadersRefuse : public ::testing::TestWithParam<BadShader> {};

TEST_P(ShadersRefuse, AtTheWrongWord) {
  const BadShader& bad = GetParam();
  Spirv shader;
  bad.make(shader);

  const auto facts = read_shader(shader.bytes(), 1000, "add");

  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, bad.code);
  EXPECT_EQ(facts.error().reason, "SHADER");
  EXPECT_EQ(facts.error().offset, bad.code == Code::malformed ? 1000 + 4 * bad.word : no_offset);
  EXPECT_EQ(facts.error().message, "shader of kernel \"add\": " + bad.message);
}

// Spirv::head() is 20 words long.
INSTANTIATE_TEST_SUITE_P(
    All, ShadersRefuse,
    ::testing::Values(
        BadShader{"Short", [](Spirv& s) { s.words().resize(4); }, 0, "has 4 words, minimum is 5"},
        BadShader{"BigEndian", [](Spirv& s) { s.words()[0] = 0x03022307; }, 0,
                  "is big-endian, payloads are little-endian"},
        BadShader{"NoMagic", [](Spirv& s) { s.words()[0] = 0x1234; }, 0,
                  "begins with 0x1234, expected 0x7230203"},
        BadShader{"Version2", [](Spirv& s) { s.words()[1] = 0x00020000; }, 1,
                  "version is 0x20000, known is 1.x"},
        BadShader{"NoLength", [](Spirv& s) { s.head("add").word(71); }, 20,
                  "instruction is 0 words long, range is 1 to 1"},
        BadShader{"PastTheEnd", [](Spirv& s) { s.head("add").word(2 << 16 | 71); }, 20,
                  "instruction is 2 words long, range is 1 to 1"},
        BadShader{"TooFewOperands", [](Spirv& s) { s.head("add").op(71, {1}); }, 20,
                  "instruction 71 has 2 words, minimum is 3"},
        BadShader{"NoEntryPoint", [](Spirv& s) { s.op(17, {1}); }, 0,
                  "has no entry point for compute"},
        BadShader{"NoneOfTheKernels",
                  [](Spirv& s) {
                    s.head("one").op(15, {5, 2}, "two");
                  },
                  0, "has 2 entry points, none has the kernel's name"},
        BadShader{"NameWithoutEnd",
                  [](Spirv& s) {
                    s.op(15, {5, 1, 0x41414141});
                  },
                  8, "name of an entry point is not terminated"},
        BadShader{"NoThreads",
                  [](Spirv& s) {
                    s.op(15, {5, 1}, "add").op(16, {1, 17, 4, 0, 1});
                  },
                  0, "local size has an extent of 0"},
        BadShader{"NoPointer",
                  [](Spirv& s) {
                    s.head("add").op(59, {99, 40, 2});
                  },
                  20, "variable 40 has type 99, which is not a pointer"},
        BadShader{"NoBinding",
                  [](Spirv& s) {
                    s.head("add").op(32, {21, 2, 20}).op(59, {21, 40, 2});
                  },
                  24, "variable 40 has no binding"},
        BadShader{"BoundTwice", [](Spirv& s) { s.head("add").buffer(40, 3).buffer(41, 3); }, 60,
                  "binding 3 is bound twice"},
        BadShader{"ScalarWithoutOffset",
                  [](Spirv& s) {
                    s.head("add").op(30, {31, 11}).op(32, {32, 9, 31}).op(59, {32, 30, 9});
                  },
                  27, "scalar 0 has no offset"},
        BadShader{"ScalarsWithoutStruct",
                  [](Spirv& s) {
                    s.head("add").op(32, {32, 9, 11}).op(59, {32, 30, 9});
                  },
                  24, "block of scalars is not a struct"},
        BadShader{"TwoBlocks",
                  [](Spirv& s) { s.head("add").scalars({0}, false).scalars({0}, true, 1); }, 0,
                  "has two blocks of scalars", Code::unsupported},
        BadShader{"OtherSet",
                  [](Spirv& s) {
                    s.head("add").op(71, {40, 34, 1}).op(32, {21, 2, 20}).op(59, {21, 40, 2});
                  },
                  0, "variable 40 is in descriptor set 1, expected 0", Code::unsupported},
        BadShader{"Texture",
                  [](Spirv& s) {
                    s.head("add").op(71, {40, 33, 2}).op(32, {21, 0, 20}).op(59, {21, 40, 0});
                  },
                  0, "binding 2 is not a buffer; textures are not supported", Code::unsupported}),
    [](const auto& test) { return test.param.name; });

TEST(Shaders, SurviveAnyChangedWord) {
  std::mt19937 random(1);
  const Spirv good = add_shader();
  for (int round = 0; round < 20000; ++round) {
    Spirv shader = good;
    shader.words()[random() % shader.size()] = random() % 2 != 0
                                                   ? static_cast<std::uint32_t>(random())
                                                   : static_cast<std::uint32_t>(random() % 80);
    if (random() % 4 == 0) shader.words().resize(random() % shader.size());
    const auto facts = read_shader(shader.bytes(), 0, "add");
    if (!facts.ok()) {
      EXPECT_EQ(facts.error().reason, "SHADER");
    }
  }
}

TEST(Shaders, WithoutFunctionsHaveNoBindings) {
  Spirv shader;
  shader.head("add");

  EXPECT_THAT(read_shader(shader.bytes(), 0, "add").value().storage_bindings, IsEmpty());
}

TEST(SpirvVersions, AreFormattedAsMajorAndMinor) {
  EXPECT_EQ(spirv_version_text(0x00010000), "1.0");
  EXPECT_EQ(spirv_version_text(0x00010600), "1.6");
}

}  // namespace
}  // namespace gantry::vulkan::test
