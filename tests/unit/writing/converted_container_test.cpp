// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_container.hpp"

#include "core/writing/saved_container.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A container that was written to a file, read as that of a library and converted.
class ConvertedContainer : public ::testing::Test {
 protected:
  void read(const Words& bytes, Dialect dialect = Dialect::packed) {
    test::write_file(temp_ / "model.bin", bytes.bytes());
    file_ = MappedFile::open(temp_ / "model.bin").value();
    container_ = read_container_bytes(file_->bytes(), layouts_).value();
    container_.facts.dialect = dialect;
    if (container_.layout == ContainerLayout::one) {
      container_.facts.argument_tags = ArgumentTags::no;
      container_.facts.numbering = Numbering::packed;
      container_.facts.has_private_float_codes = true;
    }
  }
  Result<std::vector<EditedModule>> converted(Generation to) {
    auto listed = listed_modules(container_, file_).value();
    auto edited = edit_modules(std::move(listed), {}).value();
    warnings_.clear();
    return converted_modules(std::move(edited), container_, file_, layouts_, to, warnings_);
  }
  std::vector<std::uint8_t> written(Generation to) {
    auto modules = converted(to);
    EXPECT_TRUE(modules.ok()) << modules.error().message;
    std::vector<ContainerModule> plain;
    for (EditedModule& each : *modules) plain.push_back(std::move(each.module));
    return test::bytes_of(write_listed_container(plain, to).value());
  }
  void expect_refused(Generation to, const std::string& message) {
    const auto modules = converted(to);
    ASSERT_FALSE(modules.ok());
    EXPECT_EQ(modules.error().code, Code::unsupported);
    EXPECT_EQ(modules.error().message, message);
  }

  const test::TempDir temp_;
  const PayloadLayouts layouts_ = PayloadLayouts::built_in();
  std::shared_ptr<const MappedFile> file_;
  Container container_;
  std::vector<Message> warnings_;
};

Words text_module(std::string_view text) { return Words().str("examplejson").str(text); }

Words cuda_module(std::string_view name, bool has_tags) {
  Words all = Words().str("cuda");
  const Words kernel = Words().str("f").str(name).u64(0).u64(0);
  Words payload = Words().str("ptx").u64(1).bytes(kernel.bytes());
  if (has_tags) payload.u64(0);
  payload.str("data");
  if (has_tags) all.u64(payload.size());
  return all.bytes(payload.bytes());
}

TEST_F(ConvertedContainer, WithoutCpuCodeHasTheFormOfAnyGeneration) {
  const Words g3 = test::layout_one(
      2, Words().bytes(cuda_module("", false).bytes()).bytes(cuda_module("", false).bytes()),
      {0, 1, 1}, {1});
  const Words g5 = test::contained(Words()
                                       .u64s({0, 1, 1})
                                       .u64s({1})
                                       .bytes(cuda_module("f", true).bytes())
                                       .bytes(cuda_module("f", true).bytes()));

  read(g3);
  EXPECT_THAT(written(Generation::g5), ElementsAreArray(g5.bytes()));
  EXPECT_THAT(written(Generation::g3), ElementsAreArray(g3.bytes()));
  EXPECT_THAT(written(Generation::g2), ElementsAreArray(g3.bytes()));
  read(g5, Dialect::ffi);
  EXPECT_THAT(written(Generation::g3), ElementsAreArray(g3.bytes()));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ConvertedContainer, MergesHostModulesAndSortsChildren) {
  // graph -> b, a; a, b -> x; a -> y, all numbered as v0.7 does
  read(test::layout_one(5,
                        Words()
                            .bytes(text_module("graph").bytes())
                            .str("_lib")
                            .bytes(text_module("y").bytes())
                            .bytes(text_module("x").bytes())
                            .str("_lib"),
                        {0, 2, 4, 4, 4, 5}, {4, 1, 3, 2, 3}));

  EXPECT_THAT(written(Generation::g3),
              ElementsAreArray(test::layout_one(4,
                                                Words()
                                                    .bytes(text_module("graph").bytes())
                                                    .str("_lib")
                                                    .bytes(text_module("x").bytes())
                                                    .bytes(text_module("y").bytes()),
                                                {0, 1, 3, 3, 3}, {1, 2, 3})
                                   .bytes()));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ConvertedContainer, SortsChildrenOfModulesThatAreInOrder) {
  read(test::layout_one(
      3, Words().str("_lib").bytes(text_module("a").bytes()).bytes(text_module("b").bytes()),
      {0, 3, 3, 3}, {2, 1, 2}));

  const auto modules = converted(Generation::g3);

  ASSERT_TRUE(modules.ok());
  EXPECT_THAT((*modules)[0].module.imports, ElementsAre(1, 2));
  EXPECT_THAT(converted(Generation::g2)->front().module.imports, ElementsAre(2, 1, 2));
}

TEST_F(ConvertedContainer, OfG1GetsATree) {
  read(test::container_g1());

  const std::vector<std::uint8_t> bytes = written(Generation::g3);

  const Container found = read_container_bytes(bytes, layouts_).value();
  ASSERT_EQ(found.entries.size(), 3u);
  EXPECT_TRUE(found.entries[0].is_library());
  EXPECT_THAT(found.tree.children_of(0), ElementsAre(1, 2));
  EXPECT_EQ(found.facts.generation, Generation::g3);
}

