// SPDX-License-Identifier: Apache-2.0
//
// Every operator of the table against outputs that NumPy computed.
#include "plugins/dnnl/operators.hpp"
#include "plugins/dnnl/lowering.hpp"
#include "tests/support/page.hpp"
#include "tests/unit/dnnl/subgraph_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

namespace gantry::dnnl_plugin::test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the first difference; nothing if there is none.
std::string difference(const CaseArray& found, const CaseArray& expected) {
  if (!same_dtype(expected.dtype, dtypes::float32)) {
    return found.bytes == expected.bytes ? "" : "bytes differ";
  }
  for (std::size_t at = 0; at < expected.bytes.size(); at += sizeof(float)) {
    float a, b;
    std::memcpy(&a, found.bytes.data() + at, sizeof a);
    std::memcpy(&b, expected.bytes.data() + at, sizeof b);
    if (!(std::abs(a - b) <= 2e-6f + 2e-5f * std::abs(b)))
      return concat("element ", at / sizeof(float), " is ", a, ", expected ", b);
  }
  return {};
}

class SubgraphOperator : public ::testing::TestWithParam<SubgraphCase> {};

TEST_P(SubgraphOperator, ComputesWhatNumPyComputes) {
  const SubgraphCase& what = GetParam();
  SubgraphRunner runner;

  const auto outputs = runner.run(what);

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ASSERT_EQ(outputs->size(), what.outputs.size());
  for (std::size_t i = 0; i < outputs->size(); ++i)
    EXPECT_EQ(difference((*outputs)[i], what.outputs[i]), "") << "output " << i;
}

