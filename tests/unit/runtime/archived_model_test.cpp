// SPDX-License-Identifier: Apache-2.0
//
// Models of Model Library Format archives.
#include "core/base/digest/digest.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/unit/mlf/model_archive.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

#include <string>

namespace gantry {
namespace {

using test::ArchiveText;
using test::golden;
using test::golden_archive;
using test::make_runtime;
using test::replace_metadata;
using ::testing::AllOf;
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
    auto executor = Executor::create(runtime_, *module, {"cpu"}, "digits");
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

TEST_F(ArchivedModel, OfSeveralIsNamedIfItIsRefused) {
  ArchiveText two = golden_archive("digits_cpp_graph_c.tar");
  test::add_model(two, "other");
  two.erase("executor-config/graph/other.graph");

  const Error several = refusal(two);

  EXPECT_EQ(several.code, Code::malformed);
  EXPECT_EQ(several.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(several.message.text(),
              AllOf(StartsWith("the archive has no \"executor-config/graph/other.graph\"\n"),
                    HasSubstr("\n  in model \"other\"\n")));
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

// Only one of the two would be compiled.
TEST_F(ArchivedModel, IsRefusedIfTwoSourcesHaveOneNumber) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive["codegen/host/src/digits_lib0.cc"] = "int f() { return 0; }";

  const Error error = refusal(archive);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_THAT(error.message.text(),
              StartsWith("codegen/host/src/digits_lib0.cc has the number of "
                         "\"codegen/host/src/digits_lib0.c\", expected a number for each file of "
                         "code\n"));
}

// Its device modules are those of axpy2_opencl.so.
class ArchivedPayload : public ArchivedModel {
 protected:
  ArchivedPayload() {
    const auto file = MappedFile::open(golden("tvm-0.12/axpy2_opencl.so")).value();
    const ElfFile elf = ElfFile::parse(file).value();
    const Container container = read_container(elf, PayloadLayouts::built_in()).value();
    payload_ = as_text(container.entries.at(1).payload);
  }
  // Adds the payload to an archive.
  void add_to(ArchiveText& archive, const std::string& digest) const {
    archive["codegen/opencl/m_0.bin"] = payload_;
    replace_metadata(archive, "\"style\":",
                     concat("\"x_blobs\": [{\"path\": \"codegen/opencl/m_0.bin\", \"type_key\": "
                            "\"opencl\", \"sha256\": \"",
                            digest, "\"}], \"style\":"));
  }
  std::string digest() const { return hex_text(sha256(as_bytes(payload_))); }
  static ArchiveText operators() {
    ArchiveText archive;
    archive["codegen/host/src/lib0.c"] = "int f(void) { return 0; }";
    archive["metadata.json"] = R"({"version": 7, "model_name": "op", "style": "operator",
      "export_datetime": "2022-06-17 00:00:00Z", "target": ["c"], "executors": [],
      "memory": {"f": []}})";
    return archive;
  }

  std::string payload_;
};

TEST_F(ArchivedPayload, IsAModuleThatTheLibraryOfTheGraphImports) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  add_to(archive, digest());
  const std::string path = write(archive);

  // The model states the CPU, so that only a strict load requires the plugin.
  const auto refused = runtime_.load(path, {.strict = true});
  const auto module = runtime_.load(path, {.allow_missing = true});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "NO_PLUGIN");
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Module library = module->imports().value().at(0);
  EXPECT_EQ(library.type_key().value(), "_lib");
  ASSERT_EQ(library.imports().value().size(), 1u);
  EXPECT_EQ(library.imports().value()[0].type_key().value(), "opencl");
  EXPECT_THAT(module->missing().value().front(), HasSubstr("opencl"));
  auto executor = Executor::create(runtime_, *module, {"cpu"}, "digits");
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  EXPECT_TRUE(test::Digits(runtime_).run(*executor, 7));
}

TEST_F(ArchivedPayload, IsAModuleThatTheLibraryOfOperatorsImports) {
  ArchiveText archive = operators();
  add_to(archive, digest());

  const auto module = runtime_.load(write(archive), {.allow_missing = true});

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "_lib");
  EXPECT_TRUE(module->function("f").ok());
  ASSERT_EQ(module->imports().value().size(), 1u);
  EXPECT_EQ(module->imports().value()[0].type_key().value(), "opencl");
}

