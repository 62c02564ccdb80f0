// SPDX-License-Identifier: Apache-2.0
//
// The table of built-in generators, and the generators of a target kind.
#include "core/writing/generator/generators.hpp"
#include "core/formats/type_key.hpp"
#include "tests/support/files.hpp"

#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const BuiltInGenerator& row_of(std::string_view name) {
  return *std::ranges::find(built_in_generators(), name, &BuiltInGenerator::name);
}

std::vector<std::string> names_of(const std::vector<GeneratorEntry>& entries) {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : entries) names.push_back(entry.name);
  return names;
}

TEST(BuiltInGenerators, AreOfFourKinds) {
  std::vector<std::string_view> names;
  for (const BuiltInGenerator& row : built_in_generators()) {
    names.push_back(row.name);
    EXPECT_EQ(row.type_key, row.target_kind == "c" ? library_key : row.target_kind) << row.name;
    EXPECT_NE(row.build, nullptr) << row.name;
  }
  EXPECT_THAT(names, ElementsAre("C compiler", "nvcc", "CUDA source", "OpenCL source", "SPIR-V",
                                 "glslang"));
}

TEST(GeneratorsOfAKind, AreThatOfItsPluginThenTheBuiltInOnes) {
  const TargetKind cuda{.name = "cuda", .type_key = "cuda", .languages = {"cuda"}};
  const TargetKind vulkan{.name = "vulkan"};
  const TargetKind host{.name = "c"};

  const std::vector<GeneratorEntry> all = generators_of({cuda, "gantry.cuda"});

  EXPECT_THAT(names_of(all), ElementsAre("gantry.cuda", "nvcc", "CUDA source"));
  EXPECT_THAT(all[0].languages, ElementsAre("cuda"));
  EXPECT_EQ(all[0].built_in, nullptr);
  EXPECT_EQ(all[1].built_in, &row_of("nvcc"));
  EXPECT_THAT(names_of(generators_of({vulkan, "gantry.vulkan"})), ElementsAre("SPIR-V", "glslang"));
  EXPECT_THAT(names_of(generators_of({host, ""})), ElementsAre("C compiler"));
}

class ProgramOfAGenerator : public ::testing::Test {
 protected:
  void program(const std::string& name, std::filesystem::perms perms) const {
    test::write_file(temp_ / name, "#!/bin/sh\n");
    std::filesystem::permissions(temp_ / name, perms);
  }

  const test::TempDir temp_;
  GeneratorPrograms programs_{.nvcc = {"nvcc", "-x"}, .search = {.path = temp_.path()}};
};

TEST_F(ProgramOfAGenerator, IsFoundInThePath) {
  program("nvcc", std::filesystem::perms::owner_all);

  EXPECT_EQ(find_generator_program(row_of("nvcc"), programs_).value(), (temp_ / "nvcc").native());
  EXPECT_EQ(find_generator_program(row_of("CUDA source"), programs_).value(), "");
}

TEST_F(ProgramOfAGenerator, IsMissing) {
  programs_.glslang = {"glsl"};

  const Error error = find_generator_program(row_of("glslang"), programs_).error();

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.native_code, ENOENT);
  EXPECT_EQ(error.message,
            "program \"glsl\" cannot be started: No such file or directory\n  GLSL requires "
            "glslang: install Debian's package glslang-tools or set GLSLANG");
}

TEST_F(ProgramOfAGenerator, IsAPathThatCannotBeStarted) {
  program("text", std::filesystem::perms::owner_read);
  for (const char* name : {"text", "none"}) {
    const std::string path = (temp_ / name).native();
    programs_.nvcc = {path};

    const auto found = find_generator_program(row_of("nvcc"), programs_);

    // The superuser, too, starts only a file that somebody may execute.
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, Code::unavailable);
    EXPECT_EQ(found.error().native_code, name == std::string("none") ? ENOENT : EACCES);
  }
}

// A generator of a plugin that records the target for which it is checked.
struct Checked {
  std::string kind, target;
  std::uint32_t flags = 0;
  gantry_code code = GANTRY_OK;

  static gantry_code check(void* self, const gantry_build* what, gantry_status* status) {
    auto& to = *static_cast<Checked*>(self);
    to.kind = view_of(what->kind);
    to.target = view_of(what->target);
    to.flags = what->flags;
    if (to.code == GANTRY_OK) return GANTRY_OK;
    return gantry_fail(status, to.code, "COMPILER", "no compiler");
  }
};

TEST(CheckOfAGenerator, IsForTheDefaultTargetAndCompiledCode) {
  TargetKind npu{.name = "npu", .type_key = "acme.npu", .languages = {"npu"}};
  npu.options = {{"cores", TargetType::integer, TargetValue(std::int64_t{4}), ""}};
  TargetKinds kinds;
  kinds.add(npu, "acme.npu");
  Checked plugin;
  Generators generators;
  generators.kinds = &kinds;
  generators.open_plugin = [&](std::string_view name) -> Result<Generator> {
    return Generator{
        std::string(name), {sizeof(gantry_generator), 0, nullptr, Checked::check}, &plugin, {}};
  };
  const KnownTargetKind& known = *kinds.find("npu");
  const GeneratorEntry entry = plugin_generators(known).at(0);

  EXPECT_TRUE(check_generator(entry, known, generators).ok());
  plugin.code = GANTRY_UNAVAILABLE;
  const Status missing = check_generator(entry, known, generators);

  EXPECT_EQ(plugin.kind, "npu");
  EXPECT_EQ(plugin.target, R"({"kind":"npu","tag":"","keys":[],"cores":4})");
  EXPECT_EQ(plugin.flags, std::uint32_t{GANTRY_BUILD_COMPILED});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().reason, "COMPILER");
  EXPECT_EQ(missing.error().message, "no compiler");
}

}  // namespace
}  // namespace gantry
