// SPDX-License-Identifier: Apache-2.0
//
// The sub-graphs of tests/golden/data/subgraphs/operators.npz, whose outputs NumPy computed.
#pragma once

#include <gantry/compact_tensor.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gantry::test {

struct CaseArray {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  gantry_tensor tensor() {
    return compact_tensor(dtype, shape, {cpu_device_type, 0}, bytes.data());
  }
};

struct SubgraphCase {
  // type key of the module
  std::string key;
  std::string name;
  std::string json;
  std::vector<CaseArray> inputs;
  std::vector<CaseArray> constants;
  std::vector<CaseArray> outputs;
};

// Returns all cases, sorted by key and name. Aborts if the file cannot be read.
const std::vector<SubgraphCase>& subgraph_cases();
const SubgraphCase& subgraph_case(std::string_view key, std::string_view name);

}  // namespace gantry::test
