// SPDX-License-Identifier: Apache-2.0
//
// The constants of an artifact that Apache TVM exported, and the same in the container of later
// releases, which `gantry repack` writes.
#include "tests/golden/cli_command.hpp"
#include "tests/support/built_runtime.hpp"

#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gantry {
namespace {

using test::golden;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char dnnl[] = "tvm-0.12/digits_mlp_dnnl.so";

class Constants : public ::testing::Test {
 protected:
  Module load(const std::filesystem::path& file) {
    auto loaded = runtime.load(file.string(), {.allow_missing = true});
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *loaded;
  }
  // Name and type of each constant.
  std::map<std::string, std::string> constants_of(const Module& module, const char* function) {
    const auto get = module.function(function);
    EXPECT_TRUE(get.ok()) << get.error().message;
    const std::vector<Any> items = (*get)()->items().value();
    std::map<std::string, std::string> types;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const Tensor tensor = items[i + 1].tensor().value();
      types.emplace(items[i].text().value(), type_text(tensor.dtype(), tensor.shape()));
    }
    return types;
  }
  static auto those_of_dnnl() {
    return ElementsAre(Pair("dnnl_tvmgen_default_dnnl_main_0_const_0", "float32[64, 64]"),
                       Pair("dnnl_tvmgen_default_dnnl_main_2_const_0", "float32[32, 64]"),
                       Pair("dnnl_tvmgen_default_dnnl_main_4_const_0", "float32[10, 32]"),
                       Pair("p3", "float32[64]"), Pair("p4", "float32[32]"),
                       Pair("p5", "float32[10]"));
  }

  const test::TempDir temp;
  Runtime runtime = test::new_runtime();
};

TEST_F(Constants, OfAnArtifactOfTvmAreReturned) {
  EXPECT_THAT(constants_of(load(golden(dnnl)), "get_const_var_ndarray"), those_of_dnnl());
}

TEST_F(Constants, InTheContainerOfLaterReleasesAreReturned) {
  const auto mapped = MappedFile::open(golden(dnnl)).value();
  const ElfFile elf = ElfFile::parse(mapped).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  ASSERT_EQ(container.entries[1].type_key, "const_loader");
  const auto payload = container.entries[1].payload;
  const std::string bytes = temp / "constants.bin", written = temp / "written.so";
  test::write_file(bytes, std::vector<std::uint8_t>(payload.begin(), payload.end()));

  const test::Outcome repack =
      test::run_gantry({"repack", "tvm-0.25/digits_mlp_relax_llvm.so", "--no-load", "--add",
                        concat("const_loader=", bytes, "@0"), "--align", "-o", written});

  ASSERT_EQ(repack.status, 0) << repack.err;
  const Module module = load(written);
  EXPECT_THAT(constants_of(module, "get_const_var_tensor"), those_of_dnnl());
  EXPECT_THAT(constants_of(module, "get_const_var_ndarray"), those_of_dnnl());
}

}  // namespace
}  // namespace gantry
