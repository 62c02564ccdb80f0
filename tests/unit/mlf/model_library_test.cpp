// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/model_library.hpp"

#include "core/formats/mlf/function_names.hpp"
#include "core/formats/mlf/memory_check.hpp"
#include "core/formats/mlf/memory_map.hpp"
#include "tests/unit/mlf/model_archive.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ArchiveText;
using test::findings_of;
using test::golden_archive;
using test::replace;
using test::replace_metadata;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string graph_file = "executor-config/graph/digits.graph";
const std::string modules = "metadata.json: modules.digits.";

// The files of version `version` <= 6 have no name of a model.
ArchiveText as_version(ArchiveText archive, std::uint64_t version) {
  Findings findings;
  auto metadata = read_mlf_metadata(archive["metadata.json"], findings);
  const MlfModel& model = metadata->models[0];
  archive["metadata.json"] = *write_mlf_metadata(*metadata, 5);
  archive[graph_member("", version)] = archive[graph_file];
  archive[relay_member("", version)] = archive["src/digits.relay"];
  archive.erase(graph_file);
  archive.erase("src/digits.relay");
  std::string& text = archive["metadata.json"];
  replace(text, "\"version\": 5", concat("\"version\": ", version));
  if (version <= 4) replace(text, "executors", "runtimes");
  if (version <= 3) replace(text, "\"style\": \"full-model\",", "");
  if (version == 6) {
    replace(text, "\"target\": {\n    \"1\": \"c -keys=cpu \"\n  }", "\"target\": [\"c\"]");
  }
  if (version <= 2) {
    archive["codegen/host/src/lib0.c"] = archive["codegen/host/src/digits_lib0.c"];
    archive.erase("codegen/host/src/digits_lib0.c");
  }
  EXPECT_EQ(model.name, "digits");
  return archive;
}

TEST(ModelLibrary, OfTvmHasNoFindings) {
  for (const char* name :
       {"digits_cpp_graph_c.tar", "digits_crt_graph_llvm.tar", "digits_cpp_aot_llvm.tar"}) {
    EXPECT_EQ(findings_of(golden_archive(name)), "") << name;
  }
}

TEST(ModelLibrary, HasTheFilesOfItsVersion) {
  const ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  for (const std::uint64_t version : {2, 3, 4, 5, 6}) {
    EXPECT_EQ(findings_of(as_version(archive, version)), "") << version;
  }
}

// With "modules" the members have the names of version 7, whatever number the file has.
TEST(ModelLibrary, HasTheFilesOfVersion7WithModules) {
  for (const std::uint64_t version : {1, 2, 4, 6}) {
    ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
    replace_metadata(archive, "\"version\": 7", concat("\"version\": ", version));
    EXPECT_EQ(
        findings_of(archive),
        concat("warning metadata.json: modules is a key of version 7, the archive has version ",
               version, "\n"));
  }
}

TEST(CodeMember, HasTheNameOfTheModelOnce) {
  EXPECT_EQ(code_member("codegen/host/lib/lib0.o", "m"), "codegen/host/lib/m_lib0.o");
  EXPECT_EQ(code_member("codegen/host/lib/calibnet_lib10.o", "calibnet"),
            "codegen/host/lib/calibnet_lib10.o");
  EXPECT_EQ(code_member("codegen/host/src/a_lib_lib0.cpp", "lib"), "codegen/host/src/lib_lib0.cpp");
}

TEST(ModelLibrary, ListsObjectsByNumber) {
  ArchiveText archive = golden_archive("digits_crt_graph_llvm.tar");
  for (const char* name :
       {"digits_lib10.o", "digits_lib2.o", "digits_libx.o", "digits_lib3.a", "other_lib0.o"}) {
    archive[concat("codegen/host/lib/", name)] = "";
  }
  const auto bytes = test::tar_of(archive);
  Findings findings;

  const auto library = read_model_library(bytes, findings);

  ASSERT_TRUE(library.ok());
  EXPECT_THAT(library->model_files[0].objects,
              ElementsAre("codegen/host/lib/digits_lib0.o", "codegen/host/lib/digits_lib1.o",
                          "codegen/host/lib/digits_lib2.o", "codegen/host/lib/digits_lib10.o"));
}

