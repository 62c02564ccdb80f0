// SPDX-License-Identifier: Apache-2.0
//
// Artifacts of releases before v0.8, for which no golden file exists: containers built from
// core/formats/FORMAT.md, linked with real CPU code.
#include "tests/support/container_object.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/digits.hpp"

#include "core/base/toolchain/link.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/pack.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

using test::digits_file;
using test::make_runtime;
using test::TempDir;
using test::Words;

class Generations : public ::testing::Test {
 protected:
  // Links sources with a container of these bytes.
  std::string linked(std::span<const std::uint8_t> container, LinkJob job) {
    test::write_container_object(directory / "container.o", container);
    job.scratch = directory.path();
    job.sources.push_back((directory / "container.o").native());
    job.output = directory / "model.so";
    const Status done = link_library(job);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return job.output.native();
  }
  // A function `seven()`, and the module context of its file. No plugin serves the modules of its
  // container.
  std::string with_seven(std::span<const std::uint8_t> container, std::string_view more = {}) {
    test::write_file(directory / "seven.c", concat("#include <stdint.h>\n", more, R"(
void* __tvm_module_ctx;
int seven(void* args, int* codes, int count, int64_t* result, int* code) {
  (void)args, (void)codes, (void)count;
  *result = __tvm_module_ctx ? 7 : 0;
  *code = 0;
  return 0;
}
)"));
    LinkJob job;
    job.directory = directory.path();
    job.sources = {(directory / "seven.c").native()};
    return linked(container, std::move(job));
  }

  TempDir directory;
  Runtime runtime = make_runtime();
};

TEST_F(Generations, OneRunsCpuCodeWithoutItsDeviceModules) {
  const std::string file = with_seven(test::container_g1().bytes());

  const auto strict = runtime.load(file);
  const auto model = runtime.load(file, {.allow_missing = true});

  ASSERT_FALSE(strict.ok());
  EXPECT_THAT(strict.error().message, ::testing::AllOf(::testing::HasSubstr("\"cuda\""),
                                                       ::testing::HasSubstr("\"opencl\"")));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->missing().value().size(), 2u);
  EXPECT_EQ(model->function("seven").value()()->integer().value(), 7);
}

TEST_F(Generations, ZeroIsReadWithItsSizeSymbol) {
  const auto whole = test::container_g1();
  const auto headless = whole.bytes().subspan(8);
  const std::string file = with_seven(
      headless, concat("const uint64_t __tvm_dev_mblob_nbytes = ", headless.size(), ";\n"));

  const auto model = runtime.load(file, {.allow_missing = true});

  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->missing().value().size(), 2u);
  EXPECT_EQ(model->function("seven").value()()->integer().value(), 7);
}

// The demo's graph and kernels in a tree that only v0.7 wrote: the name of its factory, two `_lib`,
// and a child with a lower index than its parent. The outputs equal those of the artifact that
// `gantry pack` builds from the same recipe.
TEST_F(Generations, TwoRunsAGraphRuntimeFactoryAndSeveralLibraries) {
  const std::filesystem::path demo = std::filesystem::path(GANTRY_SOURCE_DIR) / "tools/demo";
  Recipe recipe = read_recipe(demo / "digits.yaml").value();
  recipe.device_modules.clear();
  const std::filesystem::path packed = directory / "packed.so";
  ASSERT_TRUE(pack(recipe, packed).ok());
  const ElfFile elf = ElfFile::parse(MappedFile::open(packed).value()).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  const Words older = test::layout_one(3,
                                       Words()
                                           .str("GraphRuntimeFactory")
                                           .bytes(container.entries[0].payload)
                                           .str("_lib")
                                           .str("_lib"),
                                       {0, 1, 1, 2}, {2, 1});
  LinkJob job;
  job.directory = recipe.directory;
  job.sources = recipe.sources;
  job.flags = recipe.flags;
  job.libraries = recipe.libraries;
  const Module model = runtime.load(linked(older.bytes(), std::move(job))).value();
  Executor executor = Executor::create(runtime, model, {"cpu"}).value();
  Executor wanted =
      Executor::create(runtime, runtime.load(packed.native()).value(), {"cpu"}).value();
  const test::Digits digits(runtime);

  for (std::int64_t i = 0; i < 20; ++i) {
    for (Executor* each : {&executor, &wanted}) {
      ASSERT_TRUE(each->set_input("x", digits.inputs.row(i).value()).ok());
      ASSERT_TRUE(each->run().ok());
    }
    EXPECT_THAT(executor.output(0)->elements<float>(),
                ::testing::ElementsAreArray(wanted.output(0)->elements<float>()));
  }
}

}  // namespace
}  // namespace gantry
