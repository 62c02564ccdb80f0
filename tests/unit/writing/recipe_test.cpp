// SPDX-License-Identifier: Apache-2.0
#include "core/writing/recipe.hpp"
#include "tests/support/files.hpp"
#include "tests/support/page.hpp"
#include "tests/support/schema.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the example of RECIPE.md, so that the page is tested.
std::string example() {
  return test::blocks_of(test::read_page("core/writing/RECIPE.md"), "yaml").at(0);
}

TEST(Recipe, ReadsEverySection) {
  const Result<Recipe> recipe = parse_recipe(example(), "r.yaml", "/models");

  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->directory, "/models");
  ASSERT_EQ(recipe->graphs.size(), 1u);
  EXPECT_EQ(recipe->graphs[0].name, "digits");
  EXPECT_FALSE(recipe->root);
  EXPECT_THAT(recipe->sources, ElementsAre("dense.c", "softmax.c"));
  EXPECT_THAT(recipe->flags, ElementsAre("-O3"));
  EXPECT_THAT(recipe->libraries, ElementsAre("-lm"));
}

TEST(Recipe, ReadsTheGraph) {
  const Recipe recipe = parse_recipe(example(), "r.yaml", "/models").value();
  const auto& graph = std::get<GraphDescription>(recipe.graphs.at(0).source);

  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].name, "x");
  EXPECT_EQ(type_text(graph.inputs[0].type), "float32[1, 64]");
  ASSERT_EQ(graph.operators.size(), 2u);
  EXPECT_EQ(graph.operators[0].function, "dense");
  EXPECT_THAT(graph.operators[0].inputs, ElementsAre("x", "w0", "b0"));
  ASSERT_EQ(graph.operators[1].outputs.size(), 1u);
  EXPECT_EQ(graph.operators[1].outputs[0].name, "digits");
  EXPECT_THAT(graph.outputs, ElementsAre("digits"));
}

TEST(Recipe, ReadsParametersInOrderWithPathsRelativeToIt) {
  const Recipe recipe = parse_recipe(example(), "r.yaml", "/models").value();

  const std::vector<ParameterSource>& parameters = recipe.graphs.at(0).parameters;
  ASSERT_EQ(parameters.size(), 2u);
  const ParameterSource& w0 = parameters[0];
  EXPECT_EQ(w0.name, "w0");
  EXPECT_EQ(w0.file, "/models/weights.npz");
  EXPECT_EQ(w0.member, "w0");
  EXPECT_TRUE(w0.transpose);
  EXPECT_EQ(type_text(w0.type.value()), "float32[10, 64]");
  EXPECT_EQ(w0.location, "r.yaml:18:3: parameters.w0");
  EXPECT_FALSE(parameters[1].type.has_value());
}

TEST(Recipe, ReadsDeviceModules) {
  const Recipe recipe = parse_recipe(example(), "r.yaml", "/models").value();

  ASSERT_EQ(recipe.device_modules.size(), 5u);
  EXPECT_EQ(recipe.device_modules[2].target, "cuda -arch=sm_80");
  const DeviceModuleSource& cuda = recipe.device_modules[3];
  EXPECT_EQ(cuda.type_key, "cuda");
  EXPECT_EQ(cuda.format, "ptx");
  EXPECT_EQ(cuda.data, "/models/kernels.ptx");
  ASSERT_EQ(cuda.kernels.size(), 1u);
  EXPECT_EQ(cuda.kernels[0].name, "add");
  EXPECT_EQ(cuda.kernels[0].source, "");
  ASSERT_EQ(cuda.kernels[0].arguments.size(), 2u);
  EXPECT_EQ(dtype_text(cuda.kernels[0].arguments[0]), "handle");
  EXPECT_THAT(cuda.kernels[0].launch, ElementsAre("blockIdx.x", "threadIdx.x"));
  EXPECT_EQ(recipe.device_modules[4].format, "");
}

TEST(Recipe, ReadsKernelsThatHaveASource) {
  const Recipe recipe = parse_recipe(example(), "r.yaml", "/models").value();

  const DeviceModuleSource& opencl = recipe.device_modules[0];
  EXPECT_EQ(opencl.format, "cl");
  EXPECT_EQ(opencl.data, "");
  ASSERT_EQ(opencl.kernels.size(), 1u);
  EXPECT_EQ(opencl.kernels[0].source, "add.cl");
  EXPECT_EQ(opencl.kernels[0].location, "r.yaml:23:7: device_modules[0].kernels.add_opencl");
  EXPECT_EQ(recipe.device_modules[1].format, "vulkan");
}