INSTANTIATE_TEST_SUITE_P(Of, SubgraphOperator, ::testing::ValuesIn(subgraph_cases()),
                         [](const auto& test) {
                           std::string name = test.param.key + "_" + test.param.name;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// Two attributes that decide about the padding together: the last window of an axis reaches behind
// the tensor by as much as its dilation makes it.
TEST(PooledWindows, AreRoundedUpWithTheirDilation) {
  SubgraphCase what = subgraph_case("dnnl_json", "max_pool2d_dilated");
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = what.json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    what.json.replace(at, from.size(), to);
  };
  replace("\"ceil_mode\": [\n     [\n      \"0\"", "\"ceil_mode\": [\n     [\n      \"1\"");
  replace("3,\n       2,\n       1", "3,\n       2,\n       2");
  // Windows of 3 x 3 with distance 2, each 2 after the one before; the tensor has 7 x 6.
  const auto* const in = reinterpret_cast<const float*>(what.inputs[0].bytes.data());
  CaseArray& out = what.outputs[0];
  out.shape = {1, 3, 2, 2};
  out.bytes.resize(12 * sizeof(float));
  for (std::size_t at = 0; at < 12; ++at) {
    const std::size_t channel = at / 4, row = 2 * (at / 2 % 2), column = 2 * (at % 2);
    float max = -INFINITY;
    for (std::size_t y = row; y < row + 5 && y < 7; y += 2) {
      for (std::size_t x = column; x < column + 5 && x < 6; x += 2)
        max = std::max(max, in[(channel * 7 + y) * 6 + x]);
    }
    std::memcpy(out.bytes.data() + at * sizeof max, &max, sizeof max);
  }
  SubgraphRunner runner;

  const auto outputs = runner.run(what);

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(difference(outputs->at(0), out), "");
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

// The names of the table and of what a fusion adds are those of the cases, and each has a source.
TEST(OperatorTable, HasACaseAndASourceForEachName) {
  std::set<std::string> wanted, seen;
  for (const OperatorRow& row : operator_rows()) {
    EXPECT_THAT(row.source, HasSubstr("src/")) << row.names;
    EXPECT_THAT(row.releases, HasSubstr("v0.")) << row.names;
    for (const std::string& name : words_of(row.names)) wanted.insert(concat(row.key, " ", name));
    for (const std::string& fusion : words_of(row.fusions))
      wanted.insert(concat(row.key, " ", row.names, " with ", fusion));
  }
  for (const SubgraphCase& each : subgraph_cases()) {
    const SubgraphPayload payload{.symbol = "", .graph_json = each.json};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < each.constants.size(); ++i) names.push_back(concat("c", i));
    SubgraphPayload with_names = payload;
    for (const std::string& name : names) with_names.constants.push_back(name);
    const auto graph = read_json_subgraph(with_names);
    ASSERT_TRUE(graph.ok()) << each.name << ": " << graph.error().message;
    for (const SubgraphNode& node : graph->nodes) {
      if (node.kind != SubgraphNodeKind::kernel) continue;
      const auto match = find_operator(each.key, node.name);
      ASSERT_TRUE(match.has_value()) << node.name;
      seen.insert(concat(each.key, " ", match->base));
      for (const std::string_view fusion : match->fusions) {
        seen.insert(concat(each.key, " ", match->row->names, " with ", fusion));
      }
    }
  }
  std::vector<std::string> missing;
  std::ranges::set_difference(wanted, seen, std::back_inserter(missing));
  EXPECT_THAT(missing, IsEmpty());
}

// Returns the rows of table `number` of OPERATORS.md, without its head.
std::vector<std::string> page_rows(std::size_t number) {
  std::vector<std::vector<std::string>> tables;
  bool was_row = false;
  for (std::istringstream page(gantry::test::read_page("plugins/dnnl/OPERATORS.md")); page;) {
    std::string line;
    std::getline(page, line);
    const bool is_row = line.starts_with('|');
    if (is_row && !was_row) tables.emplace_back();
    if (is_row) tables.back().push_back(std::move(line));
    was_row = is_row;
  }
  if (number >= tables.size() || tables[number].size() < 2) return {};
  return {tables[number].begin() + 2, tables[number].end()};
}

std::string cell(std::string_view text) { return text.empty() ? " " : concat(" ", text, " "); }

TEST(OperatorTable, HasTheRowsOfThePage) {
  // Stars of layouts are no emphasis.
  const auto code = [](std::string_view text) {
    return text.empty() ? std::string() : concat("`", text, "`");
  };
  std::vector<std::string> rows;
  for (const OperatorRow& row : operator_rows()) {
    const std::string names =
        concat("|", cell(code(row.key)), "|", cell(row.names), "|", cell(row.fusions), "|");
    const std::string form =
        concat(cell(row.inputs), "|", cell(code(row.attributes)), "|", cell(row.notes), "|");
    rows.push_back(concat(names, form, cell(row.types), "|", cell(how_of(row)), "|",
                          cell(row.releases), "|", cell(row.source), "|"));
  }

  EXPECT_THAT(page_rows(0), ElementsAreArray(rows));
}

TEST(OperatorTable, HasTheIgnoredAttributesOfThePage) {
  std::vector<std::string> rows;
  for (const IgnoredAttributes& ignored : ignored_attributes()) {
    const std::string_view operators = ignored.operators.empty() ? "all" : ignored.operators;
    rows.push_back(
        concat("|", cell(operators), "|", cell(ignored.names), "|", cell(ignored.reason), "|"));
  }

  EXPECT_THAT(page_rows(1), ElementsAreArray(rows));
}

TEST(OperatorTable, ReadsTheFusionsOfAName) {
  const auto fused = find_operator("dnnl_json", "dnnl.conv2d_bias_sum_relu");
  const auto plain = find_operator("tensorrt", "nn.dense");

  ASSERT_TRUE(fused.has_value());
  EXPECT_EQ(fused->base, "conv2d");
  EXPECT_THAT(fused->fusions, ::testing::ElementsAre("bias", "sum", "relu"));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->base, "nn.dense");
  EXPECT_THAT(plain->fusions, IsEmpty());
  // Before the name, the last one first.
  const auto before = find_operator("clml", "openclml.relu.bias.nn.conv2d");
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->base, "openclml.nn.conv2d");
  EXPECT_THAT(before->fusions, ::testing::ElementsAre("bias", "relu"));
}

TEST(OperatorTable, HasNoOperatorUnderAnotherName) {
  for (const auto& [key, name] : {std::pair{"dnnl_json", "nn.conv4d"},
                                  {"dnnl_json", "dnnl.conv2d_relu_relu"},
                                  {"dnnl_json", "dnnl.conv2d_gelu_tanhx"},
                                  {"dnnl_json", "dnnl.conv2drelu"},
                                  {"dnnl_json", "tensorrt.nn.dense"},
                                  {"tensorrt", "tensorrt.acos"},
                                  {"arm_compute_lib", "qnn.conv2d"},
                                  {"arm_compute_lib", "qnn.dense"},
                                  {"arm_compute_lib", "qnn.add"},
                                  {"arm_compute_lib", "nn.depthwise_conv2d"},
                                  {"tensorrt", "nn.dense_relu"},
                                  {"cublas_json", "cublas.matmul_dequantize"},
                                  {"cudnn_json", "cudnn.attention"},
                                  {"clml", "nn.pad"},
                                  {"clml", "nn.upsampling"},
                                  {"clml", "openclml.clip.nn.conv2d"},
                                  {"clml", "openclml.relu.relu.nn.conv2d"},
                                  {"clml", "openclml.xnn.conv2d"},
                                  {"clml", "openclml.dequant_matmul"},
                                  {"hipblas_json", "hipblas.matmul_transposed_dequantize"},
                                  {"nnapi", "nnapi.pad"}}) {
    EXPECT_FALSE(find_operator(key, name).has_value()) << name;
  }
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
