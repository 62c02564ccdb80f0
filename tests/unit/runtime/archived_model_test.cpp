// SPDX-License-Identifier: Apache-2.0
//
// Models of Model Library Format archives.
#include "tests/unit/mlf/model_archive.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

#include <string>

namespace gantry {
namespace {

using test::ArchiveText;
using test::golden_archive;
using test::make_runtime;
using test::replace_metadata;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ArchivedModel : public ::testing::Test {
 protected:
  std::string write(const ArchiveText& archive) const {
    test::write_file(temp_ / "model.tar", test::tar_of(archive));
    return (temp_ / "model.tar").native();
  }
  // Loads an archive that is refused.
  Error refusal(const ArchiveText& archive) {
    const auto loaded = runtime_.load(write(archive));
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error() : loaded.error();
  }

 private:
  test::TempDir temp_;
  test::Variable cache_{"XDG_CACHE_HOME", (temp_ / "cache").c_str()};

 protected:
  Runtime runtime_ = make_runtime();
};

TEST_F(ArchivedModel, HasTheFactoryOfItsNameAndTheSameModuleEachTime) {
  const std::string path = write(golden_archive("digits_crt_graph_llvm.tar"));

  const auto first = runtime_.load(path), second = runtime_.load(path);

  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(first->get(), second->get());
  EXPECT_TRUE(first->function("digits").ok());
  EXPECT_THAT(first->function("absent").error().message, HasSubstr("of model.tar"));
}

TEST_F(ArchivedModel, ComputesWithItsParameters) {
  for (const char* const name : {"digits_crt_graph_llvm.tar", "digits_cpp_graph_c.tar"}) {
    const auto module = runtime_.load(write(golden_archive(name)));
    ASSERT_TRUE(module.ok()) << module.error().message;
    auto executor = runtime_.executor(*module, {"cpu"}, "digits");
    ASSERT_TRUE(executor.ok()) << name << ": " << executor.error().message;
    const test::Digits digits(runtime_);

    for (const std::int64_t i : {0, 7, 359}) EXPECT_TRUE(digits.run(*executor, i)) << name;
  }
}

TEST_F(ArchivedModel, OfOperatorsIsItsLibrary) {
  ArchiveText archive;
  archive["codegen/host/lib/lib0.o"] =
      golden_archive("digits_crt_graph_llvm.tar")["codegen/host/lib/digits_lib1.o"];
  archive["metadata.json"] = R"({"version": 7, "model_name": "op", "style": "operator",
    "export_datetime": "2022-06-17 00:00:00Z", "target": ["llvm"], "executors": [],
    "memory": {"tvmgen_digits_fused_nn_softmax": []}})";

  const auto module = runtime_.load(write(archive));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_TRUE(module->function("tvmgen_digits_fused_nn_softmax").ok());
}

TEST_F(ArchivedModel, MustBeOneGraph) {
  const Error ahead = refusal(golden_archive("digits_cpp_aot_llvm.tar"));
  EXPECT_EQ(ahead.code, Code::unsupported);
  EXPECT_EQ(ahead.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(ahead.message.text(),
              StartsWith("model \"digits\" is compiled ahead of time (executor \"aot\"), this "
                         "version runs graphs; export it with the graph executor\n"));

  ArchiveText two = golden_archive("digits_cpp_aot_llvm.tar");
  std::string& text = two["metadata.json"];
  const std::size_t first = text.find("\"digits\": {"), last = text.rfind("\n  },");
  const std::string model = text.substr(first, last - first);
  text.insert(first, "\"other\"" + model.substr(8) + ",");
  const Error several = refusal(two);
  EXPECT_EQ(several.code, Code::unsupported);
  EXPECT_EQ(several.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(several.message.text(),
              StartsWith("the archive has 2 models (\"other\", \"digits\"), this version runs "
                         "archives of one\n"));
}

TEST_F(ArchivedModel, MustHaveItsMembers) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive.erase("executor-config/graph/digits.graph");
  const Error graph = refusal(archive);
  EXPECT_EQ(graph.code, Code::malformed);
  EXPECT_EQ(graph.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(graph.message.text(),
              StartsWith("the archive has no \"executor-config/graph/digits.graph\"\n"));

  archive = golden_archive("digits_cpp_graph_c.tar");
  archive.erase("codegen/host/src/digits_lib0.c");
  const Error code = refusal(archive);
  EXPECT_EQ(code.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(code.message.text(), StartsWith("the archive has no code in codegen/host/lib or "
                                              "codegen/host/src\n"));

  archive = golden_archive("digits_cpp_graph_c.tar");
  replace_metadata(archive, "\"style\":",
                   "\"x_library\": {\"path\": \"codegen/digits.so\", \"sha256\": \"\"}, "
                   "\"style\":");
  const Error library = refusal(archive);
  EXPECT_EQ(library.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(library.message.text(),
              StartsWith("x_library is \"codegen/digits.so\", which the archive does not "
                         "contain\n"));
}

TEST_F(ArchivedModel, MustHaveTheDigestOfItsLibrary) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive["codegen/digits.so"] = "abc";
  const std::string wrong(64, '0');
  replace_metadata(archive, "\"style\":",
                   concat("\"x_library\": {\"path\": \"codegen/digits.so\", \"sha256\": \"", wrong,
                          "\"}, \"style\":"));

  const Error error = refusal(archive);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_THAT(error.message.text(),
              StartsWith(concat("library of \"model.tar\" has the SHA-256 digest "
                                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, "
                                "the file states \"",
                                wrong, "\"\n")));
}

TEST_F(ArchivedModel, MustHaveValidMetadataAndParameters) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  replace_metadata(archive, "\"style\": \"full-model\",", "");
  EXPECT_THAT(refusal(archive).message.text(),
              StartsWith("metadata.json: modules.digits.style is missing\n"));

  archive = golden_archive("digits_cpp_graph_c.tar");
  archive["parameters/digits.params"] = "abcdefgh";
  EXPECT_THAT(refusal(archive).message.text(),
              StartsWith("params magic is 0x6867666564636261, expected 0xf7e58d4f05049cb7\n  in "
                         "parameters/digits.params\n"));

  archive = golden_archive("digits_cpp_graph_c.tar");
  archive["../x"] = "";
  EXPECT_THAT(refusal(archive).message.text(),
              StartsWith("member \"../x\" leaves the archive by \"..\"\n"));
}

}  // namespace
}  // namespace gantry
