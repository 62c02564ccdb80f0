// SPDX-License-Identifier: Apache-2.0
//
// The cases with other types and extents: narrow floating-point types, extents that are known only at
// the call, tensors without elements.
#include "plugins/dnnl/loops.hpp"
#include "plugins/dnnl/operators.hpp"
#include "tests/unit/dnnl/subgraph_runner.hpp"

#include <gantry/word_list.hpp>

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace gantry::dnnl_plugin::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// Returns the elements of an array in another type.
CaseArray in_type(const CaseArray& array, gantry_dtype dtype) {
  const ElementType from = *element_type_of(array.dtype), to = *element_type_of(dtype);
  CaseArray made{dtype, array.shape, {}};
  const auto count = static_cast<std::int64_t>(array.bytes.size() /
                                               ::dnnl::memory::data_type_size(data_type_of(from)));
  made.bytes.resize(static_cast<std::size_t>(count) *
                    ::dnnl::memory::data_type_size(data_type_of(to)));
  void* const tensors[] = {const_cast<std::uint8_t*>(array.bytes.data()), made.bytes.data()};
  convert_loop({from, {count}, {1}}, {to, {count}, {1}})(tensors);
  return made;
}

// Returns the first element that differs by more than a part of its size; empty: none.
std::string difference(const CaseArray& found, const CaseArray& expected, float tolerance) {
  if (!same_dtype(found.dtype, expected.dtype)) return "another type";
  if (found.bytes == expected.bytes) return {};
  const CaseArray a = in_type(found, dtypes::float32), b = in_type(expected, dtypes::float32);
  for (std::size_t at = 0; at < b.bytes.size(); at += sizeof(float)) {
    float is, wanted;
    std::memcpy(&is, a.bytes.data() + at, sizeof is);
    std::memcpy(&wanted, b.bytes.data() + at, sizeof wanted);
    if (!(std::abs(is - wanted) <= tolerance * (1 + std::abs(wanted))) &&
        !(std::isnan(is) && std::isnan(wanted)))
      return concat("element ", at / sizeof(float), " is ", is, ", expected ", wanted);
  }
  return {};
}

bool is_float32(gantry_dtype dtype) { return same_dtype(dtype, dtypes::float32); }

// True if the row of each operator of a case has the type.
bool have_type(const SubgraphCase& what, std::string_view type) {
  const Json graph = Json::parse(what.json);
  for (const Json& node : graph["nodes"]) {
    if (node["op"] != "kernel") continue;
    const auto match = find_operator(what.key, node["name"].get_ref<const std::string&>());
    if (!match || !has_word(match->row->types, type)) return false;
  }
  return true;
}

// Returns the case with all tensors of float32 in another type.
SubgraphCase narrowed(const SubgraphCase& what, gantry_dtype dtype) {
  SubgraphCase made = what;
  const std::string from = "\"float32\"", to = concat("\"", dtype_text(dtype), "\"");
  for (std::size_t at = 0; (at = made.json.find(from, at)) != std::string::npos; at += to.size())
    made.json.replace(at, from.size(), to);
  for (auto* const arrays : {&made.inputs, &made.constants, &made.outputs}) {
    for (CaseArray& array : *arrays) {
      if (is_float32(array.dtype)) array = in_type(array, dtype);
    }
  }
  return made;
}

// Runs all cases in a type; returns a line for each that differs.
std::vector<std::string> differences_in(gantry_dtype dtype, float tolerance, int& count) {
  std::vector<std::string> different;
  for (const SubgraphCase& each : subgraph_cases()) {
    if (!have_type(each, dtype_text(dtype))) continue;
    const SubgraphCase what = narrowed(each, dtype);
    SubgraphRunner runner;
    const auto outputs = runner.run(what);
    ++count;
    const std::string name = concat(what.key, " ", what.name, ": ");
    if (!outputs.ok()) {
      different.push_back(name + std::string(outputs.error().message.text()));
      continue;
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const std::string found = difference((*outputs)[i], what.outputs[i], tolerance);
      if (!found.empty()) different.push_back(name + found);
    }
  }
  return different;
}

// The inputs of the cases are exact in both types.
TEST(NarrowTypes, GiveTheResultsOfNumPyInFloat16) {
  int count = 0;
  EXPECT_THAT(differences_in(dtypes::float16, 4e-3f, count), IsEmpty());
  EXPECT_GT(count, 200);
}

TEST(NarrowTypes, GiveTheResultsOfNumPyInBfloat16) {
  int count = 0;
  EXPECT_THAT(differences_in(dtypes::bfloat16, 2e-2f, count), IsEmpty());
  EXPECT_GT(count, 200);
}