TEST(ModelLibrary, RequiresOneFileOfCodeForEachNumber) {
  ArchiveText objects = golden_archive("digits_crt_graph_llvm.tar");
  objects["codegen/host/lib/digits_lib00.o"] = objects["codegen/host/lib/digits_lib0.o"];
  ArchiveText sources = golden_archive("digits_cpp_graph_c.tar");
  sources["codegen/host/src/digits_lib0.cc"] = "int f() { return 0; }";
  // Objects and sources have numbers of their own.
  sources["codegen/host/lib/digits_lib0.o"] = "";

  EXPECT_THAT(findings_of(objects),
              StartsWith("error codegen/host/lib/digits_lib00.o has the number of "
                         "\"codegen/host/lib/digits_lib0.o\", expected a number for each file of "
                         "code\n"));
  EXPECT_THAT(findings_of(sources),
              StartsWith("error codegen/host/src/digits_lib0.cc has the number of "
                         "\"codegen/host/src/digits_lib0.c\", expected a number for each file of "
                         "code\n"));
}

TEST(ModelLibrary, RequiresMetadata) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive.erase("metadata.json");
  EXPECT_EQ(findings_of(archive),
            "archive has no metadata.json; its members are \"codegen/host/src/digits_lib0.c\", "
            "\"executor-config/graph/digits.graph\", \"parameters/digits.params\", "
            "\"src/digits.relay\"");
  EXPECT_EQ(findings_of({}), "archive has no metadata.json; its members are none");

  archive["metadata.json"] = std::string((16 << 20) + 1, ' ');
  EXPECT_EQ(findings_of(archive), "metadata.json has 16777217 bytes, limit is 16777216");
}

TEST(ModelLibrary, RefusesAModelNameThatIsNoFileName) {
  ArchiveText archive = golden_archive("digits_cpp_aot_llvm.tar");
  replace_metadata(archive, "\"digits\": {", "\"../digits\": {");
  EXPECT_THAT(findings_of(archive),
              StartsWith("error metadata.json names a model \"../digits\", expected letters, "
                         "digits, \"_\", \"-\" and \".\"\n"));
}

TEST(ModelLibrary, RequiresTheFilesOfAModel) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive.erase(graph_file);
  archive.erase("parameters/digits.params");
  archive.erase("src/digits.relay");
  archive.erase("codegen/host/src/digits_lib0.c");
  EXPECT_EQ(findings_of(archive), "error " + graph_file +
                                      " is missing\n"
                                      "error parameters/digits.params is missing\n"
                                      "warning src/digits.relay is missing\n"
                                      "error codegen/host has no code of model \"digits\"\n");
}

struct Changed {
  std::string file, from, to, findings;
};

