// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_files.hpp"
#include "core/formats/mlf/model_container.hpp"

#include "core/base/text.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "tests/support/three_files.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::Digits;
using test::make_runtime;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ThreeFiles : public ::testing::Test {
 protected:
  ThreeFiles() { test::write_three_files(temp_.path()); }
  std::string path(std::string_view name) const { return (temp_ / name).native(); }
  GraphFiles files() const {
    return {path("deploy.so"), path("deploy.json"), path("deploy.params")};
  }
  void expect_digits(const Module& module) {
    Executor executor = Executor::create(runtime_, module, {"cpu"}).value();
    const Digits digits(runtime_);
    for (const std::int64_t i : {0, 7, 359}) EXPECT_TRUE(digits.run(executor, i));
  }

  test::TempDir temp_;
  Runtime runtime_ = make_runtime();
};

TEST_F(ThreeFiles, AreOneModel) {
  const auto module = runtime_.load_graph(files());

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "GraphExecutorFactory");
  ASSERT_EQ(module->imports().value().size(), 1u);
  EXPECT_EQ(module->imports().value().front().type_key().value(), "_lib");
  expect_digits(*module);
}

TEST_F(ThreeFiles, OutliveTheirPaths) {
  const Module module = runtime_.load_graph(files()).value();
  fs::remove(path("deploy.params"));
  fs::remove(path("deploy.so"));

  expect_digits(module);
}

TEST_F(ThreeFiles, AreFoundByTheParametersAlone) {
  const auto module = runtime_.load(path("deploy.params"));

  ASSERT_TRUE(module.ok()) << module.error().message;
  expect_digits(*module);
}

TEST_F(ThreeFiles, AreNotFoundWithoutTheGraph) {
  fs::remove(path("deploy.json"));

  const auto module = runtime_.load(path("deploy.params"));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::unsupported);
  EXPECT_EQ(module.error().reason, "FILE_KIND");
  EXPECT_EQ(
      module.error().message,
      path("deploy.params") +
          " is a parameter file, and \"deploy.json\" is not beside it; load it with its graph "
          "and its library");
}

TEST_F(ThreeFiles, AreFoundBesideTheGraph) {
  const auto module = runtime_.load(path("deploy.json"));
  fs::remove(path("deploy.so"));
  const auto alone = runtime_.load(path("deploy.json"));
  test::write_file(path("other.json"), R"({"nodes": 1})");
  const auto other = runtime_.load(path("other.json"));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "GraphExecutorFactory");
  EXPECT_TRUE(Executor::create(runtime_, *module, {"cpu"}).ok());
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, Code::unsupported);
  EXPECT_EQ(alone.error().reason, "FILE_KIND");
  EXPECT_EQ(
      alone.error().message,
      path("deploy.json") +
          " is a graph, and \"deploy.so\" (or .o, .tar) is not beside it; load its library with it "
          "(gantry run FILE.so --graph FILE.json --params FILE.params)");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message.text(), ::testing::Not(HasSubstr(" is a graph")));
}

// deploy.json and deploy.params are those of another model.
TEST_F(ThreeFiles, AreFoundBesideAFileOfAnyName) {
  fs::rename(path("deploy.params"), path("deploy.v2"));
  test::write_file(path("deploy.params"), std::string_view("not parameters"));
  const auto parameters = runtime_.load(path("deploy.v2"));
  fs::rename(path("deploy.v2"), path("deploy.params"));
  fs::rename(path("deploy.json"), path("deploy.graph"));
  test::write_file(path("deploy.json"), std::string_view("not a graph"));
  const auto graph = runtime_.load(path("deploy.graph"));

  ASSERT_TRUE(parameters.ok()) << parameters.error().message;
  expect_digits(*parameters);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  expect_digits(*graph);
}

// Its content determines what a file is: the library keeps its bytes.
TEST_F(ThreeFiles, AreFoundWithALibraryOfAnotherSuffix) {
  std::string last = "deploy.so";
  for (const char* const name : {"deploy.o", "deploy.tar"}) {
    fs::rename(path(last), path(name));
    last = name;

    const auto module = runtime_.load(path("deploy.params"));

    ASSERT_TRUE(module.ok()) << name << ": " << module.error().message;
    expect_digits(*module);
  }
}

// A shared object runs as it is; an object and an archive need a linker.
TEST_F(ThreeFiles, AreThoseOfTheSharedObjectAmongSeveralLibraries) {
  const auto library = [&](bool is_graph) {
    const auto found =
        graph_files_beside(path(is_graph ? "deploy.json" : "deploy.params"), is_graph);
    return found.ok() ? fs::path(found->library).filename().string() : std::string();
  };
  test::write_file(path("deploy.tar"), std::string_view("of an earlier build"));
  test::write_file(path("deploy.o"), std::string_view("of an earlier build"));

  for (const bool is_graph : {true, false}) EXPECT_EQ(library(is_graph), "deploy.so");
  const auto module = runtime_.load(path("deploy.json"));
  ASSERT_TRUE(module.ok()) << module.error().message;
  expect_digits(*module);

  fs::remove(path("deploy.so"));
  for (const bool is_graph : {true, false}) EXPECT_EQ(library(is_graph), "deploy.o");
  fs::remove(path("deploy.o"));
  for (const bool is_graph : {true, false}) EXPECT_EQ(library(is_graph), "deploy.tar");
}

