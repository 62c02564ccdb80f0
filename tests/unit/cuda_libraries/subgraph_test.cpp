// SPDX-License-Identifier: Apache-2.0
//
// Sub-graphs for cuBLAS and cuDNN: the cases whose outputs NumPy computed, on the fake driver.
#include "plugins/cuda_libraries/subgraph_plugin.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/subgraphs/subgraph_cases.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/cuda_libraries/world.hpp"

#include <nlohmann/json.hpp>

#include <cstring>

namespace gantry::cuda_libraries::test {
namespace {

using gantry::test::CaseArray;
using gantry::test::subgraph_case;
using gantry::test::subgraph_cases;
using gantry::test::SubgraphCase;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;

template <class Library>
class SubgraphWorld : public World {
 protected:
  using Of = SubgraphPlugin<Library>;
  using Module = SubgraphModule<Of, SubgraphProgram>;

  SubgraphWorld() { create(); }
  ~SubgraphWorld() override { subgraphs.reset(); }

  void create() {
    auto made = Of::create(Host(host.table()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    subgraphs = std::move(*made);
  }

  Result<std::unique_ptr<Module>> load(const SubgraphCase& what) {
    gantry::test::Words& payload = *payloads.emplace_back(std::make_unique<gantry::test::Words>());
    payload.str("main_0").str(what.json).u64(what.constants.size());
    for (std::size_t i = 0; i < what.constants.size(); ++i) payload.str(concat("c", i));
    const ObjectRef pin = ObjectRef::adopt(host.new_pin());
    gantry_blob raw = gantry::test::payload_blob(payload.bytes(), 3, true, pin.get());
    raw.type_key = bytes_of(what.key);
    Blob blob(raw);
    GANTRY_TRY(auto module, Module::load(*subgraphs, blob));
    std::vector<Value> constants;
    for (const CaseArray& constant : what.constants) {
      CaseArray copy = constant;
      GANTRY_TRY(Value made, subgraphs->host.tensor_new(copy.tensor()));
      std::ranges::copy(copy.bytes, static_cast<std::uint8_t*>(made.tensor()->data));
      constants.push_back(std::move(made));
    }
    GANTRY_TRY(const Value list, subgraphs->host.array(constants));
    GANTRY_CHECK(module->find("__init_main_0")->call({{}, &env, std::array{list.get()}}));
    return module;
  }

  std::unique_ptr<Tensor> placed(const CaseArray& array) {
    return on_device<std::uint8_t>(array.shape, array.bytes, array.dtype);
  }
  // Tensors of a call; the outputs are filled with 0xa5.
  struct Arguments {
    std::vector<std::unique_ptr<Tensor>> inputs, outputs;
    std::vector<gantry_value> values;
  };
  Arguments arguments_of(const SubgraphCase& what) {
    Arguments made;
    for (const CaseArray& input : what.inputs) made.inputs.push_back(placed(input));
    for (CaseArray output : what.outputs) {
      std::ranges::fill(output.bytes, std::uint8_t{0xa5});
      made.outputs.push_back(placed(output));
    }
    for (const auto* tensors : {&made.inputs, &made.outputs}) {
      for (const auto& tensor : *tensors) made.values.push_back(tensor->value());
    }
    return made;
  }
  Status run(Module& module, const Arguments& with) {
    GANTRY_CHECK(module.find("main_0")->call({{}, &env, with.values}));
    return {};
  }
  // Loads the sub-graph, runs it and waits.
  Status run(const SubgraphCase& what, Arguments& with) {
    GANTRY_TRY(const auto module, load(what));
    GANTRY_CHECK(run(*module, with));
    synchronize();
    return {};
  }
  Error error_of(const SubgraphCase& what) {
    Arguments with = arguments_of(what);
    auto done = run(what, with);
    EXPECT_FALSE(done.ok()) << what.name;
    return done.ok() ? Error() : std::move(done).error();
  }
  static void expect_outputs(const SubgraphCase& what, const Arguments& with) {
    for (std::size_t i = 0; i < what.outputs.size(); ++i) {
      const CaseArray& expected = what.outputs[i];
      const void* const found = with.outputs[i]->template data<std::uint8_t>();
      if (!same_dtype(expected.dtype, dtypes::float32)) {
        EXPECT_EQ(std::memcmp(found, expected.bytes.data(), expected.bytes.size()), 0) << what.name;
        continue;
      }
      // GELU is computed with tanh.
      const float allowed = what.name.find("gelu") == std::string::npos ? 1e-5f : 1e-3f;
      for (std::size_t k = 0; k < expected.bytes.size() / sizeof(float); ++k) {
        float want = 0, got = 0;
        std::memcpy(&want, expected.bytes.data() + k * sizeof want, sizeof want);
        std::memcpy(&got, static_cast<const char*>(found) + k * sizeof got, sizeof got);
        EXPECT_NEAR(got, want, allowed) << what.name << " output " << i << " element " << k;
      }
    }
  }
  void expect_case(const SubgraphCase& what) {
    Arguments with = arguments_of(what);
    const Status done = run(what, with);
    ASSERT_TRUE(done.ok()) << what.name << ": " << done.error().message;
    expect_outputs(what, with);
  }

  std::unique_ptr<Of> subgraphs;
  std::vector<std::unique_ptr<gantry::test::Words>> payloads;
};

using CublasSubgraphs = SubgraphWorld<CublasJson>;
using CudnnSubgraphs = SubgraphWorld<CudnnJson>;

// Changes the operator of a case.
template <class Change>
SubgraphCase changed(const SubgraphCase& from, const Change& change) {
  SubgraphCase made = from;
  Json graph = Json::parse(made.json);
  for (Json& node : graph["nodes"]) {
    if (node["op"] == "kernel") change(node);
  }
  made.json = graph.dump();
  return made;
}

CaseArray floats_of(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  CaseArray made{dtypes::float32, std::move(shape), {}};
  made.bytes.resize(values.size() * sizeof(float));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

TEST_F(CublasSubgraphs, ComputeWhatNumPyComputes) {
  std::size_t count = 0;
  for (const SubgraphCase& each : subgraph_cases()) {
    if (each.key != "cublas_json" || each.name == "matmul_multiply") continue;
    ++count;
    expect_case(each);
  }
  EXPECT_GE(count, 11u);
}

TEST_F(CudnnSubgraphs, ComputeAttentionAsNumPyDoes) {
  for (const char* const name : {"attention", "attention_groups", "attention_of_positions"})
    expect_case(subgraph_case("cudnn_json", name));
}

// A filter of ones over an image of 3 x 3, padded by 1: sums of neighbours, and a bias of -20.
TEST_F(CudnnSubgraphs, ComputeConvolutionsInBothLayouts) {
  for (const bool is_nhwc : {true, false}) {
    SubgraphCase what;
    what.key = "cudnn_json";
    what.name = is_nhwc ? "NHWC" : "NCHW";
    const std::vector<std::int64_t> image =
        is_nhwc ? std::vector<std::int64_t>{1, 3, 3, 1} : std::vector<std::int64_t>{1, 1, 3, 3};
    const std::vector<std::int64_t> filter =
        is_nhwc ? std::vector<std::int64_t>{1, 3, 3, 1} : std::vector<std::int64_t>{1, 1, 3, 3};
    what.inputs = {floats_of(image, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                   floats_of(filter, std::vector<float>(9, 1)), floats_of({1}, {-20})};
    what.outputs = {floats_of(image, {0, 1, 0, 7, 25, 13, 4, 19, 8})};
    const auto input = [](const char* name, const std::vector<std::int64_t>& shape) {
      return Json{
          {"op", "input"}, {"name", name}, {"attrs", {{"dtype", {"float32"}}, {"shape", {shape}}}}};
    };
    const Json kernel = {{"op", "kernel"},
                         {"name", "cudnn.conv2d.nhwc_ohwi_bias_relu"},
                         {"inputs", {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}},
                         {"attrs",
                          {{"dtype", {"float32"}},
                           {"shape", {image}},
                           {"strides", {1, 1}},
                           {"padding", {1, 1, 1, 1}},
                           {"dilation", {1, 1}},
                           {"groups", 1},
                           {"data_layout", is_nhwc ? "NHWC" : "NCHW"},
                           {"kernel_layout", is_nhwc ? "OHWI" : "OIHW"},
                           {"out_layout", is_nhwc ? "NHWC" : "NCHW"},
                           {"out_dtype", "float32"},
                           {"num_inputs", 3},
                           {"num_outputs", 1}}}};
    what.json = Json{{"nodes", {input("x", image), input("w", filter), input("b", {1}), kernel}},
                     {"arg_nodes", {0, 1, 2}},
                     {"heads", {{3, 0, 0}}},
                     {"node_row_ptr", {0, 1, 2, 3, 4}}}
                    .dump();
    expect_case(what);
  }
}

TEST_F(CudnnSubgraphs, RefusePaddingThatDiffersAtOppositeSides) {
  const Error refused = error_of(subgraph_case("cudnn_json", "conv2d"));

  EXPECT_EQ(refused.code, Code::unsupported);
  EXPECT_EQ(refused.reason, "SUBGRAPH_OPERATOR");
  EXPECT_THAT(refused.message.text(), HasSubstr("attribute \"padding\" is [1, 0, 1, 1]"));
}

TEST_F(CublasSubgraphs, RunInTheStreamOfTheCall) {
  const SubgraphCase& what = subgraph_case("cublas_json", "matmul_bias");
  Arguments with = arguments_of(what);
  const auto module = load(what);
  ASSERT_TRUE(module.ok()) << module.error().message;
  env.stream = new_stream();

  const Status done = run(**module, with);

  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_THAT(libraries.products, SizeIs(1));
  EXPECT_EQ(libraries.products[0].stream, env.stream);
  EXPECT_EQ(libraries.products[0].epilogue, 4);
  EXPECT_THAT(with.outputs[0]->values<std::uint8_t>(4), Each(0xa5)) << "the call does not wait";
  synchronize(env.stream);
  expect_outputs(what, with);
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CublasSubgraphs, CopyTheirConstantsOnceToEachDevice) {
  const SubgraphCase& what = subgraph_case("cublas_json", "matmul_bias_relu");
  const auto module = load(what);
  ASSERT_TRUE(module.ok()) << module.error().message;
  for (int i = 0; i < 3; ++i) {
    Arguments with = arguments_of(what);
    const Status done = run(**module, with);
    ASSERT_TRUE(done.ok()) << done.error().message;
    synchronize();
    expect_outputs(what, with);
  }

  EXPECT_THAT(host.copies,
              ElementsAre(what.constants[0].bytes.size(), what.constants[1].bytes.size()));
}

TEST_F(CublasSubgraphs, RefuseTensorsOfTheCpu) {
  SubgraphCase what = subgraph_case("cublas_json", "matmul");
  const auto module = load(what);
  ASSERT_TRUE(module.ok()) << module.error().message;
  Arguments with = arguments_of(what);
  gantry_tensor cpu = what.inputs[1].tensor();
  with.values[1] = tensor_ref_value(&cpu);

  const Status done = run(**module, with);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::unsupported);
  EXPECT_EQ(done.error().reason, "ARGUMENT_DEVICE");
  EXPECT_THAT(done.error().message.text(),
              HasSubstr("argument 1 is float32[4, 5] on cpu:0, \"cublas_json\" sub-graphs run here "
                        "with tensors on cuda"));
}

TEST_F(CublasSubgraphs, RefuseTensorsOfTwoDevices) {
  const SubgraphCase& what = subgraph_case("cublas_json", "matmul");
  const auto module = load(what);
  ASSERT_TRUE(module.ok()) << module.error().message;
  Arguments with = arguments_of(what);
  with.inputs[1]->tensor.device.index = 1;

  const Status done = run(**module, with);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::invalid);
  EXPECT_EQ(done.error().message.text(), "tensors are on cuda:0 and cuda:1, expected one device");
}

// x W1, then relu(x W1 W2 + b): the first result is in memory of the call.
TEST_F(CublasSubgraphs, RunOperatorsInOrder) {
  const auto node = [](const char* name, const std::vector<std::int64_t>& shape) {
    return Json{
        {"op", "input"}, {"name", name}, {"attrs", {{"dtype", {"float32"}}, {"shape", {shape}}}}};
  };
  const auto kernel = [](const char* name, Json inputs, const std::vector<std::int64_t>& shape) {
    const std::size_t count = inputs.size();
    return Json{
        {"op", "kernel"},
        {"name", name},
        {"inputs", std::move(inputs)},
        {"attrs",
         {{"dtype", {"float32"}}, {"shape", {shape}}, {"num_inputs", count}, {"num_outputs", 1}}}};
  };
  SubgraphCase what;
  what.key = "cublas_json";
  what.name = "two";
  what.inputs = {floats_of({1, 2}, {1, 2}), floats_of({2, 2}, {1, 2, 3, 4}),
                 floats_of({2, 2}, {1, 0, 0, -1}), floats_of({2}, {0.5f, 3})};
  what.outputs = {floats_of({1, 2}, {7.5f, 0})};
  what.json = Json{{"nodes",
                    {node("x", {1, 2}), node("a", {2, 2}), node("b", {2, 2}), node("c", {2}),
                     kernel("cublas.matmul", {{0, 0, 0}, {1, 0, 0}}, {1, 2}),
                     kernel("cublas.matmul_bias_relu", {{4, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {1, 2})}},
                   {"arg_nodes", {0, 1, 2, 3}},
                   {"heads", {{5, 0, 0}}},
                   {"node_row_ptr", {0, 1, 2, 3, 4, 5, 6}}}
                  .dump();

  expect_case(what);
}

TEST_F(CublasSubgraphs, HaveNoSumsWithoutTerms) {
  SubgraphCase what = subgraph_case("cublas_json", "matmul");
  Json graph = Json::parse(what.json);
  graph["nodes"][0]["attrs"]["shape"][0][0] = {3, 0};
  graph["nodes"][1]["attrs"]["shape"][0][0] = {0, 5};
  what.json = graph.dump();
  what.inputs = {floats_of({3, 0}, {}), floats_of({0, 5}, {})};

  const Error refused = error_of(what);

  EXPECT_EQ(refused.code, Code::unsupported);
  EXPECT_THAT(refused.message.text(), HasSubstr("has sums without terms"));
}

struct Refusal {
  std::string name;
  const char* key;
  const char* of;
  void (*change)(Json& node);
  Code code;
  const char* text;
};

class SubgraphRefusals : public ::testing::TestWithParam<Refusal> {};

template <class Library>
class RefusingWorld : public SubgraphWorld<Library> {
 public:
  using SubgraphWorld<Library>::error_of;
  void TestBody() override {}
};

TEST_P(SubgraphRefusals, NameTheOperator) {
  const Refusal& row = GetParam();
  const SubgraphCase what = changed(subgraph_case(row.key, row.of), row.change);
  const Error refused = std::string_view(row.key) == "cublas_json"
                            ? RefusingWorld<CublasJson>().error_of(what)
                            : RefusingWorld<CudnnJson>().error_of(what);

  EXPECT_EQ(refused.code, row.code) << refused.message;
  EXPECT_THAT(refused.message.text(), HasSubstr(row.text));
}

const Refusal refusals[] = {
    {"Operator", "cublas_json", "matmul", [](Json& node) { node["name"] = "cublas.conv"; },
     Code::unsupported,
     "operator \"cublas.conv\" is not supported for \"cublas_json\" on a GPU, supported are "
     "cublas.matmul_transposed, cublas.matmul_transposed_dequantize, cublas.matmul"},
    {"Factors", "cublas_json", "matmul_multiply", [](Json&) {}, Code::unsupported,
     "operator \"cublas.matmul_transposed_multiply\" is not supported"},
    {"TwoActivations", "cublas_json", "matmul",
     [](Json& node) { node["name"] = "cublas.matmul_relu_gelu"; }, Code::unsupported,
     "operator \"cublas.matmul_relu_gelu\" is not supported"},
    {"Inputs", "cublas_json", "matmul_bias", [](Json& node) { node["name"] = "cublas.matmul"; },
     Code::malformed, "operator \"cublas.matmul\" has 3 inputs and 1 outputs, expected 2 and 1"},
    {"Attribute", "cublas_json", "matmul",
     [](Json& node) { node["attrs"]["alpha"] = Json::array({Json::array({"2"})}); },
     Code::unsupported, "attribute \"alpha\" is not supported, supported attributes are none"},
    {"Mask", "cudnn_json", "attention",
     [](Json& node) { node["attrs"]["causal_mask"] = "TopLeft"; }, Code::unsupported,
     "attribute \"causal_mask\" is \"TopLeft\", supported are none"},
    {"Heads", "cudnn_json", "attention", [](Json& node) { node["attrs"]["num_heads"] = 3; },
     Code::malformed, "attribute \"num_kv_heads\" is 2, num_heads is 3"},
    {"HeadSize", "cudnn_json", "attention", [](Json& node) { node["attrs"]["head_size"] = 5; },
     Code::invalid, "input 0 has shape [2, 5, 22], which 2 heads of 5 elements"},
    {"LayoutOfHeads", "cudnn_json", "attention",
     [](Json& node) { node["attrs"]["layout"] = "SBN3H"; }, Code::malformed,
     "attribute \"layout\" is \"SBN3H\", the name has BS3NH"},
    {"Layout", "cudnn_json", "conv2d",
     [](Json& node) { node["attrs"]["data_layout"] = Json::array({Json::array({"NCW"})}); },
     Code::unsupported, "attribute \"data_layout\" is \"NCW\", supported are NHWC and NCHW"},
    {"KernelLayout", "cudnn_json", "conv2d",
     [](Json& node) { node["attrs"]["kernel_layout"] = Json::array({Json::array({"OIHW"})}); },
     Code::unsupported, "attribute \"kernel_layout\" is \"OIHW\", supported is OHWI for NHWC"},
    {"OutputLayout", "cudnn_json", "conv2d",
     [](Json& node) { node["attrs"]["out_layout"] = Json::array({Json::array({"NCHW"})}); },
     Code::unsupported, "attribute \"out_layout\" is \"NCHW\", supported is NHWC"},
    {"Padding", "cudnn_json", "conv2d",
     [](Json& node) {
       node["attrs"]["padding"] = Json::array({Json::array({"1", "1", "1"})});
     },
     Code::malformed, "attribute \"padding\" has 3 numbers, expected 1, 2 or 4"},
    {"ActivationWithoutBias", "cudnn_json", "conv2d",
     [](Json& node) {
       node["name"] = "cudnn.conv2d.nhwc_ohwi_relu";
       node["attrs"]["padding"] = Json::array({Json::array({"1", "0"})});
     },
     Code::unsupported, "has an activation without a bias"},
};
INSTANTIATE_TEST_SUITE_P(Of, SubgraphRefusals, ::testing::ValuesIn(refusals),
                         [](const auto& info) { return info.param.name; });

TEST_F(CublasSubgraphs, ReadViewsOfAnyAlignment) {
  const SubgraphCase& what = subgraph_case("cublas_json", "matmul");
  Arguments with = arguments_of(what);
  const auto wider =
      on_device<std::uint8_t>({64}, std::vector<std::uint8_t>(64 * sizeof(float)), dtypes::float32);
  std::ranges::copy(what.inputs[0].bytes, wider->data<std::uint8_t>() + sizeof(float));
  with.inputs[0]->tensor.data = wider->tensor.data;
  with.inputs[0]->tensor.byte_offset = sizeof(float);

  const Status done = run(what, with);

  ASSERT_TRUE(done.ok()) << done.error().message;
  expect_outputs(what, with);
}

TEST_F(CublasSubgraphs, AddABiasToTheColumnsOnly) {
  SubgraphCase what = subgraph_case("cublas_json", "matmul_bias");
  Json graph = Json::parse(what.json);
  graph["nodes"][2]["attrs"]["shape"][0][0] = {5, 1};
  what.json = graph.dump();
  what.inputs[2].shape = {5, 1};

  const Error refused = error_of(what);

  EXPECT_EQ(refused.code, Code::invalid);
  EXPECT_THAT(refused.message.text(),
              HasSubstr("the bias is float32[5, 1], expected float32[5] at a multiple"));
}

TEST_F(CublasSubgraphs, RefuseAnEmptyOutputOfOtherExtents) {
  SubgraphCase what = subgraph_case("cublas_json", "matmul");
  Json graph = Json::parse(what.json);
  for (Json& node : graph["nodes"]) {
    if (node["op"] == "kernel") node["attrs"]["shape"][0][0] = {0, 7};
  }
  what.json = graph.dump();
  what.outputs = {floats_of({0, 7}, {})};

  const Error refused = error_of(what);

  EXPECT_EQ(refused.code, Code::invalid);
  EXPECT_THAT(refused.message.text(),
              HasSubstr("a product of float32[3, 4] and float32[4, 5] is no float32[0, 7]"));
}

TEST_F(CublasSubgraphs, CannotBeCreatedWithoutAGpu) {
  driver.gpus.clear();

  const auto made = Of::create(Host(host.table()));

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().message.text(), "the CUDA driver has no GPU");
}

TEST_F(CublasSubgraphs, NameThePluginThatRunsWhatTheyDoNot) {
  const Error refused = error_of(subgraph_case("cublas_json", "matmul_multiply"));

  EXPECT_EQ(refused.reason, "SUBGRAPH_OPERATOR");
  EXPECT_THAT(refused.message.text(),
              HasSubstr("plugins.overrides in runtime.yaml can name gantry.dnnl for "
                        "\"cublas_json\", which runs it on the CPU"));
}

TEST_F(CudnnSubgraphs, CannotCaptureAttention) {
  const SubgraphCase& what = subgraph_case("cudnn_json", "attention");
  const auto module = load(what);
  ASSERT_TRUE(module.ok()) << module.error().message;
  Arguments with = arguments_of(what);
  env.stream = new_stream();
  ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);

  const Status done = run(**module, with);

  void* graph = nullptr;
  EXPECT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
  if (graph != nullptr) device().capture_destroy(self, 0, graph);
  device().stream_destroy(self, 0, env.stream);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().reason, "CAPTURE");
}

TEST_F(CublasSubgraphs, CannotBeCreatedWithoutTheLibrary) {
  host.options["cublaslt"] = "/absent/libcublasLt.so";

  const auto made = Of::create(Host(host.table()));

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().reason, "DRIVER_MISSING");
  EXPECT_THAT(made.error().message.text(), HasSubstr("/absent/libcublasLt.so"));
}

TEST_F(CudnnSubgraphs, NeedCublasForAttentionOnly) {
  host.options["cublas"] = "/absent/libcublas.so";
  create();

  const Error refused = error_of(subgraph_case("cudnn_json", "attention"));

  EXPECT_EQ(refused.code, Code::unavailable);
  EXPECT_THAT(refused.message.text(), HasSubstr("/absent/libcublas.so"));
}

TEST_F(CublasSubgraphs, ReportFailuresOfTheLibraryWithTheOperator) {
  libraries.failing["cublasLtMatmul"] = 15;

  const Error failed = error_of(subgraph_case("cublas_json", "matmul"));

  EXPECT_THAT(failed.message.text(),
              HasSubstr("in operator \"cublas.matmul\" of sub-graph \"main_0\""));
  EXPECT_THAT(failed.message.text(), HasSubstr("CUBLAS_STATUS_NOT_SUPPORTED"));
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
