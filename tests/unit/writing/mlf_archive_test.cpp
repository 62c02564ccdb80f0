// SPDX-License-Identifier: Apache-2.0
#include "core/writing/mlf_archive.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/text.hpp"
#include "core/formats/arrays/params.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/tar_archive.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/mlf/model_archive.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using test::ArchiveText;

Result<Pieces> exported(const std::filesystem::path& path, const MlfExportOptions& options = {}) {
  const auto file = MappedFile::open(path).value();
  const ElfFile elf = ElfFile::parse(file).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  return mlf_of_artifacts(std::vector{MlfArtifact{file, container, options.name}}, options);
}

// Members by name.
ArchiveText members_of(const Pieces& archive) {
  const auto bytes = test::bytes_of(archive);
  ArchiveText text;
  const auto files = TarFiles::read(bytes);
  EXPECT_TRUE(files.ok());
  for (const auto& [name, member] : files->all()) text[name] = as_text(member.content);
  return text;
}

MlfMetadata metadata_of(const ArchiveText& archive) {
  Findings findings;
  return read_mlf_metadata(archive.at("metadata.json"), findings).value();
}

std::vector<std::string> names_of(const ArchiveText& archive) {
  std::vector<std::string> names;
  for (const auto& [name, text] : archive) names.push_back(name);
  return names;
}

// Writes an archive, opens it and exports it again.
Result<Pieces> exported_again(const std::vector<std::uint8_t>& bytes,
                              const MlfExportOptions& options = {}) {
  static const test::TempDir directory;
  test::write_file(directory / "archive.tar", bytes);
  static std::shared_ptr<const MappedFile> file;
  file = MappedFile::open(directory / "archive.tar").value();
  GANTRY_TRY(const ModelLibrary archive, open_model_library(file->bytes()));
  return mlf_of_archive(file, archive, options);
}

TEST(MlfOfArtifact, HasTheGraphTheParametersAndTheLibrary) {
  const auto archive = exported(test::golden("tvm-0.12/digits_mlp_llvm.so"));

  ASSERT_TRUE(archive.ok()) << archive.error().message;
  const ArchiveText members = members_of(*archive);
  EXPECT_THAT(names_of(members),
              ElementsAre("README.md", "codegen/default.so", "executor-config/graph/default.graph",
                          "metadata.json", "parameters/default.params"));
  EXPECT_EQ(test::findings_of(members), "");
  EXPECT_EQ(members.at("codegen/default.so"),
            as_text(test::read_file(test::golden("tvm-0.12/digits_mlp_llvm.so"))));
  const MlfModel model = metadata_of(members).models.at(0);
  EXPECT_EQ(model.export_datetime, "1970-01-01 00:00:00Z");
  EXPECT_EQ(model.targets.at(0).text, "llvm");
  EXPECT_EQ(model.main.at(0).constants_size_bytes, 26280u);
  EXPECT_THAT(members.at("README.md"), HasSubstr("- `codegen/default.so`, 76344 bytes\n"));
}

// The arrays have the order of the factory, TVM's own archive has another one.
TEST(MlfOfArtifact, HasTheParametersOfTvm) {
  const ArchiveText members = members_of(*exported(test::golden("tvm-0.12/digits_mlp_llvm.so")));
  const std::string mine = members.at("parameters/default.params");
  const std::string tvm =
      test::golden_archive("digits_cpp_graph_c.tar")["parameters/digits.params"];
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  const auto read = read_params(bytes(mine)), expected = read_params(bytes(tvm));

  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), expected->size());
  EXPECT_EQ(mine.size(), tvm.size());
  for (const Param& one : *expected) {
    const auto same = std::ranges::find(*read, one.name, &Param::name);
    ASSERT_NE(same, read->end()) << one.name;
    EXPECT_THAT(same->array.data, ::testing::ElementsAreArray(one.array.data)) << one.name;
  }
}

TEST(MlfOfArtifact, CarriesThePayloadsOfDevices) {
  const auto archive =
      exported(test::golden("tvm-0.12/digits_mlp_opencl.so"), {.version = 5, .name = "digits"});

  ASSERT_TRUE(archive.ok()) << archive.error().message;
  const ArchiveText members = members_of(*archive);
  EXPECT_EQ(test::findings_of(members), "");
  EXPECT_THAT(
      names_of(members),
      ElementsAre("README.md", "codegen/digits.so", "codegen/opencl/digits_0.bin",
                  "executor-config/graph/graph.json", "metadata.json", "parameters/digits.params"));
  const MlfModel model = metadata_of(members).models.at(0);
  ASSERT_EQ(model.blobs.size(), 1u);
  EXPECT_EQ(model.blobs[0].type_key, "opencl");
  ASSERT_EQ(model.targets.size(), 2u);
  EXPECT_EQ(model.targets[1].device_type, "4");
}

