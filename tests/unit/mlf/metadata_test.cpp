// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/metadata.hpp"

#include "tests/unit/mlf/model_archive.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::golden_archive;
using ::testing::ElementsAre;

constexpr std::string_view v1 = R"({
  "version": 1, "model_name": "m", "export_datetime": "2021-03-10 00:00:00Z",
  "memory": [{"storage_id": 0, "size_bytes": 4, "input_binding": "x"}],
  "target": {"1": "c -keys=cpu"}, "runtimes": ["graph"]})";
constexpr std::string_view v2 = R"({
  "version": 2, "model_name": "m", "export_datetime": "2021-05-07 00:00:00Z",
  "memory": {"sids": [{"storage_id": 0, "size_bytes": 4}],
             "functions": {"main": [], "operator_functions": []}},
  "target": {"1": "c"}, "runtimes": ["graph"]})";
constexpr std::string_view operator_v7 = R"({
  "version": 7, "model_name": "add", "export_datetime": "2022-06-17 00:00:00Z",
  "memory": {"add": [{"size_bytes": 8, "shape": [2], "dtype": "float32", "input_binding": "a"},
                     {"size_bytes": 8, "shape": [2], "dtype": "float32"}]},
  "target": ["c"], "executors": [], "style": "operator"})";

MlfMetadata read(std::string_view text) {
  Findings findings;
  const auto metadata = read_mlf_metadata(text, findings);
  EXPECT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_EQ(test::text_of(findings), "");
  return *metadata;
}

std::string findings_in(std::string_view text) {
  Findings findings;
  const auto metadata = read_mlf_metadata(text, findings);
  return metadata.ok() ? test::text_of(findings) : metadata.error().message.text();
}

std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  test::replace(changed, from, to);
  return changed;
}

TEST(MlfMetadata, OfVersion7HasNamedModels) {
  const MlfMetadata metadata = read(golden_archive("digits_cpp_graph_c.tar")["metadata.json"]);

  EXPECT_EQ(metadata.version, 7u);
  ASSERT_EQ(metadata.models.size(), 1u);
  const MlfModel& model = metadata.models[0];
  EXPECT_EQ(model.name, "digits");
  EXPECT_EQ(model.model_name, "digits");
  EXPECT_EQ(model.export_datetime, "2026-11-20 13:35:47Z");
  EXPECT_THAT(model.executors, ElementsAre("graph"));
  EXPECT_EQ(model.style, "full-model");
  ASSERT_EQ(model.targets.size(), 1u);
  EXPECT_EQ(model.targets[0].text, "c -keys=cpu ");
  ASSERT_TRUE(model.sids.has_value());
  EXPECT_EQ(model.sids->size(), 9u);
  EXPECT_EQ((*model.sids)[1], (MlfStorage{1, 16384, "p0"}));
  ASSERT_EQ(model.main.size(), 1u);
  EXPECT_EQ(model.main[0].device, 1);
  EXPECT_EQ(model.main[0].constants_size_bytes, 26280u);
  ASSERT_TRUE(model.main[0].inputs.has_value());
  EXPECT_EQ(model.main[0].inputs->at(0).name, "x");
  EXPECT_EQ(model.main[0].inputs->at(0).size, 256u);
  ASSERT_EQ(model.functions.size(), 4u);
  EXPECT_EQ(model.functions[3].function_name, "tvmgen_digits_fused_nn_softmax");
  EXPECT_EQ(model.functions[3].workspace.at(0).workspace_size_bytes, 80u);
}

TEST(MlfMetadata, OfAnAheadOfTimeModelHasNoStorage) {
  const MlfMetadata metadata = read(golden_archive("digits_cpp_aot_llvm.tar")["metadata.json"]);

  EXPECT_THAT(metadata.models[0].executors, ElementsAre("aot"));
  EXPECT_FALSE(metadata.models[0].sids.has_value());
}

TEST(MlfMetadata, OfVersion1HasAListOfStorage) {
  const MlfModel model = read(v1).models[0];

  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.style, "full-model");
  EXPECT_THAT(model.executors, ElementsAre("graph"));
  EXPECT_EQ(model.targets.at(0).device_type, "1");
  EXPECT_EQ(model.sids->at(0), (MlfStorage{0, 4, "x"}));
}

TEST(MlfMetadata, OfVersions2To6IsFlat) {
  EXPECT_EQ(read(v2).version, 2u);
  EXPECT_EQ(read(with(v2, "\"version\": 2", "\"version\": 3")).version, 3u);
  const std::string v4 = with(v2, "\"version\": 2", "\"version\": 4, \"style\": \"full-model\"");
  EXPECT_EQ(read(v4).version, 4u);
  const std::string v5 =
      with(with(v4, "\"version\": 4", "\"version\": 5"), "runtimes", "executors");
  EXPECT_EQ(read(v5).models[0].executors.size(), 1u);
  const std::string v6 =
      with(with(v5, "\"version\": 5", "\"version\": 6"), "{\"1\": \"c\"}", "[\"c\"]");
  EXPECT_EQ(read(v6).models[0].targets[0].device_type, "");
}