TEST(ModelLibrary, ReportsValuesThatAreUnknown) {
  const Changed cases[] = {
      {"metadata.json", "\"full-model\"", "\"half-model\"",
       "error " + modules + "style is \"half-model\", known are \"full-model\", \"operator\"\n"},
      {"metadata.json", "\"graph\"", "\"vm\"",
       "error " + modules + "executors has \"vm\", known are \"graph\", \"aot\"\n"},
      {"metadata.json", "\"graph\"", "\"graph\", \"aot\"",
       "warning " + modules + "executors has 2 items, expected one\n"},
      {"metadata.json", "\"model_name\": \"digits\"", "\"model_name\": \"numbers\"",
       "warning " + modules + "model_name is \"numbers\", its key is \"digits\"\n"},
      {"metadata.json", "2026-11-20 13:35:47Z", "2026-11-20 13:35:47",
       "warning " + modules +
           "export_datetime is \"2026-11-20 13:35:47\", expected a time such as \"2026-11-20 "
           "13:35:47Z\"\n"},
      {"metadata.json", "c -keys=cpu ", "c keys=cpu",
       "error " + modules +
           "target[0] is \"c keys=cpu\": target has \"keys=cpu\", expected an option, -name=value "
           "or --name=value\n"},
      // a backslash makes the quote literal
      {"metadata.json", "c -keys=cpu ", "c -model=a\\\\\\\"b", ""},
      {"metadata.json", "\"c -keys=cpu \"", "", "warning " + modules + "target is empty\n"},
      {"metadata.json", "\"style\":",
       "\"external_dependencies\": [{\"short_name\": \"crt\", \"url\": \"./runtime\", "
       "\"url_type\": \"mlf_path\"}], \"style\":",
       "error " + modules +
           "external_dependencies has the path \"./runtime\", which the archive does not "
           "contain\n"},
      {"metadata.json", "\"style\":",
       "\"external_dependencies\": [{\"short_name\": \"crt\", \"url\": \"./src\", "
       "\"url_type\": \"mlf_path\"}], \"style\":",
       ""},
  };
  for (const Changed& one : cases) {
    ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
    replace(archive[one.file], one.from, one.to);
    EXPECT_EQ(findings_of(archive), one.findings) << one.to;
  }
}

TEST(ModelLibrary, ReportsADeviceTypeThatIsNoNumber) {
  ArchiveText archive = as_version(golden_archive("digits_cpp_graph_c.tar"), 5);
  replace_metadata(archive, "\"1\": \"c", "\"cpu\": \"c");
  EXPECT_EQ(findings_of(archive),
            "error metadata.json: target.cpu is the target of \"cpu\", expected the number of a "
            "device type\n");
}

TEST(ModelLibrary, ComparesTheParametersWithTheGraph) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  replace(archive[graph_file], "[4, 64, 8]", "[8, 64, 4]");
  EXPECT_EQ(findings_of(archive),
            "error parameters/digits.params has a parameter \"p2\" of type float32[4, 64, 8], the "
            "graph requires float32[8, 64, 4]\n");

  archive = golden_archive("digits_cpp_graph_c.tar");
  replace(archive[graph_file], "\"name\": \"p2\"", "\"name\": \"q2\"");
  EXPECT_THAT(findings_of(archive),
              HasSubstr("error parameters/digits.params has a parameter \"p2\", which is no input "
                        "of the graph, did you mean \"p0\""));

  archive = golden_archive("digits_cpp_graph_c.tar");
  archive["parameters/digits.params"].resize(100);
  EXPECT_THAT(findings_of(archive), StartsWith("error parameters/digits.params "));
  archive["parameters/digits.params"] = "abcdefgh";
  EXPECT_THAT(findings_of(archive), StartsWith("error parameters/digits.params params magic is "));
}

TEST(ModelLibrary, ReportsAGraphThatIsInvalid) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  replace(archive[graph_file], "\"heads\"", "\"tails\"");
  EXPECT_THAT(findings_of(archive),
              StartsWith("error " + graph_file + " graph has key \"tails\", known are "));
}

TEST(ModelLibrary, ComparesTheMemoryWithTheGraph) {
  const std::string sids = "warning " + modules + "memory.sids ";
  const Changed cases[] = {
      {"", "\"size_bytes\": 16384", "\"size_bytes\": 16385",
       sids + "has storage 1 of 16385 bytes for \"p0\", the graph requires 16384 bytes for "
              "\"p0\"\n"},
      {"", "\"input_binding\": \"p1\"", "\"input_binding\": \"p7\"",
       sids + "has storage 2 of 256 bytes for \"p7\", the graph requires 256 bytes for \"p1\"\n"},
      {"", "\"storage_id\": 8", "\"storage_id\": 9",
       sids + "has no storage 8, the graph requires 40 bytes for \"p5\"\n" + sids +
           "has storage 9, which the graph does not use\n"},
      {"", "\"storage_id\": 8", "\"storage_id\": 7",
       sids + "has storage 7 twice\n" + sids +
           "has no storage 8, the graph requires 40 bytes for \"p5\"\n"},
      {"", "\"sids\":", "\"x_sids\":", sids + "is missing\n"},
  };
  for (const Changed& one : cases) {
    ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
    replace_metadata(archive, one.from, one.to);
    EXPECT_EQ(findings_of(archive), one.findings) << one.to;
  }
}