TEST(NarrowTypes, GiveTheResultsOfNumPyInFloat8) {
  int count = 0;
  EXPECT_THAT(differences_in(*parse_dtype("float8_e4m3fn"), 7e-2f, count), IsEmpty());
  EXPECT_GT(count, 3);
}

TEST(NarrowTypes, RoundToNearestAndKeepTheirRange) {
  const auto back = [](float number, const char* type) {
    CaseArray array{dtypes::float32, {1}, std::vector<std::uint8_t>(sizeof number)};
    std::memcpy(array.bytes.data(), &number, sizeof number);
    const CaseArray made = in_type(in_type(array, *parse_dtype(type)), dtypes::float32);
    std::memcpy(&number, made.bytes.data(), sizeof number);
    return number;
  };

  // Ties to even, in normal and subnormal numbers.
  EXPECT_EQ(back(1.0625f, "float8_e4m3fn"), 1.0f);
  EXPECT_EQ(back(1.1875f, "float8_e4m3fn"), 1.25f);
  EXPECT_EQ(back(1.97f, "float8_e4m3fn"), 2.0f);
  EXPECT_EQ(back(0.001953125f * 1.5f, "float8_e4m3fn"), 0.00390625f);
  EXPECT_EQ(back(-0.0009765625f, "float8_e4m3fn"), -0.0f);
  // It has no infinity.
  EXPECT_EQ(back(448, "float8_e4m3fn"), 448.0f);
  EXPECT_EQ(back(-1e9f, "float8_e4m3fn"), -448.0f);
  EXPECT_EQ(back(INFINITY, "float8_e4m3fn"), 448.0f);
  EXPECT_TRUE(std::isnan(back(NAN, "float8_e4m3fn")));
  EXPECT_EQ(back(1.00390625f, "bfloat16"), 1.0f);
  EXPECT_EQ(back(1.01171875f, "bfloat16"), 1.015625f);
  EXPECT_EQ(back(INFINITY, "bfloat16"), INFINITY);
  EXPECT_TRUE(std::isnan(back(NAN, "bfloat16")));
  EXPECT_EQ(back(-300.9f, "int8"), -128.0f);
  EXPECT_EQ(back(-3.9f, "int32"), -3.0f);
  EXPECT_EQ(back(3e9f, "int32"), 2147483648.0f);
  EXPECT_EQ(back(-1, "uint8"), 0.0f);
  EXPECT_EQ(back(NAN, "int8"), 0.0f);
  EXPECT_EQ(back(-0.25f, "bool"), 1.0f);
}

// Returns the case with extents that are known only at the call.
//
// is_all   [in]   all of them, else the first of each tensor
SubgraphCase with_unknown_extents(const SubgraphCase& what, bool is_all) {
  SubgraphCase made = what;
  Json graph = Json::parse(what.json);
  for (Json& node : graph["nodes"]) {
    if (node["op"] == "const") continue;
    const bool is_typed = node["attrs"]["dtype"][0].is_string();
    Json& shapes = is_typed ? node["attrs"]["shape"] : node["attrs"]["shape"][0];
    for (Json& shape : shapes) {
      for (std::size_t i = 0; i < shape.size() && (is_all || i == 0); ++i) shape[i] = -1;
    }
  }
  made.json = graph.dump();
  return made;
}

std::size_t kernel_count(const SubgraphCase& what) {
  std::size_t count = 0;
  const Json graph = Json::parse(what.json);
  for (const Json& node : graph.at("nodes")) count += node["op"] == "kernel" ? 1 : 0;
  return count;
}

TEST(ExtentsOfTheCall, GiveTheSameResults) {
  std::vector<std::string> different;
  for (const SubgraphCase& each : subgraph_cases()) {
    // Those between operators follow from the operators.
    const SubgraphCase what = with_unknown_extents(each, kernel_count(each) == 1);
    SubgraphRunner runner;
    const auto module = runner.load(what);
    ASSERT_TRUE(module.ok()) << module.error().message;
    const Status ready = runner.initialize(**module, what);
    ASSERT_TRUE(ready.ok()) << each.name << ": " << ready.error().message;
    for (int run = 0; run < 2; ++run) {
      const auto outputs = runner.run(**module, what);
      const std::string name = concat(what.key, " ", what.name, ": ");
      if (!outputs.ok()) {
        different.push_back(name + std::string(outputs.error().message.text()));
        break;
      }
      for (std::size_t i = 0; i < outputs->size(); ++i) {
        const std::string found = difference((*outputs)[i], what.outputs[i], 2e-5f);
        if (!found.empty()) different.push_back(name + found);
      }
    }
  }
  EXPECT_THAT(different, IsEmpty());
}