TEST(MlfMetadata, OfOperatorsIsFlatInVersion7) {
  const MlfModel model = read(operator_v7).models[0];

  EXPECT_TRUE(model.is_operator());
  ASSERT_EQ(model.operators.size(), 1u);
  EXPECT_EQ(model.operators[0].function_name, "add");
  ASSERT_EQ(model.operators[0].arguments.size(), 2u);
  EXPECT_EQ(model.operators[0].arguments[0].input_binding, "a");
  EXPECT_THAT(model.operators[0].arguments[0].shape, ElementsAre(2));
}

struct BadMetadata {
  std::string text, findings;
};

TEST(MlfMetadata, ReportsMissingAndUnknownKeysAndWrongTypes) {
  const std::string path = "metadata.json: ";
  const BadMetadata cases[] = {
      {with(v2, "\"model_name\": \"m\",", ""), "error " + path + "model_name is missing\n"},
      {with(v2, "\"model_name\": \"m\"", "\"model_name\": 3"),
       "error " + path + "model_name is a number, expected a string\n"},
      {with(v2, "\"target\": {\"1\": \"c\"}", "\"target\": [\"c\"]"),
       "error " + path + "target is a list, expected an object\n"},
      {with(v2, "\"runtimes\"", "\"executors\""),
       "warning " + path + "executors is a key of versions 5 to 7, the archive has version 2\n" +
           "error " + path + "runtimes is missing\n"},
      {with(v2, "\"version\"", "\"speed\": 1, \"version\""),
       "warning " + path + "speed is an unknown key\n"},
      {with(v2, "\"version\"", "\"x_speed\": 1, \"version\""), ""},
      {with(v2, "\"runtimes\"", "\"model_name\": \"m\", \"runtimes\""),
       "error " + path + "model_name is given twice\n"},
      {with(v2, "\"size_bytes\": 4", "\"size_bytes\": -4"),
       "error " + path + "memory.sids[0].size_bytes is -4, expected a whole number, 0 or more\n"},
      {with(v2, "{\"storage_id\": 0, \"size_bytes\": 4}", "7"),
       "error " + path + "memory.sids[0] is a number, expected an object\n"},
      {with(v2, "\"storage_id\": 0", "\"storage_id\": 18446744073709551615"),
       "error " + path +
           "memory.sids[0].storage_id is a number, expected a whole number of 64 bits\n"},
      {with(v2, "[\"graph\"]", "[\"graph\", 1]"),
       "error " + path + "runtimes[1] is a number, expected a string\n"},
      {with(operator_v7, "\"memory\": {", "\"memory\": {\"f\": 1, "),
       "error " + path + "memory.f is a number, expected a list\n"},
      {R"({"version": 7, "modules": {"a": 1, "b": {}}, "c": 2})",
       "warning " + path + "c is an unknown key\n" + "error " + path +
           "modules.a is a number, expected an object\n" + "error " + path +
           "modules.b.model_name is missing\n" + "error " + path +
           "modules.b.export_datetime is missing\n" + "error " + path +
           "modules.b.memory is missing\n" + "error " + path + "modules.b.target is missing\n" +
           "error " + path + "modules.b.executors is missing\n" + "error " + path +
           "modules.b.style is missing\n"},
  };
  for (const BadMetadata& one : cases) EXPECT_EQ(findings_in(one.text), one.findings) << one.text;
}

TEST(MlfMetadata, IsRefusedWithoutAVersionThatIsKnown) {
  struct Case {
    std::string_view text, message;
    Code code;
    std::uint64_t offset;
  };
  const Case cases[] = {
      {"[]", "metadata.json is a list, expected an object", Code::malformed, 0},
      {"{}", "metadata.json has no \"version\"", Code::malformed, 0},
      {R"({"version": "7"})", "metadata.json: version is a string, expected a whole number",
       Code::malformed, 12},
      {R"({"version": 8})", "metadata.json: version is 8, this version reads 1 to 7",
       Code::unsupported, 12},
      {R"({"version": 0})", "metadata.json: version is 0, this version reads 1 to 7",
       Code::unsupported, 12},
      {R"({"version": 7, "modules": {}})",
       "metadata.json: modules is empty, expected an object with a member for each model",
       Code::malformed, 26},
      {R"({"version": 7, "modules": []})",
       "metadata.json: modules is a list, expected an object with a member for each model",
       Code::malformed, 26},
      {R"({"version": 7, "modules": {"a": 1}})",
       "metadata.json: modules has no member that is an object", Code::malformed, 26},
  };
  for (const Case& one : cases) {
    Findings findings;
    const auto metadata = read_mlf_metadata(one.text, findings);

    ASSERT_FALSE(metadata.ok()) << one.text;
    EXPECT_EQ(metadata.error().code, one.code);
    EXPECT_EQ(metadata.error().message, one.message);
    EXPECT_EQ(metadata.error().offset, one.offset);
  }
}