TEST(ModelLibrary, ComparesTheMemoryOfTheMainFunctionWithTheGraph) {
  const std::string main = "warning " + modules + "memory.functions.main";
  const Changed cases[] = {
      {"", "\"constants_size_bytes\": 26280", "\"constants_size_bytes\": 1",
       main + "[0].constants_size_bytes is 1, the graph requires 26280\n"},
      {"", "\"io_size_bytes\": 296", "\"io_size_bytes\": 256",
       main + "[0].io_size_bytes is 256, the graph requires 296\n"},
      // 480 of TVM have 96 of the functions; 40 of the output share 256 with another entry
      {"", "\"workspace_size_bytes\": 480", "\"workspace_size_bytes\": 384", ""},
      {"", "\"workspace_size_bytes\": 480", "\"workspace_size_bytes\": 383",
       main + "[0].workspace_size_bytes is 383, the graph requires at least 384\n"},
      {"", "\"x\": {", "\"y\": {",
       main + "[0].inputs has \"y\" float32 of 256 bytes, the graph requires \"x\" float32 of 256 "
              "bytes\n"},
      {"", "\"size\": 40", "\"size\": 44",
       main + "[0].outputs has float32 of 44 bytes, the graph requires float32 of 40 bytes\n"},
      // names of outputs are not in the graph
      {"", "\"output\": {", "\"scores\": {", ""},
      {"", "\"outputs\":", "\"x_outputs\":", ""},
      {"", "\"constants_size_bytes\": 26280,", "", ""},
  };
  for (const Changed& one : cases) {
    ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
    replace_metadata(archive, one.from, one.to);
    EXPECT_EQ(findings_of(archive), one.findings) << one.to;
  }
}

TEST(MainMemory, HasARecordForEachDeviceOfTheGraph) {
  const ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  Graph graph = *read_graph_json(archive.at(graph_file), 0);
  MlfModel model;
  const std::set<std::string> parameters = {"p0", "p1", "p2", "p3", "p4", "p5"};
  const auto found = [&] {
    Findings findings;
    check_main_memory(model, graph, parameters, "main", findings);
    return test::text_of(findings);
  };
  for (GraphEntry& entry : graph.entries) entry.device_number = 2;
  model.main = main_memory_of(graph, parameters);
  EXPECT_EQ(found(), "");

  model.main[0].device = 1;
  EXPECT_EQ(found(), "warning main has no device 2, which the graph uses\n");
  model.main.push_back(model.main[0]);
  EXPECT_EQ(found(),
            "warning main has device 1 twice\n"
            "warning main has no device 2, which the graph uses\n");

  // A graph without devices runs on the device of the only record.
  model.main.pop_back();
  model.main[0].device = 2;
  for (GraphEntry& entry : graph.entries) entry.device_number = -1;
  EXPECT_EQ(found(), "");
}

// TVM counts an output among several more than once, and an output that is an input not twice.
TEST(MainMemory, ComparesInputsAndOutputsOnlyWhereTvmCountsThemOnce) {
  const ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  Graph graph = *read_graph_json(archive.at(graph_file), 0);
  MlfModel model;
  const auto found = [&](const std::set<std::string>& parameters) {
    Findings findings;
    check_main_memory(model, graph, parameters, "main", findings);
    return test::text_of(findings);
  };
  const GraphOutput output = graph.heads.front();
  graph.heads.push_back(output);
  model.main = main_memory_of(graph, {"p0"});
  model.main[0].io_size_bytes += 40;
  EXPECT_EQ(found({"p0"}), "");
  graph.heads = {{graph.inputs[0], 0, graph.input_entry(0)}};
  model.main = main_memory_of(graph, {"p0"});
  model.main[0].io_size_bytes -= 256;
  EXPECT_EQ(found({"p0"}), "");
  graph.heads = {output};
  model.main[0].outputs.reset();
  EXPECT_THAT(found({"p0"}), HasSubstr("warning main[0].io_size_bytes is "));

  // Linked parameters are inputs of the graph, and the archive has none.
  EXPECT_EQ(found({}), "");
}