TEST_F(ArchivedPayload, MustExistAndHaveItsDigest) {
  ArchiveText archive = operators();
  const std::string wrong(64, '0');
  add_to(archive, wrong);
  const Error digest_error = refusal(archive);
  EXPECT_EQ(digest_error.code, Code::malformed);
  EXPECT_THAT(digest_error.message.text(),
              StartsWith(concat("\"codegen/opencl/m_0.bin\" has the SHA-256 digest ", digest(),
                                ", x_blobs states \"", wrong, "\"\n")));

  archive.erase("codegen/opencl/m_0.bin");
  const Error missing = refusal(archive);
  EXPECT_EQ(missing.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(missing.message.text(),
              StartsWith("x_blobs has \"codegen/opencl/m_0.bin\", which the "
                         "archive does not contain\n"));
}

// The model "digits" has C sources, "other" a library whose factory is "default".
class SeveralModels : public ArchivedModel {
 protected:
  SeveralModels() : archive_(golden_archive("digits_cpp_graph_c.tar")) {
    const auto library = test::read_file(golden("tvm-0.12/digits_mlp_llvm.so"));
    replace_metadata(archive_, "\"style\":",
                     concat("\"x_library\": {\"path\": \"codegen/other.so\", \"sha256\": \"",
                            hex_text(sha256(library)), "\"}, \"style\":"));
    test::add_model(archive_, "other");
    archive_["codegen/other.so"] = as_text(library);
    std::string& text = archive_["metadata.json"];
    const std::size_t second = text.rfind("\"x_library\"");
    text.erase(second, text.find("\"style\"", second) - second);
  }

  ArchiveText archive_;
};

TEST_F(SeveralModels, AreAModuleThatHasAFactoryForEach) {
  const auto module = runtime_.load(write(archive_));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->type_key().value(), "ModelLibrary");
  EXPECT_EQ(module->functions().value(),
            (std::vector<std::string>{"list_module_names", "other", "digits"}));
  const std::vector<Any> names =
      module->function("list_module_names").value()().value().items().value();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].text().value(), "other");
  EXPECT_EQ(names[1].text().value(), "digits");
  for (const char* const name : {"digits", "other"}) {
    auto executor = Executor::create(runtime_, *module, {"cpu"}, name);
    ASSERT_TRUE(executor.ok()) << name << ": " << executor.error().message;
    EXPECT_TRUE(test::Digits(runtime_).run(*executor, 7)) << name;
  }
}

TEST_F(SeveralModels, AreLibrariesOfTheirOwn) {
  const auto module = runtime_.load(write(archive_));

  ASSERT_TRUE(module.ok()) << module.error().message;
  const std::vector<Module> models = module->imports().value();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_FALSE(models[0].function("tvmgen_digits_fused_nn_softmax").ok());
  EXPECT_TRUE(models[1].function("tvmgen_digits_fused_nn_softmax").ok());
  EXPECT_THAT(models[1].function("absent").error().message,
              HasSubstr("of model \"digits\" of model.tar"));
  EXPECT_EQ(runtime_.load(write(archive_))->imports().value().size(), 2u);
}

TEST_F(SeveralModels, AreFunctionsOfAModel) {
  const auto module = runtime_.load(write(archive_));
  ASSERT_TRUE(module.ok()) << module.error().message;

  const auto model = runtime_.model(*module, {"cpu"});

  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->functions().value(), (std::vector<std::string>{"digits", "other"}));
  const auto other = model->function("other");
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->name(), "other");
  EXPECT_EQ(other->inputs()->front().name, "x");
}

TEST_F(SeveralModels, MustBeChosenByName) {
  const auto module = runtime_.load(write(archive_));
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto model = runtime_.model(*module, {"cpu"}).value();

  const auto none = model.function();
  const auto wrong = model.function("digit");

  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::not_found);
  EXPECT_EQ(none.error().reason, "ARCHIVE_MODEL");
  EXPECT_EQ(none.error().message,
            "the archive has 2 models, one must be named\n  \"other\"\n  \"digits\"");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::not_found);
  EXPECT_THAT(wrong.error().message.text(),
              AllOf(StartsWith("model \"digit\" of the archive not found"), HasSubstr("\"digits\""),
                    HasSubstr("\n  \"other\"")));
}

TEST_F(SeveralModels, AreNamedInTheErrorOfOne) {
  archive_.erase("executor-config/graph/digits.graph");

  const Error error = refusal(archive_);

  EXPECT_EQ(error.reason, "ARCHIVE_MODEL");
  EXPECT_THAT(error.message.text(),
              StartsWith("the archive has no \"executor-config/graph/digits.graph\"\n  in model "
                         "\"digits\"\n"));
}

// Its digest is not computed; `gantry mlf validate` does that.
TEST_F(ArchivedModel, UsesTheLibraryWhereItIs) {
  const auto library = test::read_file(golden("tvm-0.12/digits_mlp_llvm.so"));
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive["codegen/digits.so"] = as_text(library);
  replace_metadata(archive, "\"style\":",
                   concat("\"x_library\": {\"path\": \"codegen/digits.so\", \"sha256\": \"",
                          std::string(64, '0'), "\"}, \"style\":"));
  const std::string path = write(archive);

  for (int i = 0; i < 2; ++i) {
    const auto module = runtime_.load(path);
    ASSERT_TRUE(module.ok()) << module.error().message;
    auto executor = Executor::create(runtime_, *module, {"cpu"});
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    EXPECT_TRUE(test::Digits(runtime_).run(*executor, 7));
  }
  const auto from_memory = runtime_.load_bytes(test::read_file(path), "model.tar");
  ASSERT_TRUE(from_memory.ok()) << from_memory.error().message;
  EXPECT_TRUE(Executor::create(runtime_, *from_memory, {"cpu"}).ok());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path() / "cache/linked"));
}

TEST_F(ArchivedModel, NamesTheLibraryThatIsRefused) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive["codegen/digits.so"] = "abc";
  replace_metadata(archive, "\"style\":",
                   "\"x_library\": {\"path\": \"codegen/digits.so\", \"sha256\": \"\"}, "
                   "\"style\":");
  EXPECT_THAT(refusal(archive).message.text(), HasSubstr("codegen/digits.so"));

  archive["codegen/digits.so"] = "";
  const Error empty = refusal(archive);
  EXPECT_EQ(empty.reason, "FILE_EMPTY");
  EXPECT_THAT(empty.message.text(), HasSubstr("model.tar/codegen/digits.so is empty"));
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
