// SPDX-License-Identifier: Apache-2.0
//
// A node with several outputs, after which node numbers and entry numbers differ.
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

#include <cstring>

namespace gantry::graph::test {
namespace {

using gantry::test::cpu;
using ::testing::ElementsAre;

//     node   0 x           1 parts                    2 b         3 back       4 sum
//     entry  0 float32[4]  1 float32[1]  2 int32[3]   3 float32[2]  4 int32[3]  5 float32[2]
const char graph_of_parts[] = R"({"nodes":[
{"op":"null","name":"x","inputs":[]},
{"op":"tvm_op","name":"parts","attrs":{"func_name":"parts","num_inputs":"1","num_outputs":"2","flatten_data":"0"},"inputs":[[0,0]]},
{"op":"null","name":"b","inputs":[]},
{"op":"tvm_op","name":"back","attrs":{"func_name":"back","num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[1,1]]},
{"op":"tvm_op","name":"sum","attrs":{"func_name":"add","num_inputs":"2","num_outputs":"1","flatten_data":"0"},"inputs":[[2,0],[2,0]]}],
"arg_nodes":[0,2],"heads":[[1,0],[1,1],[3,0],[4,0]],"node_row_ptr":[0,1,3,4,5,6],
"attrs":{"dltype":["list_str",["float32","float32","int32","float32","int32","float32"]],
"storage_id":["list_int",[0,1,2,3,4,5]],"shape":["list_shape",[[4],[1],[3],[2],[3],[2]]]}})";

std::vector<std::int32_t> integers_of(const gantry_tensor& tensor) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(tensor.shape[0]));
  std::memcpy(numbers.data(), tensor.data, numbers.size() * sizeof(std::int32_t));
  return numbers;
}

class SeveralOutputs : public Model {
 protected:
  SeveralOutputs() {
    // The first number, and the others as integers.
    fake.add_function("parts", [](const gantry_env*, std::span<const gantry_value> args,
                                  gantry_value*, gantry_status*) {
      const auto* x = static_cast<const float*>(args[0].tensor->data);
      *static_cast<float*>(args[1].tensor->data) = x[0];
      for (int i = 0; i < 3; ++i)
        static_cast<std::int32_t*>(args[2].tensor->data)[i] = static_cast<std::int32_t>(x[1 + i]);
      return gantry_code{GANTRY_OK};
    });
    fake.add_function("back", [](const gantry_env*, std::span<const gantry_value> args,
                                 gantry_value*, gantry_status*) {
      for (int i = 0; i < 3; ++i) {
        static_cast<std::int32_t*>(args[1].tensor->data)[i] =
            -static_cast<const std::int32_t*>(args[0].tensor->data)[i];
      }
      return gantry_code{GANTRY_OK};
    });
    const Value factory = load(payload_bytes(graph_of_parts, {})).value();
    model = call(factory, "debug_create", {text_value("default"), device_value(cpu)}).value();
    Floats x({4}, {1, 2, 3, 4}), b({2}, {5, 6});
    EXPECT_TRUE(call(model, "set_input", {text_value("x"), x.value()}).ok());
    EXPECT_TRUE(call(model, "set_input", {text_value("b"), b.value()}).ok());
  }
  gantry_tensor named(const char* function, const char* name) {
    const Result<Value> tensor = call(model, function, {text_value(name)});
    EXPECT_TRUE(tensor.ok()) << tensor.error().message;
    return tensor.ok() ? *tensor->tensor() : gantry_tensor{};
  }
  // "x float32[4]" for each item of an info.
  std::vector<std::string> listed(const char* function) {
    const Value info = call(model, function).value();
    const auto top = host.items(info.object()).value();
    const auto shapes = host.items(top[1].object).value();
    const auto dtypes = host.items(top[3].object).value();
    EXPECT_EQ(shapes.size(), dtypes.size());
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < shapes.size(); i += 2) {
      EXPECT_EQ(*value_text(shapes[i]), *value_text(dtypes[i]));
      const auto shape = *value_shape(shapes[i + 1]);
      lines.push_back(
          concat(*value_text(shapes[i]), " ", *value_text(dtypes[i + 1]), "[", shape.front(), "]"));
    }
    return lines;
  }
  Value model;
};