TEST(ModelLibrary, ComparesTheFunctionsOfTheGraphWithTheCode) {
  const std::string called = "\"func_name\": \"tvmgen_digits_fused_nn_softmax\"";
  const std::string renamed = "\"func_name\": \"tvmgen_digits_fused_nn_softmay\"";
  for (const char* name : {"digits_cpp_graph_c.tar", "digits_crt_graph_llvm.tar"}) {
    ArchiveText archive = golden_archive(name);
    replace(archive[graph_file], called, renamed);
    EXPECT_THAT(findings_of(archive),
                StartsWith("error " + graph_file +
                           " calls \"tvmgen_digits_fused_nn_softmay\", which is neither in the "
                           "objects nor in operator_functions, did you mean "
                           "\"tvmgen_digits_fused_nn_softmax\""))
        << name;
  }

  // The symbols of the objects suffice.
  ArchiveText objects = golden_archive("digits_crt_graph_llvm.tar");
  std::string& text = objects["metadata.json"];
  const std::size_t first = text.find("\"operator_functions\": ["), last = text.find("\"sids\"");
  text.replace(first, last - first, "\"operator_functions\": []}, ");
  EXPECT_EQ(findings_of(objects), "");
  objects["codegen/host/lib/digits_lib1.o"] = "no object";
  EXPECT_THAT(findings_of(objects), StartsWith("error codegen/host/lib/digits_lib1.o "));
}

// 1024 models can name one library.
TEST(MlfFunctions, OfModelsWithTheSameFilesAreReadOnce) {
  ArchiveText archive = golden_archive("digits_cpp_aot_llvm.tar");
  archive["codegen/all.so"] = as_text(test::read_file(test::golden("tvm-0.12/digits_mlp_llvm.so")));
  archive["codegen/host/lib/lib0.o"] = archive["codegen/host/lib/digits_lib0.o"];
  const std::string model = R"(": {"model_name": "m", "style": "operator", "target": ["llvm"],
    "export_datetime": "2022-06-17 00:00:00Z", "executors": [], "memory": {"f": []},
    "x_library": {"path": "codegen/all.so", "sha256": ""}})";
  archive["metadata.json"] =
      concat(R"({"version": 7, "modules": {"a)", model, ", \"b", model, "}}");
  const auto bytes = test::tar_of(archive);
  Findings findings;
  const auto library = read_model_library(bytes, findings);
  ASSERT_TRUE(library.ok()) << library.error().message;
  MlfFunctions functions(*library, findings);

  const MlfFunctionNames a = functions.of(0), b = functions.of(1);

  EXPECT_EQ(test::text_of(findings), "");
  ASSERT_NE(a.library, nullptr);
  ASSERT_NE(a.objects, nullptr);
  EXPECT_EQ(a.library, b.library);
  EXPECT_EQ(a.objects, b.objects);
  EXPECT_TRUE(a.contains("tvmgen_default_fused_nn_softmax"));
  EXPECT_TRUE(a.contains("tvmgen_digits___tvm_main__"));
  EXPECT_FALSE(a.contains("f"));
  EXPECT_EQ(a.all().size(), a.library->names.size() + a.objects->names.size());
}