TEST(MlfOfArtifact, IsTheSameEachTimeAndInAnyDirectory) {
  const auto source = test::golden("tvm-0.12/resnet20_c.so");
  const test::TempDir directory;
  std::filesystem::copy_file(source, directory / "other.so");

  const auto first = exported(source), second = exported(directory / "other.so");

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(test::bytes_of(*first) == test::bytes_of(*second));
  EXPECT_EQ(test::findings_of(members_of(*first)), "");
  EXPECT_LT(first->memory_bytes(), 64u * 1024);
}

// A change of these bytes is a change of the format that we write.
TEST(MlfOfArtifact, HasThisDigest) {
  const auto archive =
      exported(test::golden("tvm-0.12/digits_mlp_llvm.so"),
               {.name = "digits", .export_datetime = "2026-11-20 13:35:47Z", .targets = {"llvm"}});

  EXPECT_EQ(hex_text(sha256(test::bytes_of(*archive))),
            "69931f264fa5c058e9a5b814151de67313e1cb333094a92a4b6f237618d3e94c");
}

TEST(MlfOfArtifact, HasTheOptions) {
  const auto archive =
      exported(test::golden("tvm-0.12/digits_mlp_c.so"), {.name = "m-1.0",
                                                          .export_datetime = "2026-11-20 13:35:47Z",
                                                          .targets = {"c -keys=arm_cpu", "cuda"}});

  const MlfModel model = metadata_of(members_of(*archive)).models.at(0);
  EXPECT_EQ(model.name, "m-1.0");
  EXPECT_EQ(model.export_datetime, "2026-11-20 13:35:47Z");
  ASSERT_EQ(model.targets.size(), 2u);
  EXPECT_EQ(model.targets[1].text, "cuda");
}

TEST(MlfOfArtifact, RefusesOtherModulesNamesAndVersions) {
  const auto no_graph = exported(test::golden("tvm-0.12/axpy2_opencl.so"));
  const auto no_name = exported(test::golden("tvm-0.12/digits_mlp_c.so"), {.name = "a/b"});
  const auto no_version = exported(test::golden("tvm-0.12/digits_mlp_c.so"), {.version = 6});

  ASSERT_FALSE(no_graph.ok());
  EXPECT_EQ(no_graph.error().code, Code::not_found);
  EXPECT_EQ(
      no_graph.error().message,
      "no module is a graph (GraphExecutorFactory), the modules are \"_lib\", \"opencl\"\n  in " +
          test::golden("tvm-0.12/axpy2_opencl.so").native());
  ASSERT_FALSE(no_name.ok());
  EXPECT_EQ(no_name.error().code, Code::invalid);
  EXPECT_THAT(no_name.error().message,
              StartsWith("name of the model is \"a/b\", expected letters, digits, \"_\", \"-\" and "
                         "\".\"\n"));
  ASSERT_FALSE(no_version.ok());
  EXPECT_EQ(no_version.error().message, "version is 6, this version writes 5 and 7");
}

TEST(MlfOfArtifacts, HasAModelOfEach) {
  const auto named = [](const char* file, const char* name) {
    const auto library = MappedFile::open(test::golden(file)).value();
    const ElfFile elf = ElfFile::parse(library).value();
    return MlfArtifact{library, read_container(elf, PayloadLayouts::built_in()).value(), name};
  };
  const auto export_as = [&](const char* first, const char* second, std::uint64_t version) {
    const std::vector artifacts = {named("tvm-0.12/digits_mlp_c.so", first),
                                   named("tvm-0.12/resnet20_c.so", second)};
    return mlf_of_artifacts(artifacts, {.version = version});
  };

  const auto two = export_as("digits", "resnet20", 7);
  const auto same = export_as("", "", 7);
  const auto old = export_as("a", "b", 5);

  ASSERT_TRUE(two.ok()) << two.error().message;
  const ArchiveText members = members_of(*two);
  EXPECT_THAT(
      names_of(members),
      ElementsAre("README.md", "codegen/digits.so", "codegen/resnet20.so",
                  "executor-config/graph/digits.graph", "executor-config/graph/resnet20.graph",
                  "metadata.json", "parameters/digits.params", "parameters/resnet20.params"));
  EXPECT_EQ(metadata_of(members).models.size(), 2u);
  EXPECT_EQ(test::findings_of(members), "");
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(same.error().code, Code::invalid);
  EXPECT_EQ(same.error().message, "two models have the name \"default\"; name each of the 2");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().message, "archive has 2 models, version 5 has one");
}