TEST_F(ConvertedContainer, WarnsOfFunctionsThatCpuCodeFindsNoLonger) {
  // v0.7: the root imports CPU code and a module that the CPU code finds through the root
  read(test::layout_one(4,
                        Words()
                            .bytes(text_module("root").bytes())
                            .bytes(text_module("beside").bytes())
                            .str("_lib")
                            .str("_lib"),
                        {0, 3, 3, 3, 3}, {1, 2, 3}));

  ASSERT_TRUE(converted(Generation::g3).ok());
  EXPECT_THAT(warnings_, ElementsAre(Message(
                             "CPU code finds functions of modules that it does not import only "
                             "up to v0.7; no longer: 1 \"examplejson\"")));
  ASSERT_TRUE(converted(Generation::g2).ok());
  EXPECT_THAT(warnings_, IsEmpty());
}

// The payloads of G2 and G3 are the same except for OpenCL texts.
TEST_F(ConvertedContainer, OfG2NamesTheKernelsOfOpencl) {
  const auto container_of = [](std::string_view text) {
    const Words opencl = Words().str("opencl").str("cl").u64(1).str("f").str("").u64(0).u64(0);
    return test::layout_one(1, Words().bytes(opencl.bytes()).str(text), {0, 0}, {});
  };
  read(container_of("kernel void f() {}\n"));

  EXPECT_THAT(written(Generation::g3),
              ElementsAreArray(container_of("// Function: f\nkernel void f() {}\n").bytes()));
  EXPECT_THAT(written(Generation::g2),
              ElementsAreArray(container_of("kernel void f() {}\n").bytes()));
}

// A search from each lost module would visit 200 million modules.
TEST_F(ConvertedContainer, WarnsOfAChainOf20000Modules) {
  constexpr std::uint64_t last = 20'001;
  // The root imports CPU code and a chain.
  Words modules = Words().bytes(text_module("root").bytes()).str("_lib");
  std::vector<std::uint64_t> row_ptr = {0, 2, 2}, child = {1, 2};
  for (std::uint64_t m = 2; m <= last; ++m) {
    modules.bytes(text_module("").bytes());
    if (m < last) child.push_back(m + 1);
    row_ptr.push_back(child.size());
  }
  Words content = Words().u64(last + 2).bytes(modules.bytes()).str("_import_tree");
  content.u64(row_ptr.size());
  for (const std::uint64_t row : row_ptr) content.u64(row);
  content.u64(child.size());
  for (const std::uint64_t each : child) content.u64(each);
  read(Words().u64(content.size()).bytes(content.bytes()));
  container_.facts.generation = Generation::g2;

  ASSERT_TRUE(converted(Generation::g3).ok());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(std::string(warnings_[0].text()),
              StartsWith("CPU code finds functions of modules that it does not import only up to "
                         "v0.7; no longer: 2 \"examplejson\", 3 \"examplejson\""));
}

TEST_F(ConvertedContainer, RefusesToLoseAModuleThatNothingImports) {
  read(test::layout_one(3, Words().str("_lib").str("_lib").bytes(text_module("a").bytes()),
                        {0, 1, 1, 1}, {1}));

  const auto modules = converted(Generation::g3);

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().code, Code::invalid);
  EXPECT_EQ(modules.error().message,
            "module 2 \"examplejson\" is imported by no module, so that it has no place in the "
            "new order; drop it");
}

TEST_F(ConvertedContainer, RefusesCpuCodeOfAnotherAbi) {
  const Words g3 =
      test::layout_one(2, Words().str("_lib").bytes(text_module("a").bytes()), {0, 1, 1}, {1});
  read(g3);
  expect_refused(Generation::g5,
                 "CPU code has the packed dialect (TVMValue), G5 (v0.22 and later) requires the "
                 "ffi dialect (TVMFFIAny)");
  expect_refused(Generation::g4,
                 "CPU code has the packed dialect (TVMValue), G4 (v0.21) requires the ffi dialect "
                 "(TVMFFIAny) of v0.21");
  read(g3, Dialect::unknown);
  expect_refused(Generation::g2,
                 "CPU code has an unknown dialect, G2 (v0.7) requires the packed dialect "
                 "(TVMValue)");

  read(Words().bytes(test::example_g5()), Dialect::ffi);
  expect_refused(Generation::g3,
                 "CPU code has the ffi dialect (TVMFFIAny), G3 (v0.8 to v0.20) requires the "
                 "packed dialect (TVMValue)");
  container_.facts.dialect = Dialect::ffi_0_21;
  expect_refused(Generation::g5,
                 "CPU code has the ffi dialect (TVMFFIAny) of v0.21, G5 (v0.22 and later) "
                 "requires the ffi dialect (TVMFFIAny)");
}

TEST_F(ConvertedContainer, RefusesModulesThatTheGenerationLacks) {
  read(test::layout_one(1, Words().str("VMExecutable").str("a"), {0, 0}, {}));

  expect_refused(Generation::g5,
                 "modules of type key \"VMExecutable\" do not exist in G5 (v0.22 and later), only "
                 "in G3");
  EXPECT_TRUE(converted(Generation::g3).ok());
}

}  // namespace
}  // namespace gantry