TEST(ModelLibrary, RequiresTheEntryFunctionOfAheadOfTimeCode) {
  ArchiveText archive = golden_archive("digits_cpp_aot_llvm.tar");
  archive.erase("codegen/host/lib/digits_lib0.o");
  EXPECT_EQ(findings_of(archive),
            "error codegen/host defines neither tvmgen_digits___tvm_main__ nor "
            "tvmgen_digits_run\n");
}

TEST(ModelLibrary, OfOperatorsHasPlainNamesAndTheFunctionsOfItsMemory) {
  ArchiveText archive;
  archive["codegen/host/lib/lib0.o"] =
      golden_archive("digits_crt_graph_llvm.tar")["codegen/host/lib/digits_lib1.o"];
  archive["metadata.json"] = R"({"version": 7, "model_name": "op", "style": "operator",
    "export_datetime": "2022-06-17 00:00:00Z", "target": ["llvm"], "executors": [],
    "memory": {"tvmgen_digits_fused_nn_softmax": []}})";
  EXPECT_EQ(findings_of(archive), "");

  replace_metadata(archive, "fused_nn_softmax", "other");
  EXPECT_EQ(findings_of(archive),
            "error metadata.json: memory calls \"tvmgen_digits_other\", which is neither in the "
            "objects nor in operator_functions\n");
  replace_metadata(archive, "\"tvmgen_digits_other\": []", "");
  EXPECT_EQ(findings_of(archive), "error metadata.json: memory names no function\n");
}

TEST(ModelLibrary, ChecksTheFilesOfOurExtension) {
  ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  archive["codegen/digits.so"] = "no library";
  archive["codegen/cuda/digits_0.bin"] = "abc";
  const std::string good = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  replace_metadata(archive, "\"style\":",
                   concat("\"x_library\": {\"path\": \"codegen/digits.so\", \"sha256\": \"00\"}, "
                          "\"x_blobs\": [{\"path\": \"codegen/cuda/digits_0.bin\", \"type_key\": "
                          "\"cuda\", \"sha256\": \"",
                          good,
                          "\"}, {\"path\": \"x\", \"type_key\": \"y\", \"sha256\": \"\"}], "
                          "\"style\":"));

  const std::string findings = findings_of(archive);

  EXPECT_THAT(findings, HasSubstr("error codegen/digits.so has the digest "));
  EXPECT_THAT(findings, HasSubstr(", " + modules + "x_library has \"00\"\n"));
  EXPECT_THAT(findings, HasSubstr("error " + modules +
                                  "x_blobs[1] has the path \"x\", which the archive does not "
                                  "contain\n"));
  EXPECT_THAT(findings, HasSubstr("error codegen/digits.so not an ELF file"));
  EXPECT_THAT(findings, ::testing::Not(HasSubstr("digits_0.bin")));
}

TEST(StorageOfGraph, IsTheLargestEntryOfEachId) {
  const ArchiveText archive = golden_archive("digits_cpp_graph_c.tar");
  const auto graph = read_graph_json(archive.at(graph_file), 0);

  const std::vector<MlfStorage> storage = storage_of(*graph);
  const std::vector<MlfMain> main = main_memory_of(*graph, {"p0", "p1", "p2", "p3", "p4", "p5"});

  ASSERT_EQ(storage.size(), 9u);
  EXPECT_EQ(storage[3], (MlfStorage{3, 256, ""}));
  EXPECT_EQ(storage[8], (MlfStorage{8, 40, "p5"}));
  ASSERT_EQ(main.size(), 1u);
  EXPECT_EQ(main[0].device, 1);
  EXPECT_EQ(main[0].constants_size_bytes, 26280u);
  EXPECT_EQ(main[0].io_size_bytes, 296u);
  EXPECT_EQ(main[0].workspace_size_bytes, 256u + 128u);
  EXPECT_EQ(main[0].inputs->at(0).name, "x");
  EXPECT_EQ(main[0].outputs->at(0).name, "output");
  EXPECT_EQ(main[0].outputs->at(0).dtype, "float32");
}

}  // namespace
}  // namespace gantry