TEST_F(SeveralOutputs, AreReadByTheirConsumers) {
  EXPECT_THAT(run(model), ElementsAre(1));
  EXPECT_THAT(integers_of(tensor_of(model, "get_output", 1)), ElementsAre(2, 3, 4));
  EXPECT_THAT(integers_of(tensor_of(model, "get_output", 2)), ElementsAre(-2, -3, -4));
  EXPECT_THAT(output(model, 3), ElementsAre(10, 12));
}

TEST_F(SeveralOutputs, AreConsideredInTheInfoOfLaterNodes) {
  EXPECT_THAT(listed("get_input_info"), ElementsAre("x float32[4]", "b float32[2]"));
  EXPECT_THAT(listed("get_output_info"), ElementsAre("parts:0 float32[1]", "parts:1 int32[3]",
                                                     "back int32[3]", "sum float32[2]"));
}

TEST_F(SeveralOutputs, AreNamedAsInTheGraph) {
  const std::string graph =
      gantry::test::replaced(graph_of_parts, "\"heads\":",
                             "\"metadata\":{\"gantry_output_names\":"
                             "[\"first\",\"rest\",\"parts:0\",\"sum\"]},\"heads\":");
  const Value factory = load(payload_bytes(graph, {})).value();
  model = call(factory, "default", {device_value(cpu)}).value();
  Floats x({4}, {1, 2, 3, 4}), b({2}, {5, 6});
  EXPECT_TRUE(call(model, "set_input", {text_value("x"), x.value()}).ok());
  EXPECT_TRUE(call(model, "set_input", {text_value("b"), b.value()}).ok());
  run(model);

  EXPECT_THAT(listed("get_output_info"), ElementsAre("first float32[1]", "rest int32[3]",
                                                     "parts:0 int32[3]", "sum float32[2]"));
  EXPECT_THAT(integers_of(named("get_output", "rest")), ElementsAre(2, 3, 4));
  // not the node's first output
  EXPECT_THAT(integers_of(named("get_output", "parts:0")), ElementsAre(-2, -3, -4));
  EXPECT_THAT(integers_of(named("get_output", "parts:1")), ElementsAre(2, 3, 4));
}

TEST_F(SeveralOutputs, AreNamedByTheirNumber) {
  run(model);

  EXPECT_THAT(floats_of(named("get_output", "parts:0")), ElementsAre(1));
  EXPECT_THAT(integers_of(named("get_output", "parts:1")), ElementsAre(2, 3, 4));
  // the first
  EXPECT_THAT(floats_of(named("get_output", "parts")), ElementsAre(1));
  EXPECT_THAT(integers_of(named("get_output", "back:0")), ElementsAre(-2, -3, -4));

  const Result<Value> third = call(model, "get_output", {text_value("parts:2")});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().message,
            "output \"parts:2\" not found; outputs: \"parts:0\", \"parts:1\", \"back\", "
            "\"sum\"");
}

TEST_F(SeveralOutputs, AreBoundSeparately) {
  Floats location({32});
  gantry_tensor second = location.tensor;
  std::int64_t extent = 3;
  second.shape = &extent;
  second.dtype = {0, 32, 1};

  ASSERT_TRUE(
      call(model, "set_output_zero_copy", {text_value("parts:1"), tensor_ref_value(&second)}).ok());
  run(model);

  EXPECT_THAT(integers_of(second), ElementsAre(2, 3, 4));
  EXPECT_NE(named("get_output", "parts:0").data, second.data);
  EXPECT_THAT(integers_of(named("get_output", "back")), ElementsAre(-2, -3, -4));
}

TEST_F(SeveralOutputs, AreConsideredInDebugOutput) {
  EXPECT_THAT(integers_of(named("debug_get_output", "back")), ElementsAre(-2, -3, -4));
  EXPECT_THAT(floats_of(tensor_of(model, "debug_get_output", 4)), ElementsAre(10, 12));
  // b
  EXPECT_THAT(floats_of(tensor_of(model, "debug_get_output", 2)), ElementsAre(5, 6));
}

}  // namespace
}  // namespace gantry::graph::test