TEST(Recipe, ReadsHowSourcesAreCompiled) {
  const Recipe recipe = parse_recipe(
                            "schema: \"1.0\"\ndevice_modules:\n"
                            "  - type_key: cuda\n    target: cuda -arch=sm_90\n    code: compiled\n"
                            "    kernels: {k: {source: k.cu, arguments: [], launch: []}}\n"
                            "  - type_key: opencl\n    code: source\n"
                            "    kernels: {l: {source: l.cl, arguments: [], launch: []}}\n"
                            "  - type_key: npu\n"
                            "    kernels: {m: {source: m.npu, arguments: [], launch: []}}\n",
                            "r.yaml", "/models")
                            .value();

  ASSERT_EQ(recipe.device_modules.size(), 3u);
  EXPECT_EQ(recipe.device_modules[0].target, "cuda -arch=sm_90");
  EXPECT_EQ(recipe.device_modules[0].target_location, "r.yaml:4:13: device_modules[0].target");
  EXPECT_EQ(recipe.device_modules[0].code, KernelCode::compiled);
  EXPECT_EQ(recipe.device_modules[1].code, KernelCode::source);
  EXPECT_EQ(recipe.device_modules[1].target, "");
  EXPECT_EQ(recipe.device_modules[2].code, KernelCode::automatic);
  EXPECT_EQ(recipe.device_modules[2].format, "npu");
}

TEST(Recipe, ReadsFilesOfParameters) {
  const Recipe recipe = parse_recipe(
                            "schema: \"1.0\"\ngraph: {file: g.json}\n"
                            "parameter_files: [a.params, sub/b.npz]\n",
                            "r.yaml", "/models")
                            .value();

  const std::vector<ParameterSource>& files = recipe.graphs.at(0).parameter_files;
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].file, "/models/sub/b.npz");
  EXPECT_EQ(files[1].location, "r.yaml:3:29: parameter_files[1]");
}

TEST(Recipe, ReadsARootAndItsGraphs) {
  const Recipe recipe = parse_recipe(
                            "schema: \"1.0\"\nroot: {type_key: acme, data: sub/root.bin}\n"
                            "graphs:\n  a: {file: a.json, parameter_files: [a.params]}\n"
                            "  b:\n    inputs: {x: \"float32[1]\"}\n    outputs: [x]\n"
                            "    parameters: {w: {file: w.npy}}\n",
                            "r.yaml", "/models")
                            .value();

  ASSERT_TRUE(recipe.root);
  EXPECT_EQ(recipe.root->type_key, "acme");
  EXPECT_EQ(recipe.root->data, "/models/sub/root.bin");
  EXPECT_EQ(recipe.root->location, "r.yaml:2:18: root.type_key");
  ASSERT_EQ(recipe.graphs.size(), 2u);
  const RecipeGraph& a = recipe.graphs[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.location, "r.yaml:4:6: graphs.a");
  EXPECT_EQ(std::get<std::filesystem::path>(a.source), "/models/a.json");
  EXPECT_EQ(a.parameter_files.at(0).location, "r.yaml:4:39: graphs.a.parameter_files[0]");
  const RecipeGraph& b = recipe.graphs[1];
  EXPECT_THAT(std::get<GraphDescription>(b.source).outputs, ElementsAre("x"));
  EXPECT_EQ(b.parameters.at(0).location, "r.yaml:8:18: graphs.b.parameters.w");
}

// YAML 1.1 calls y and n booleans.
TEST(Recipe, HasTensorsWithTheNamesYAndNWithoutQuotes) {
  const Recipe recipe = parse_recipe(
                            "schema: \"1.0\"\ngraph:\n  inputs: {n: \"float32[1]\"}\n  operators:\n"
                            "    - {function: f, inputs: [n], outputs: {y: \"float32[1]\"}}\n"
                            "  outputs: [y]\n",
                            "r.yaml", "/models")
                            .value();

  const auto& graph = std::get<GraphDescription>(recipe.graphs.at(0).source);
  EXPECT_THAT(graph.operators.at(0).inputs, ElementsAre("n"));
  EXPECT_EQ(graph.operators.at(0).outputs.at(0).name, "y");
  EXPECT_THAT(graph.outputs, ElementsAre("y"));
}

