// SPDX-License-Identifier: Apache-2.0
//
// A graph with 46 MB of parameters, which an artifact of v0.16 contains.
#pragma once

#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/large_memory.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/array_record.hpp>
#include <gantry/concat.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry::test {

// One operator, total, with all parameters as inputs.
inline std::string large_graph_json() {
  std::string nodes, arguments, inputs, dtypes, devices, storages, shapes, rows;
  for (std::int64_t i = 0; i < large_array_count; ++i) {
    nodes += concat(R"({"op":"null","name":"p)", i, R"(","inputs":[]},)");
    arguments += concat(i == 0 ? "" : ",", i);
    inputs += concat(i == 0 ? "" : ",", "[", i, ",0,0]");
    dtypes += R"("float32",)";
    devices += "1,";
    storages += concat(i, ",");
    shapes += concat("[", large_array_floats, "],");
    rows += concat(i, ",");
  }
  const std::int64_t count = large_array_count;
  return concat(
      R"({"nodes":[)", nodes,
      R"({"op":"tvm_op","name":"total","attrs":{"func_name":"total","num_inputs":")", count,
      R"(","num_outputs":"1","flatten_data":"0"},"inputs":[)", inputs, R"(]}],"arg_nodes":[)",
      arguments, R"(],"heads":[[)", count, R"(,0,0]],"attrs":{"dltype":["list_str",[)", dtypes,
      R"("float32"]],"device_index":["list_int",[)", devices, R"(1]],"storage_id":["list_int",[)",
      storages, count, R"(]],"shape":["list_shape",[)", shapes, R"([1]]]},"node_row_ptr":[)", rows,
      count, ",", count + 1, "]}");
}

// Without fillers, as TVM writes it.
inline Words payload_of_large_graph() {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < large_array_count; ++i) names.push_back(concat("p", i));
  Words payload =
      Words().str(large_graph_json()).u64(names.size()).strs({names.begin(), names.end()});
  const std::vector<float> ones(large_array_floats, 0.25f);
  for (std::size_t i = 0; i < names.size(); ++i) {
    payload.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(1);
    payload.i64(large_array_floats).u64(4 * ones.size());
    payload.raw(ones.data(), 4 * ones.size());
  }
  return payload.str("default");
}

// Returns the path of a library with the graph's payload.
inline std::string link_large_graph(const Words& payload) {
  const LinkedRelease& release =
      *std::ranges::find(linked_releases, "v0_16_LLVM", &LinkedRelease::name);
  const Words entries = Words().str(graph_factory_key).bytes(payload.bytes()).str("_lib");
  return link_release(release, "graph.c", layout_one(2, entries, {0, 1, 1}, {1}).bytes());
}

}  // namespace gantry::test
