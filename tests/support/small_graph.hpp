// SPDX-License-Identifier: Apache-2.0
//
// The JSON of a small graph, and changes to it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace gantry::test {

// y = reshape(x + p0), where x, p0 and the sum are float32[2, 2] in storage 0, 1 and 2, and y is
// float32[4] in storage 2.
inline const std::string small_graph = R"({"nodes":[
{"op":"null","name":"x","inputs":[]},
{"op":"null","name":"p0","inputs":[]},
{"op":"tvm_op","name":"add","attrs":{"func_name":"add","num_inputs":"2","num_outputs":"1","flatten_data":"0"},"inputs":[[0,0,0],[1,0,0]]},
{"op":"tvm_op","name":"y","attrs":{"func_name":"__nop","num_inputs":"1","num_outputs":"1","flatten_data":"0","hash":"5"},"inputs":[[2,0,0]]}],
"arg_nodes":[0,1],
"heads":[[3,0,0]],
"attrs":{
"dltype":["list_str",["float32","float32","float32","float32"]],
"device_index":["list_int",[1,1,1,1]],
"storage_id":["list_int",[0,1,2,2]],
"shape":["list_shape",[[2,2],[2,2],[2,2],[4]]]},
"node_row_ptr":[0,1,2,3,4]})";

// Returns `text` with the first occurrence of `from` replaced; the test fails if there is none.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace gantry::test