CaseArray floats_of(std::vector<std::int64_t> shape, std::vector<float> elements) {
  CaseArray array{dtypes::float32, std::move(shape), {}};
  array.bytes.resize(elements.size() * sizeof(float));
  if (!elements.empty()) std::memcpy(array.bytes.data(), elements.data(), array.bytes.size());
  return array;
}

// A sub-graph of one operator in the form of v0.24.
//
// shapes   [in]   those of the graph; the others are those of the arrays
SubgraphCase one_operator(std::string_view key, std::string_view name, Json attributes,
                          std::vector<CaseArray> inputs, std::vector<CaseArray> outputs) {
  SubgraphCase what;
  what.key = key;
  what.name = name;
  Json graph;
  Json references = Json::array(), heads = Json::array(), row = {0}, arguments = Json::array();
  const auto set_types = [](Json& attrs, const std::vector<CaseArray>& arrays) {
    for (const CaseArray& array : arrays) {
      attrs["dtype"].push_back(dtype_text(array.dtype));
      attrs["shape"].push_back(array.shape);
    }
  };
  const auto count = static_cast<int>(inputs.size());
  for (int i = 0; i < count; ++i) {
    Json node = {{"op", "input"}, {"name", concat("x", i)}, {"attrs", Json::object()}};
    set_types(node["attrs"], {inputs[static_cast<std::size_t>(i)]});
    graph["nodes"].push_back(node);
    references.push_back({i, 0, 0});
    arguments.push_back(i);
    row.push_back(i + 1);
  }
  set_types(attributes, outputs);
  graph["nodes"].push_back(
      {{"op", "kernel"}, {"name", name}, {"inputs", references}, {"attrs", attributes}});
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) heads.push_back({count, i, 0});
  row.push_back(count + static_cast<int>(outputs.size()));
  graph["arg_nodes"] = arguments;
  graph["heads"] = heads;
  graph["node_row_ptr"] = row;
  what.json = graph.dump();
  what.inputs = std::move(inputs);
  what.outputs = std::move(outputs);
  return what;
}

// A product of any number of rows and three columns: each row is the sum of its elements, once to three times.
SubgraphCase rows_of(std::int64_t rows) {
  std::vector<float> left, right = {1, 2, 3, 1, 2, 3}, out;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto number = static_cast<float>(i);
    left.insert(left.end(), {number, 1});
    for (int k = 1; k <= 3; ++k) out.push_back(static_cast<float>(k) * (number + 1));
  }
  return one_operator("cublas_json", "cublas.matmul", Json::object(),
                      {floats_of({rows, 2}, left), floats_of({2, 3}, right)},
                      {floats_of({rows, 3}, out)});
}

TEST(ExtentsOfTheCall, MayChangeWithEachCall) {
  const SubgraphCase what = with_unknown_extents(rows_of(1), true);
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());

  // More sets of extents than are kept, then the first ones again.
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 10, 0, 2}) {
    const SubgraphCase call = rows_of(rows);
    const auto outputs = runner.run(*module, call);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].bytes, call.outputs[0].bytes) << rows;
  }
}

TEST(ExtentsOfTheCall, RefuseThoseThatDoNotFit) {
  const SubgraphCase what = with_unknown_extents(rows_of(1), true);
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());
  SubgraphCase call = rows_of(2);
  call.outputs[0].shape = {3, 2};

  const auto refused = runner.run(*module, call);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("inputs of shapes [2, 2] and [2, 3] give [3, 2]"));
  call = rows_of(2);
  call.inputs[1] = floats_of({3, 2}, std::vector<float>(6));
  const auto other = runner.run(*module, call);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message.text(), HasSubstr("inputs of shapes [2, 2] and [3, 2]"));
  // And the next call is served.
  EXPECT_TRUE(runner.run(*module, rows_of(2)).ok());
}

// The extents of a constant are its own, also where it is an output.
TEST(ExtentsOfTheCall, RefuseAnOutputThatIsASmallerConstant) {
  SubgraphCase what = with_unknown_extents(rows_of(1), true);
  Json graph = Json::parse(what.json);
  graph["nodes"].push_back(
      {{"op", "const"}, {"name", "c0"}, {"attrs", {{"dtype", {"float32"}}, {"shape", {{-1}}}}}});
  graph["arg_nodes"].push_back(3);
  graph["heads"].push_back({3, 0, 0});
  graph["node_row_ptr"].push_back(4);
  what.json = graph.dump();
  what.constants = {floats_of({8}, std::vector<float>(8))};
  SubgraphRunner runner;
  const auto module = runner.load(what).value();
  ASSERT_TRUE(runner.initialize(*module, what).ok());
  SubgraphCase call = rows_of(1);
  call.outputs.push_back(floats_of({2}, {0, 0}));

  const auto refused = runner.run(*module, call);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "ARGUMENT");
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("argument 3 has shape [2], the tensor has [8]"));
}

