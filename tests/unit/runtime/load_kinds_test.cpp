// SPDX-License-Identifier: Apache-2.0
//
// Files that are not shared libraries.
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/params_file.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

namespace gantry {
namespace {

using test::golden;
using test::make_runtime;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LoadKind : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).native(); }
  std::string write(std::string_view name, std::span<const std::uint8_t> bytes) const {
    test::write_file(temp_ / name, bytes);
    return path(name);
  }
  // The container of a golden library, without the library.
  std::string bare_container(std::string_view library) const {
    const auto file = MappedFile::open(golden(library)).value();
    const Container container =
        read_container(ElfFile::parse(file).value(), PayloadLayouts::built_in()).value();
    return write("bare.bin", container.bytes);
  }

 private:
  test::TempDir temp_;
  test::Variable cache_{"XDG_CACHE_HOME", path("cache").c_str()};

 protected:
  Runtime runtime_ = make_runtime();
};

Tensor ramp(Runtime& runtime, float factor) {
  Tensor made = runtime.tensor({7}, {2, 32, 1}).value();
  const std::span<float> values = made.elements<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * static_cast<float>(i);
  return made;
}

TEST_F(LoadKind, RunsAnObject) {
  const Module module = runtime_.load(golden("relax/tir_syslib_llvm.o").native()).value();
  const Tensor a = ramp(runtime_, 1), b = ramp(runtime_, 10), c = ramp(runtime_, 0);

  const auto called = module.function("axpy").value()(a, b, c, 2.5, 7);

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(c.elements<float>()[4], 2.5f * 4 + 40);
}

TEST_F(LoadKind, ReturnsTheSameModuleForTheSameObject) {
  const std::string file = golden("relax/tir_syslib_llvm.o").native();
  const Module first = runtime_.load(file).value();

  EXPECT_EQ(runtime_.load(file)->get(), first.get());
}

TEST_F(LoadKind, NamesTheObjectInErrors) {
  const Module module = runtime_.load(golden("relax/tir_syslib_llvm.o").native()).value();

  EXPECT_THAT(module.function("absent").error().message,
              HasSubstr("looked in entry 0 \"_lib\" of tir_syslib_llvm.o"));
}

TEST_F(LoadKind, FindsTheModulesOfABareContainer) {
  const Module module = runtime_.load(bare_container("tvm-0.12/digits_mlp_llvm.so")).value();

  EXPECT_EQ(module.type_key().value(), "GraphExecutorFactory");
  const auto json = module.function("get_graph_json").value()();
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_THAT(json->text().value(), HasSubstr("nodes"));
  EXPECT_THAT(module.missing().value(),
              ElementsAre("entry 1 \"_lib\" of bare.bin is not bound: the file is a container "
                          "without it"));
}

TEST_F(LoadKind, LoadsABareContainerAgain) {
  const std::string file = bare_container("tvm-0.12/digits_mlp_llvm.so");
  const Module first = runtime_.load(file).value();

  const auto again = runtime_.load(file);

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->get(), first.get());
}

TEST_F(LoadKind, ReportsCpuCodeThatABareContainerLacks) {
  const Module module = runtime_.load(bare_container("tvm-0.12/digits_mlp_llvm.so")).value();

  const auto executor = Executor::create(runtime_, module, {"cpu"});

  ASSERT_FALSE(executor.ok());
  EXPECT_THAT(executor.error().message,
              AllOf(HasSubstr("tvmgen_default_fused"),
                    HasSubstr("entry 1 \"_lib\" of bare.bin is not bound")));
}

TEST_F(LoadKind, RefusesABareContainerWithoutItsPlugin) {
  const auto module = runtime_.load(bare_container("tvm-0.12/axpy2_opencl.so"));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "NO_PLUGIN");
}

TEST_F(LoadKind, RefusesEveryTruncationOfABareContainer) {
  const auto whole = test::read_file(bare_container("tvm-0.12/digits_mlp_llvm.so"));
  for (std::size_t size = 1; size < whole.size(); size += whole.size() / 64) {
    EXPECT_FALSE(runtime_.load(write("cut.bin", std::span(whole).first(size))).ok())
        << "accepted the first " << size << " bytes";
  }
}

TEST_F(LoadKind, RefusesParametersAlone) {
  const std::string bytes = test::params_bytes({});
  const std::string file =
      write("deploy.params", {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});

  const auto module = runtime_.load(file);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::unsupported);
  EXPECT_EQ(module.error().reason, "FILE_KIND");
  EXPECT_EQ(module.error().message,
            file +
                " is a parameter file, and \"deploy.so\" (or .o, .tar) and \"deploy.json\" are not "
                "beside it; load it with its graph and its library");
}

TEST_F(LoadKind, ListsTheMembersOfAnArchiveWithoutAnObject) {
  std::string archive = "!<arch>\n";
  archive += "notes.txt/      0           0     0     100644  2         `\nhi";
  const std::string file =
      write("notes.a", {reinterpret_cast<const std::uint8_t*>(archive.data()), archive.size()});

  const auto module = runtime_.load(file);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "FILE_KIND");
  EXPECT_THAT(module.error().message,
              StartsWith(file + " is an ar archive without an object file or a C source, it has "
                                "\"notes.txt\""));
}

}  // namespace
}  // namespace gantry