TEST(MlfOfArchive, KeepsTheMembersOfVersion7) {
  for (const char* name :
       {"digits_cpp_graph_c.tar", "digits_crt_graph_llvm.tar", "digits_cpp_aot_llvm.tar"}) {
    ArchiveText before = test::golden_archive(name);
    const auto archive = exported_again(test::tar_of(before));

    ASSERT_TRUE(archive.ok()) << archive.error().message;
    ArchiveText after = members_of(*archive);
    EXPECT_EQ(after.erase("README.md"), 1u);
    EXPECT_TRUE(after == before) << name;
  }
}

TEST(MlfOfArchive, ChangesTheVersionInBothDirections) {
  const ArchiveText before = test::golden_archive("digits_cpp_graph_c.tar");
  const auto five = exported_again(test::tar_of(before), {.version = 5});
  ASSERT_TRUE(five.ok()) << five.error().message;
  const ArchiveText old = members_of(*five);
  EXPECT_EQ(test::findings_of(old), "");
  EXPECT_THAT(names_of(old), ElementsAre("README.md", "codegen/host/src/digits_lib0.c",
                                         "executor-config/graph/graph.json", "metadata.json",
                                         "parameters/digits.params", "src/relay.txt"));

  const auto seven = exported_again(test::bytes_of(*five));

  ASSERT_TRUE(seven.ok()) << seven.error().message;
  ArchiveText again = members_of(*seven);
  again.erase("README.md");
  EXPECT_TRUE(again == before);
}

// Version 1: code without the model's name, memory as a list, and wrong sizes in it.
TEST(MlfOfArchive, UpgradesVersion1WithTheMemoryOfTheGraph) {
  ArchiveText archive = test::golden_archive("digits_cpp_graph_c.tar");
  archive["runtime-config/graph/graph.json"] = archive["executor-config/graph/digits.graph"];
  archive["relay.txt"] = archive["src/digits.relay"];
  archive["codegen/host/src/lib0.c"] = archive["codegen/host/src/digits_lib0.c"];
  archive["runtime/extra.txt"] = "C runtime";
  for (const char* name : {"executor-config/graph/digits.graph", "src/digits.relay",
                           "codegen/host/src/digits_lib0.c"}) {
    archive.erase(name);
  }
  archive["metadata.json"] = R"({"version": 1, "model_name": "digits", "runtimes": ["graph"],
    "export_datetime": "2021-03-10 00:00:00Z", "target": {"1": "c"},
    "memory": [{"storage_id": 0, "size_bytes": 1}]})";

  const auto upgraded = exported_again(test::tar_of(archive), {.name = "numbers"});

  ASSERT_TRUE(upgraded.ok()) << upgraded.error().message;
  const ArchiveText members = members_of(*upgraded);
  EXPECT_EQ(test::findings_of(members), "");
  EXPECT_THAT(names_of(members),
              ElementsAre("README.md", "codegen/host/src/numbers_lib0.c",
                          "executor-config/graph/numbers.graph", "metadata.json",
                          "parameters/numbers.params", "runtime/extra.txt", "src/numbers.relay"));
  const MlfModel model = metadata_of(members).models.at(0);
  EXPECT_EQ(model.sids->size(), 9u);
  EXPECT_EQ(model.main.at(0).io_size_bytes, 296u);
  EXPECT_EQ(model.functions.size(), 4u);
  EXPECT_EQ(model.export_datetime, "2021-03-10 00:00:00Z");
}

// "lib" is part of the model's name.
TEST(MlfOfArchive, KeepsTheCodeOfAModelWhoseNameContainsLib) {
  const auto named = exported_again(test::tar_of(test::golden_archive("digits_crt_graph_llvm.tar")),
                                    {.name = "calibnet"});
  ASSERT_TRUE(named.ok()) << named.error().message;
  const ArchiveText before = members_of(*named);
  EXPECT_TRUE(before.contains("codegen/host/lib/calibnet_lib0.o"));
  EXPECT_EQ(test::findings_of(before), "");

  const auto again = exported_again(test::tar_of(before));

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(members_of(*again) == before);
}