TEST(ExtentsOfTheCall, RefuseThoseOfAnImageThatIsResized) {
  std::vector<SubgraphCase> found;
  for (const SubgraphCase& each : subgraph_cases()) {
    if (each.json.find("resize2d") != std::string::npos && kernel_count(each) == 1)
      found.push_back(each);
  }
  ASSERT_FALSE(found.empty());
  SubgraphCase what = with_unknown_extents(found.front(), true);
  Json graph = Json::parse(what.json);
  // The output is between two operators.
  const auto kernel = graph["nodes"].size() - 1;
  Json next = graph["nodes"][kernel];
  next["inputs"] = {{kernel, 0, 0}};
  graph["nodes"].push_back(next);
  graph["heads"] = {{kernel + 1, 0, 0}};
  graph["node_row_ptr"].push_back(graph["node_row_ptr"].back().get<int>() + 1);
  what.json = graph.dump();

  SubgraphRunner runner;
  const auto refused = runner.run(what);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("whose extents do not follow from those of its inputs"));
}

TEST(ExtentsOfTheCall, RefuseUnequalPartsThatAreNotStated) {
  // Five elements in two parts.
  SubgraphCase what =
      one_operator("tensorrt", "tensorrt.split", {{"axis", 0}}, {floats_of({5}, {1, 2, 3, 4, 5})},
                   {floats_of({2}, {1, 2}), floats_of({3}, {3, 4, 5})});
  what = with_unknown_extents(what, true);
  Json graph = Json::parse(what.json);
  // The second part is no output of the graph.
  graph["heads"].erase(1);
  what.json = graph.dump();
  what.outputs.pop_back();

  SubgraphRunner runner;
  const auto refused = runner.run(what);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("whose extents do not follow from those of its inputs"));
}

TEST(BytesThatAreCopied, KeepAllBits) {
  const std::vector<std::uint8_t> bytes = {0, 1, 127, 128, 255, 56};
  const CaseArray in{dtypes::uint8, {6}, bytes};
  const CaseArray out{dtypes::uint8, {2, 3}, bytes};
  SubgraphRunner runner;

  const auto outputs =
      runner.run(one_operator("arm_compute_lib", "reshape", Json::object(), {in}, {out}));

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].bytes, bytes);
}

// Between two operators, where no argument has it.
TEST(ExtentsOfTheCall, RefuseAShapeThatDoesNotFollow) {
  SubgraphCase what = subgraph_case("tensorrt", "views");
  Json graph = Json::parse(what.json);
  for (Json& node : graph["nodes"]) {
    if (node["name"] == "tensorrt.nn.batch_flatten") node["attrs"]["shape"][0][0] = {-1, -1};
    if (node["name"] == "tensorrt.exp") node["attrs"]["shape"][0][0] = {-1, -1};
  }
  // The output of the operator is no output of the graph.
  graph["heads"].erase(0);
  what.json = graph.dump();
  what.outputs.erase(what.outputs.begin());

  SubgraphRunner runner;
  const auto refused = runner.run(what);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().reason, "SUBGRAPH_OPERATOR");
  EXPECT_THAT(
      refused.error().message.text(),
      HasSubstr("operator \"tensorrt.nn.batch_flatten\": output 0 is float32[-1, -1], whose "
                "extents do not follow from those of its inputs"));
}

struct EmptyCase {
  const char* name;
  SubgraphCase what;
};