TEST_F(ThreeFiles, NeedTheirPlugin) {
  const test::TempDir none;
  RuntimeOptions options;
  options.plugin_paths = {none.path()};
  options.only_these_plugins = true;
  Runtime runtime = Runtime::create(options).value();

  const auto module = runtime.load_graph(files());

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "NO_PLUGIN");
  EXPECT_THAT(module.error().message, HasSubstr("GraphExecutorFactory"));
}

TEST_F(ThreeFiles, ReportTheWrongOne) {
  GraphFiles wrong = files();
  wrong.params = path("deploy.so");

  const auto module = runtime_.load_graph(wrong);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::malformed);
  EXPECT_EQ(module.error().reason, "PARAMS");
  EXPECT_EQ(module.error().offset, 0u);
  EXPECT_THAT(module.error().message,
              AllOf(StartsWith("params magic is "), HasSubstr("in " + path("deploy.so")),
                    HasSubstr("while loading graph " + path("deploy.json"))));
}

TEST_F(ThreeFiles, MayHaveNoParameters) {
  GraphFiles two = files();
  two.params.clear();

  const auto module = runtime_.load_graph(two);

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(module->function("get_graph_json").value()()->text().value(), HasSubstr("nodes"));
}

// The parameters' data stay in the file.
TEST_F(ThreeFiles, KeepTheParametersMapped) {
  const auto graph = MappedFile::open(path("deploy.json")).value();
  const auto params = MappedFile::open(path("deploy.params")).value();

  const ModelParts parts{
      .text = as_text(graph->bytes()), .file = params.get(), .params = params->bytes()};
  const auto container = model_container("deploy.json", parts).value();

  const Container read =
      read_container_bytes(container->bytes(), PayloadLayouts::built_in()).value();
  ASSERT_EQ(read.entries.size(), 1u);
  const auto golden = MappedFile::open(test::golden("tvm-0.12/digits_mlp_llvm.so")).value();
  const Container original =
      read_container(ElfFile::parse(golden).value(), PayloadLayouts::built_in()).value();
  EXPECT_TRUE(std::ranges::equal(read.entries.front().payload, original.entries.front().payload));
  EXPECT_FALSE(container->is_copy());
}

// The parameters are in the middle of the file, the data of a factory before its name.
TEST(GraphContainer, HasThePartsOfAnArchiveAndItsLibrary) {
  const auto file = MappedFile::open(test::golden("tvm-0.12/digits_crt_graph_llvm.tar")).value();
  const TarFiles members = TarFiles::read(file->bytes()).value();
  const ArchiveMember* const graph = members.find("executor-config/graph/digits.graph");
  const ArchiveMember* const params = members.find("parameters/digits.params");
  ASSERT_TRUE(graph != nullptr && params != nullptr);
  const ModelParts parts{.name = "digits",
                         .text = as_text(graph->content),
                         .file = file.get(),
                         .params = params->content,
                         .has_library = true};

  const auto container = model_container("model.tar", parts).value();

  EXPECT_FALSE(container->is_copy());
  EXPECT_EQ(container->path(), "model.tar");
  const Container read =
      read_container_bytes(container->bytes(), PayloadLayouts::built_in()).value();
  EXPECT_THAT(read.warnings, ::testing::IsEmpty());
  ASSERT_EQ(read.entries.size(), 2u);
  EXPECT_EQ(read.entries[0].type_key, "GraphExecutorFactory");
  EXPECT_EQ(read.entries[1].type_key, "_lib");
  ASSERT_EQ(read.tree.children_of(0).size(), 1u);
  EXPECT_EQ(read.tree.children_of(0).front(), 1u);
  const std::string_view payload = as_text(read.entries[0].payload);
  EXPECT_THAT(payload.substr(8), StartsWith(as_text(graph->content)));
  // The data of the last record precede the name with its length.
  EXPECT_THAT(payload, EndsWith(concat(as_text(params->content.last(8)),
                                       std::string_view("\6\0\0\0\0\0\0\0digits", 14))));
}

// The modules of digits_mlp_aot_llvm.so, under the name of the model.
TEST(GraphContainer, OfCompiledCodeHasTheModulesOfAnExportedLibrary) {
  const auto container =
      model_container("model.tar",
                      {.name = "default", .is_ahead_of_time = true, .has_library = true})
          .value();

  const auto golden = MappedFile::open(test::golden("tvm-0.12/digits_mlp_aot_llvm.so")).value();
  const Container original =
      read_container(ElfFile::parse(golden).value(), PayloadLayouts::built_in()).value();
  EXPECT_TRUE(std::ranges::equal(container->bytes(), original.bytes));
}

}  // namespace
}  // namespace gantry