TEST(MlfOfArchive, HasAReadmeWithTheCommandThatRunsIt) {
  const auto readme_of = [](const ArchiveText& archive, const MlfExportOptions& options = {}) {
    const auto exported = exported_again(test::tar_of(archive), options);
    EXPECT_TRUE(exported.ok()) << exported.error().message;
    return members_of(*exported).at("README.md");
  };
  ArchiveText archive = test::golden_archive("digits_cpp_aot_llvm.tar");
  EXPECT_THAT(readme_of(archive),
              StartsWith("# digits\n\nModel Library Format, version 7, written by gantry.\n\n"
                         "`metadata.json` describes the model. `gantry run` runs this archive, "
                         "`gantry mlf show` lists it.\n"));
  test::add_model(archive, "other");
  EXPECT_THAT(
      readme_of(archive),
      StartsWith("# other, digits\n\nModel Library Format, version 7, written by "
                 "gantry.\n\n`metadata.json` describes the models. `gantry run --function` runs "
                 "one of them, `gantry mlf show` lists it.\n"));
  ArchiveText graphs = test::golden_archive("digits_cpp_graph_c.tar");
  test::add_model(graphs, "other");
  EXPECT_THAT(readme_of(graphs), HasSubstr(" `gantry run --function` runs one of them, "));

  ArchiveText operators;
  operators["codegen/host/src/lib0.c"] = "int f(void) { return 0; }";
  operators["metadata.json"] = R"({"version": 7, "model_name": "op", "style": "operator",
    "export_datetime": "2022-06-17 00:00:00Z", "target": ["c"], "executors": [],
    "memory": {"f": []}})";
  EXPECT_THAT(readme_of(operators), HasSubstr(" `gantry run --function` calls its functions, "));

  // Ours is written again, because it lists the members; others are kept.
  ArchiveText graph = test::golden_archive("digits_cpp_graph_c.tar");
  graph["README.md"] = readme_of(graph, {.version = 5});
  EXPECT_THAT(readme_of(graph), StartsWith("# digits\n\nModel Library Format, version 7,"));
  EXPECT_THAT(readme_of(graph), HasSubstr("- `executor-config/graph/digits.graph`"));
  graph["README.md"] = "# digits\n\nModel Library Format, version 7, written by hand.\n";
  EXPECT_EQ(readme_of(graph), graph["README.md"]);
}

TEST(MlfOfArchive, RefusesToRenameAheadOfTimeCode) {
  const ArchiveText archive = test::golden_archive("digits_cpp_aot_llvm.tar");
  const auto renamed = exported_again(test::tar_of(archive), {.name = "numbers"});
  ASSERT_FALSE(renamed.ok());
  EXPECT_EQ(renamed.error().code, Code::invalid);
  EXPECT_EQ(renamed.error().message,
            "model \"digits\" cannot be renamed to \"numbers\": it is compiled ahead of time, its "
            "functions are named tvmgen_digits_*; omit the name");

  EXPECT_TRUE(exported_again(test::tar_of(archive), {.name = "digits"}).ok());
}

TEST(MlfOfArchive, RefusesANameForSeveralModelsAndMembersThatCollide) {
  ArchiveText two = test::golden_archive("digits_cpp_aot_llvm.tar");
  test::add_model(two, "other");
  const auto renamed = exported_again(test::tar_of(two), {.name = "x"});
  ASSERT_FALSE(renamed.ok());
  EXPECT_EQ(renamed.error().message, "archive has 2 models, only one can be renamed");
  const auto five = exported_again(test::tar_of(two), {.version = 5});
  ASSERT_FALSE(five.ok());
  EXPECT_EQ(five.error().message, "archive has 2 models, version 5 has one");

  ArchiveText colliding = test::golden_archive("digits_cpp_graph_c.tar");
  colliding["src/relay.txt"] = "";
  const auto collision = exported_again(test::tar_of(colliding), {.version = 5});
  ASSERT_FALSE(collision.ok());
  EXPECT_EQ(collision.error().code, Code::invalid);
  EXPECT_EQ(collision.error().message,
            "members \"src/relay.txt\" and another would both be \"src/relay.txt\"");
}

TEST(MlfOfArchive, RefusesAnArchiveWithErrors) {
  ArchiveText archive = test::golden_archive("digits_cpp_aot_llvm.tar");
  test::replace_metadata(archive, "\"style\": \"full-model\",", "");
  const auto missing = exported_again(test::tar_of(archive));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::malformed);
  EXPECT_EQ(missing.error().message, "metadata.json: modules.digits.style is missing");

  test::replace_metadata(archive, "\"model_name\": \"digits\",", "");
  const auto both = exported_again(test::tar_of(archive));
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.error().message.text(),
              StartsWith("metadata.json: modules.digits.model_name is missing; gantry mlf validate "
                         "lists all errors"));
}

}  // namespace
}  // namespace gantry