std::vector<EmptyCase> empty_cases() {
  const auto none = [](std::vector<std::int64_t> shape) { return floats_of(std::move(shape), {}); };
  const Json conv = {{"strides", {1, 1}},   {"padding", {0, 0, 0, 0}}, {"dilation", {1, 1}},
                     {"groups", 1},         {"data_layout", "NCHW"},   {"kernel_layout", "OIHW"},
                     {"out_layout", "NCHW"}};
  const float nan = std::nanf("");
  return {
      {"NoRows", rows_of(0)},
      {"NoTerms", one_operator("cublas_json", "cublas.matmul_bias", Json::object(),
                               {none({2, 0}), none({0, 3}), floats_of({3}, {1, 2, 3})},
                               {floats_of({2, 3}, {1, 2, 3, 1, 2, 3})})},
      {"NoTermsTransposed",
       one_operator("cublas_json", "cublas.matmul_transposed", Json::object(),
                    {none({2, 0}), none({3, 0})}, {floats_of({2, 3}, {0, 0, 0, 0, 0, 0})})},
      {"DenseWithoutTerms",
       one_operator("dnnl_json", "nn.dense", Json::object(), {none({2, 0}), none({3, 0})},
                    {floats_of({2, 3}, {0, 0, 0, 0, 0, 0})})},
      {"NoImages",
       one_operator("cudnn_json", "cudnn.conv2d.nhwc_ohwi", conv,
                    {none({0, 1, 4, 4}), floats_of({1, 1, 1, 1}, {1})}, {none({0, 1, 4, 4})})},
      {"Softmax",
       one_operator("nnapi", "nnapi.softmax", Json::object(), {none({3, 0})}, {none({3, 0})})},
      {"Compared", one_operator("nnapi", "nnapi.less", Json::object(), {none({3, 0}), none({3, 0})},
                                {{*parse_dtype("bool"), {3, 0}, {}}})},
      {"OnePartOfThree",
       one_operator("tensorrt", "tensorrt.concatenate", {{"axis", 0}},
                    {floats_of({1, 2}, {1, 2}), none({0, 2}), floats_of({1, 2}, {3, 4})},
                    {floats_of({2, 2}, {1, 2, 3, 4})})},
      {"SplitOffNothing",
       one_operator("tensorrt", "tensorrt.split", {{"axis", 0}}, {floats_of({2}, {1, 2})},
                    {floats_of({1}, {1}), none({0}), floats_of({1}, {2})})},
      {"Padded", one_operator("tensorrt", "tensorrt.nn.pad", {{"padding", {1, 0, 0, 1}}},
                              {none({0, 1})}, {floats_of({1, 2}, {0, 0})})},
      {"Sum", one_operator("tensorrt", "tensorrt.sum", {{"axis", {1}}}, {none({2, 0})},
                           {floats_of({2}, {0, 0})})},
      {"Product", one_operator("tensorrt", "tensorrt.prod", {{"axis", {1}}}, {none({2, 0})},
                               {floats_of({2}, {1, 1})})},
      {"Mean", one_operator("tensorrt", "tensorrt.mean", {{"axis", {1}}}, {none({2, 0})},
                            {floats_of({2}, {nan, nan})})},
  };
}

TEST(TensorsWithoutElements, GiveWhatNumPyGives) {
  for (const EmptyCase& each : empty_cases()) {
    for (const char* type : {"float32", "float16"}) {
      const SubgraphCase what = narrowed(each.what, *parse_dtype(type));
      SubgraphRunner runner;

      const auto outputs = runner.run(what);

      ASSERT_TRUE(outputs.ok()) << each.name << ": " << outputs.error().message;
      for (std::size_t i = 0; i < outputs->size(); ++i)
        EXPECT_EQ(difference((*outputs)[i], what.outputs[i], 0), "") << each.name << " " << type;
    }
  }
}

TEST(TensorsWithoutElements, HaveNoLargestElement) {
  const SubgraphCase what = one_operator("tensorrt", "tensorrt.max", {{"axis", {1}}},
                                         {floats_of({2, 0}, {})}, {floats_of({2}, {0, 0})});
  SubgraphRunner runner;

  const auto refused = runner.run(what);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("operator \"tensorrt.max\": input 0 has no elements, the output has some"));
}

TEST(Attention, RefusesAMask) {
  SubgraphCase what = subgraph_case("cudnn_json", "attention");
  Json graph = Json::parse(what.json);
  for (Json& node : graph["nodes"]) {
    if (node["op"] == "kernel") node["attrs"]["causal_mask"] = "TopLeft";
  }
  what.json = graph.dump();
  SubgraphRunner runner;

  const auto refused = runner.run(what);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message.text(),
              HasSubstr("attribute \"causal_mask\" is \"TopLeft\", supported are none"));
}

TEST(Attention, RefusesHeadsThatDoNotFillTheTensor) {
  for (const auto& [name, number] : {std::pair{"num_heads", 3},
                                     {"num_kv_heads", 3},
                                     {"head_size", 0},
                                     {"head_size_v", 2147483647}}) {
    SubgraphCase what = subgraph_case("cudnn_json", "attention");
    Json graph = Json::parse(what.json);
    for (Json& node : graph["nodes"]) {
      if (node["op"] == "kernel") node["attrs"][name] = number;
    }
    what.json = graph.dump();
    SubgraphRunner runner;

    const auto refused = runner.run(what);

    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::malformed) << name;
  }
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