TEST(MlfMetadata, NamesEachModelOnceAndLimitsTheirNumber) {
  EXPECT_THAT(findings_in(R"({"version": 7, "modules": {"a": 1, "b": {}, "b": {}}})"),
              ::testing::HasSubstr("error metadata.json: modules.b is given twice\n"));

  std::string many;
  for (int i = 0; i < 1025; ++i) many += concat(i == 0 ? "" : ",", "\"", i, "\":{}");
  EXPECT_EQ(findings_in(concat("{\"version\":7,\"modules\":{", many, "}}")),
            "metadata.json: modules has 1025 models, limit is 1024");
}

TEST(MlfMetadata, IsNamedByModulesInAnyVersion) {
  Findings findings;
  const std::string text = with(golden_archive("digits_cpp_graph_c.tar")["metadata.json"],
                                "\"version\": 7", "\"version\": 6");
  const auto metadata = read_mlf_metadata(text, findings);

  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(metadata->models[0].name, "digits");
  EXPECT_EQ(metadata->version, 7u);
  EXPECT_EQ(test::text_of(findings),
            "warning metadata.json: modules is a key of version 7, the archive has version 6\n");
}

// TVM sorts the keys, too.
TEST(MlfMetadata, IsWrittenAsTvmWritesIt) {
  for (const char* name :
       {"digits_cpp_graph_c.tar", "digits_crt_graph_llvm.tar", "digits_cpp_aot_llvm.tar"}) {
    const std::string text = golden_archive(name)["metadata.json"];

    const auto written = write_mlf_metadata(read(text), 7);

    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, text);
  }
}

TEST(MlfMetadata, IsWrittenInVersion5ForOneModel) {
  MlfMetadata metadata = read(golden_archive("digits_cpp_graph_c.tar")["metadata.json"]);

  const auto written = write_mlf_metadata(metadata, 5);

  ASSERT_TRUE(written.ok());
  const MlfMetadata again = read(*written);
  EXPECT_EQ(again.version, 5u);
  EXPECT_EQ(again.models[0].targets.at(0).device_type, "1");
  EXPECT_EQ(again.models[0].targets.at(0).text, "c -keys=cpu ");
  EXPECT_EQ(again.models[0].sids, metadata.models[0].sids);

  metadata.models[0].targets.push_back({"", "cuda"});
  const auto second = write_mlf_metadata(metadata, 5);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(
      second.error().message,
      "target 0 \"c -keys=cpu \" has no device type, which version 5 requires; write version 7");
  metadata.models.push_back(metadata.models[0]);
  const auto two = write_mlf_metadata(metadata, 5);
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().message, "archive has 2 models, version 5 has one");
  const auto six = write_mlf_metadata(metadata, 6);
  ASSERT_FALSE(six.ok());
  EXPECT_EQ(six.error().message, "version is 6, this version writes 5 and 7");
}

// An archive of operators has no place for another model.
TEST(MlfMetadata, OfOperatorsHasOneModel) {
  const MlfModel graph = read(golden_archive("digits_cpp_graph_c.tar")["metadata.json"]).models[0];
  const MlfModel operators = read(operator_v7).models[0];
  for (const auto& models : {std::vector{operators, graph}, std::vector{graph, operators}}) {
    const auto written = write_mlf_metadata({7, models}, 7);

    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, Code::invalid);
    EXPECT_EQ(written.error().message,
              "archive has 2 models, and model \"add\" has the style \"operator\"; an archive of "
              "operators has one model");
  }
}

TEST(MlfMetadata, OfOperatorsIsWrittenFlat) {
  const MlfMetadata metadata = read(operator_v7);

  const auto written = write_mlf_metadata(metadata, 7);

  ASSERT_TRUE(written.ok());
  EXPECT_EQ(read(*written).models[0].operators.at(0).arguments.size(), 2u);
  EXPECT_EQ(written->find("modules"), std::string::npos);
}

TEST(MlfMetadata, KeepsTheFilesOfOurExtension) {
  MlfMetadata metadata = read(operator_v7);
  metadata.models[0].library = MlfFile{"codegen/m.so", "", std::string(64, 'a')};
  metadata.models[0].blobs = {{"codegen/cuda/m_0.bin", "cuda", std::string(64, 'b')}};

  const MlfMetadata again = read(*write_mlf_metadata(metadata, 7));

  ASSERT_TRUE(again.models[0].library.has_value());
  EXPECT_EQ(again.models[0].library->path, "codegen/m.so");
  EXPECT_EQ(again.models[0].library->sha256, std::string(64, 'a'));
  ASSERT_EQ(again.models[0].blobs.size(), 1u);
  EXPECT_EQ(again.models[0].blobs[0].type_key, "cuda");
}

TEST(Findings, AreCountedAboveTheNumberThatIsKept) {
  Findings findings;
  for (int i = 0; i < 300; ++i) findings.warning("a", "is ", i);
  findings.error("b", "is late");
  findings.error("c", "is later");

  EXPECT_EQ(findings.warnings(), 300u);
  EXPECT_EQ(findings.errors(), 2u);
  EXPECT_EQ(findings.kept().size(), Findings::max_kept + 1);
  ASSERT_NE(findings.first_error(), nullptr);
  EXPECT_EQ(findings.first_error()->path, "b");
}

}  // namespace
}  // namespace gantry