TEST(Recipe, AcceptsAFileOfGraphJson) {
  const Recipe recipe =
      parse_recipe("schema: \"1.0\"\ngraph: {file: sub/graph.json}\n", "r.yaml", "/models").value();

  ASSERT_EQ(recipe.graphs.size(), 1u);
  EXPECT_EQ(std::get<std::filesystem::path>(recipe.graphs[0].source), "/models/sub/graph.json");
  EXPECT_EQ(recipe.graphs[0].name, "default");
}

TEST(Recipe, FindsItsDirectoryByItsPath) {
  const TempDir directory;
  test::write_file(directory / "r.yaml", "schema: \"1.0\"\nsources: [a.c]\n");

  EXPECT_EQ(read_recipe(directory / "r.yaml").value().directory, directory.path());
}

TEST(Recipe, MayContainAnyText) {
  const TempDir directory;
  test::write_file(directory / "r.yaml", "schema: \"1.0\"\nsources: [\"a.c\"] # \xc3\xbc\n");

  const Result<Recipe> recipe = read_recipe(directory / "r.yaml");

  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
}

TEST(Recipe, IsNotAFileOfAnotherKind) {
  const TempDir directory;
  const std::filesystem::path path = directory / "r.yaml";
  test::write_file(path, "GGUF\3");

  const Result<Recipe> recipe = read_recipe(path);

  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, Code::malformed);
  EXPECT_THAT(recipe.error().message,
              StartsWith(path.native() + " is not a recipe; this is a GGUF model; "));
}

TEST(Recipe, ReportsAMissingFile) {
  const TempDir directory;

  EXPECT_EQ(read_recipe(directory / "r.yaml").error().code, Code::not_found);
}

struct RefusedRecipe {
  std::string name;
  // follows the line with the schema
  std::string text;
  std::string message;
};
class RecipeRejects : public ::testing::TestWithParam<RefusedRecipe> {};

TEST_P(RecipeRejects, TheText) {
  const Result<Recipe> recipe =
      parse_recipe("schema: \"1.0\"\n" + GetParam().text, "r.yaml", "/models");

  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, Code::malformed);
  EXPECT_EQ(recipe.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RecipeRejects,
    ::testing::Values(
        RefusedRecipe{
            "Nothing", "name: a\n",
            "r.yaml:1:1: sources: there is nothing to pack: no sources, no graph, no device "
            "modules"},
        RefusedRecipe{"UnknownKey", "sources: [a.c]\nsource: b.c\n",
                      "r.yaml:3:1: source: unknown key, did you mean \"sources\""},
        RefusedRecipe{"ParametersWithoutGraph", "sources: [a.c]\nparameters: {w: {file: w.npy}}\n",
                      "r.yaml:3:13: parameters: parameters require a graph, and there is no graph"},
        RefusedRecipe{"GraphBothWays", "graph: {file: g.json, outputs: [a]}\n",
                      "r.yaml:2:8: graph: a graph requires either file, or inputs, operators and "
                      "outputs"},
        RefusedRecipe{
            "DevicesOfAGraphFile", "graph: {file: g.json, devices: [cpu]}\n",
            "r.yaml:2:32: graph.devices: devices are stated for a graph in the recipe; the "
            "file states its own"},
        RefusedRecipe{"UnknownDevice", "graph: {inputs: {}, outputs: [a], devices: [cpu, opncl]}\n",
                      "r.yaml:2:50: graph.devices[1]: device \"opncl\" has no number in artifacts, "
                      "did you mean \"opencl\""},
        RefusedRecipe{"DeviceTwice", "graph: {inputs: {}, outputs: [a], devices: [cpu, cpu]}\n",
                      "r.yaml:2:50: graph.devices[1]: \"cpu\" is given twice"},
        RefusedRecipe{"GraphNeitherWay", "graph: {}\n",
                      "r.yaml:2:8: graph: a graph requires either file, or inputs, operators and "
                      "outputs"},
        RefusedRecipe{"RootWithoutGraphs", "root: {type_key: a, data: a.bin}\n",
                      "r.yaml:1:1: graphs: root and graphs require each other, and at least one "
                      "graph"},
        RefusedRecipe{"RootWithNoGraph", "root: {type_key: a, data: a.bin}\ngraphs: {}\n",
                      "r.yaml:3:9: graphs: root and graphs require each other, and at least one "
                      "graph"},
        RefusedRecipe{"GraphsWithoutRoot", "graphs: {a: {file: g.json}}\n",
                      "r.yaml:1:1: root: root and graphs require each other, and at least one "
                      "graph"},
        RefusedRecipe{"GraphBesideGraphs",
                      "root: {type_key: a, data: a.bin}\ngraph: {file: g.json}\n"
                      "graphs: {a: {file: g.json}}\n",
                      "r.yaml:3:8: graph: graph excludes graphs, each of which has its name as its "
                      "key"},
        RefusedRecipe{"NameBesideGraphs",
                      "root: {type_key: a, data: a.bin}\nname: a\ngraphs: {a: {file: g.json}}\n",
                      "r.yaml:3:7: name: name excludes graphs, each of which has its name as its "
                      "key"},
        RefusedRecipe{"ParametersBesideGraphs",
                      "root: {type_key: a, data: a.bin}\nparameters: {w: {file: w.npy}}\n"
                      "graphs: {a: {file: g.json}}\n",
                      "r.yaml:3:13: parameters: parameters require a graph, and there is no graph"},
        RefusedRecipe{"OneOfSeveralGraphs",
                      "root: {type_key: a, data: a.bin}\ngraphs: {a: {file: g.json}, b: {}}\n",
                      "r.yaml:3:32: graphs.b: a graph requires either file, or inputs, operators "
                      "and outputs"},
        RefusedRecipe{"ReservedKeyOfTheRoot",
                      "root: {type_key: _lib, data: a.bin}\ngraphs: {a: {file: g.json}}\n",
                      "r.yaml:2:18: root.type_key: \"_lib\" is reserved by the container"},
        RefusedRecipe{
            "TypeOfInput", "graph: {inputs: {x: float32}, outputs: [x]}\n",
            "r.yaml:2:21: graph.inputs.x: tensor type \"float32\" is not like float32[1, 64]"},
        RefusedRecipe{
            "TypeOfOutput",
            "graph: {operators: [{function: f, inputs: [], outputs: {a: \"int[1]\"}}], outputs: "
            "[a]}\n",
            "r.yaml:2:60: graph.operators[0].outputs.a: dtype \"int\": width is not supported for "
            "int, did you mean \"int8\""},
        RefusedRecipe{
            "TypeOfParameter",
            "graph: {file: g}\nparameters: {w: {file: w.npy, type: \"int8[x]\"}}\n",
            "r.yaml:3:37: parameters.w.type: extent \"x\" is not an integer of at least 0"},
        RefusedRecipe{
            "KernelsWithoutFormat", "device_modules: [{type_key: cuda, data: k, kernels: {}}]\n",
            "r.yaml:2:53: device_modules[0].kernels: kernels and format require each other; "
            "without both, data is the whole payload"},
        RefusedRecipe{
            "FormatWithoutKernels", "device_modules: [{type_key: cuda, data: k, format: ptx}]\n",
            "r.yaml:2:18: device_modules[0].kernels: kernels and format require each other; "
            "without both, data is the whole payload"},
        RefusedRecipe{
            "NeitherDataNorKernels", "device_modules: [{type_key: opencl}]\n",
            "r.yaml:2:18: device_modules[0].data: without data, each kernel requires a source "
            "and format must be absent"},
        RefusedRecipe{
            "FormatWithoutData",
            "device_modules: [{type_key: opencl, format: cl, kernels: {k: {source: k.cl, "
            "arguments: [], launch: []}}}]\n",
            "r.yaml:2:18: device_modules[0].data: without data, each kernel requires a source "
            "and format must be absent"},
        RefusedRecipe{
            "TargetBesideData", "device_modules: [{type_key: cuda, data: k, target: cuda}]\n",
            "r.yaml:2:52: device_modules[0].target: target requires kernels with sources, "
            "and the module has data"},
        RefusedRecipe{
            "CodeBesideData", "device_modules: [{type_key: cuda, data: k, code: source}]\n",
            "r.yaml:2:50: device_modules[0].code: code requires kernels with sources, and "
            "the module has data"},
        RefusedRecipe{"ParameterFilesWithoutGraph", "sources: [a.c]\nparameter_files: [w.npz]\n",
                      "r.yaml:3:18: parameter_files: parameters require a graph, and there is no "
                      "graph"},
        RefusedRecipe{
            "SourceBesideData",
            "device_modules: [{type_key: opencl, data: k, format: cl, kernels: {k: {source: "
            "k.cl, arguments: [], launch: []}}}]\n",
            "r.yaml:2:80: device_modules[0].kernels.k.source: a kernel requires a source "
            "exactly if its module has no data"},
        RefusedRecipe{
            "NeitherSourceNorData",
            "device_modules: [{type_key: opencl, kernels: {k: {arguments: [], launch: []}}}]\n",
            "r.yaml:2:50: device_modules[0].kernels.k.source: a kernel requires a source "
            "exactly if its module has no data"},
        RefusedRecipe{
            "NameThatNoFunctionHas",
            "device_modules: [{type_key: vulkan, kernels: {a/b: {source: k.comp, arguments: "
            "[], launch: []}}}]\n",
            "r.yaml:2:61: device_modules[0].kernels.a/b.source: the name of a kernel with a "
            "source must be a C identifier"},
        RefusedRecipe{
            "NameThatBeginsWithADigit",
            "device_modules: [{type_key: vulkan, kernels: {2d: {source: k.comp, arguments: [], "
            "launch: []}}}]\n",
            "r.yaml:2:60: device_modules[0].kernels.2d.source: the name of a kernel with a "
            "source must be a C identifier"},
        RefusedRecipe{
            "KernelInTwoModules",
            "device_modules: [{type_key: opencl, kernels: {k: {source: k.cl, arguments: [], "
            "launch: []}}},\n{type_key: vulkan, kernels: {k: {source: k.comp, arguments: [], "
            "launch: []}}}]\n",
            "r.yaml:3:30: device_modules[1].kernels.k: another module has this kernel"},
        RefusedRecipe{
            "KernelArgument",
            "device_modules: [{type_key: c, data: k, format: f, kernels: {a: {arguments: [in], "
            "launch: []}}}]\n",
            "r.yaml:2:78: device_modules[0].kernels.a.arguments[0]: dtype \"in\": no such type, "
            "known are int, uint, float, bfloat, complex, bool, handle and the names of small "
            "floats"},
        RefusedRecipe{
            "NearKernelArgument",
            "device_modules: [{type_key: c, data: k, format: f, kernels: {a: {arguments: "
            "[handle, flaot32], launch: []}}}]\n",
            "r.yaml:2:86: device_modules[0].kernels.a.arguments[1]: dtype \"flaot32\": no such "
            "type, known are int, uint, float, bfloat, complex, bool, handle and the names of "
            "small floats, did you mean \"float32\""},
        RefusedRecipe{
            "NearTypeOfInput", "graph: {inputs: {x: \"fload32[1]\"}, outputs: [x]}\n",
            "r.yaml:2:21: graph.inputs.x: dtype \"fload32\": no such type, known are int, uint, "
            "float, bfloat, complex, bool, handle and the names of small floats, did you mean "
            "\"float32\""},
        RefusedRecipe{
            "LaunchTag",
            "device_modules: [{type_key: opencl, kernels: {k: {source: k.cl, arguments: [], "
            "launch: [blockIdx.x, threadidx.x]}}}]\n",
            "r.yaml:2:101: device_modules[0].kernels.k.launch[1]: kernel \"k\": launch tag "
            "\"threadidx.x\" is unknown, did you mean \"threadIdx.x\" or \"threadIdx.y\" or "
            "\"threadIdx.z\""},
        RefusedRecipe{
            "ReservedTypeKey", "device_modules: [{type_key: _lib, data: k}]\n",
            "r.yaml:2:29: device_modules[0].type_key: \"_lib\" is reserved by the container"},
        RefusedRecipe{
            "ReservedTreeKey", "device_modules: [{type_key: _import_tree, data: k}]\n",
            "r.yaml:2:29: device_modules[0].type_key: \"_import_tree\" is reserved by the "
            "container"},
        RefusedRecipe{
            "EmptyTypeKey", "device_modules: [{type_key: \"\", data: k}]\n",
            "r.yaml:2:29: device_modules[0].type_key: \"\" is not printable ASCII of 1 to 256 "
            "bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(Recipe, RejectsUnknownLaunchTagsOfKnownLoaders) {
  for (const std::string_view key : {"opencl", "vulkan", "cuda"}) {
    const Result<Recipe> recipe = parse_recipe(
        concat("schema: \"1.0\"\ndevice_modules: [{type_key: ", key,
               ", data: k, format: f, kernels: {a: {arguments: [], launch: [core]}}}]\n"),
        "r.yaml", "/models");

    ASSERT_FALSE(recipe.ok()) << key;
    EXPECT_THAT(recipe.error().message, HasSubstr("launch tag \"core\" is unknown"));
  }
}

TEST(Recipe, AcceptsAnyNameOfAKernelWithoutASource) {
  const Result<Recipe> recipe = parse_recipe(
      "schema: \"1.0\"\ndevice_modules: [{type_key: npu, data: k, format: f, kernels: {a/b: "
      "{arguments: [], launch: []}}}]\n",
      "r.yaml", "/models");

  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
}

TEST(Recipe, LeavesLaunchTagsOfAnotherLoaderToIt) {
  const Result<Recipe> recipe = parse_recipe(
      "schema: \"1.0\"\ndevice_modules: [{type_key: npu, data: k, format: f, kernels: {a: "
      "{arguments: [], launch: [core]}}}]\n",
      "r.yaml", "/models");

  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
}

TEST(Recipe, RejectsANewerSchema) {
  const Result<Recipe> recipe =
      parse_recipe("schema: \"2.0\"\nsources: [a.c]\n", "r.yaml", "/models");

  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, Code::unsupported);
  EXPECT_EQ(recipe.error().message, "r.yaml:1:9: schema: is \"2.0\", this version reads 1.x");
}

TEST(RecipeSchema, EqualsTheReadersFields) {
  const auto schema = test::Json::parse(test::file_text(test::config("schema/recipe.schema.json")));

  test::expect_same(recipe_fields(), schema, "");
}

Result<Recipe> with_kernel(std::string_view name) {
  return parse_recipe(concat("schema: \"1.0\"\ndevice_modules: [{type_key: opencl, kernels: {'",
                             name, "': {source: k.cl, arguments: [], launch: []}}}]\n"),
                      "r.yaml", "/models");
}

TEST(Recipe, AcceptsIdentifiersAsKernelNames) {
  for (const std::string_view name : {"_", "a", "z", "A", "Z", "a0", "a9", "_zZ"}) {
    EXPECT_TRUE(with_kernel(name).ok()) << name;
  }
  for (const std::string_view name : {"", "0a", "9a", "a/", "a:", "a@", "a[", "a`", "a{", "a b"}) {
    EXPECT_FALSE(with_kernel(name).ok()) << name;
  }
}

TEST(Recipe, RejectsAGraphFileBesideAnyPartOfAGraph) {
  for (const std::string_view part :
       {"inputs: {x: \"int8[1]\"}", "operators: []", "outputs: [a]"}) {
    const Result<Recipe> recipe = parse_recipe(
        concat("schema: \"1.0\"\ngraph: {file: g.json, ", part, "}\n"), "r.yaml", "/m");

    ASSERT_FALSE(recipe.ok()) << part;
    EXPECT_EQ(recipe.error().code, Code::malformed);
    EXPECT_EQ(recipe.error().message,
              "r.yaml:2:8: graph: a graph requires either file, or inputs, operators and outputs");
  }
}

TEST(Recipe, IsEnoughWithDeviceModulesOrAGraph) {
  EXPECT_TRUE(
      parse_recipe("schema: \"1.0\"\ndevice_modules: [{type_key: acme, data: k}]\n", "r", "/")
          .ok());
  EXPECT_TRUE(parse_recipe("schema: \"1.9\"\ngraph: {file: g}\n", "r", "/").ok());
}

}  // namespace
}  // namespace gantry
