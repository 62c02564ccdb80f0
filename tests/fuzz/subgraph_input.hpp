// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph in JSON as the input of a target.
//
//     byte 0   index of the type key
//     byte 1   number of constants, which the graph names c0, c1, ...
//     rest     the graph
#pragma once

#include "tests/fuzz/fuzz.hpp"

#include <gantry/json_subgraph.hpp>
#include <gantry/subgraph_module.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::fuzz {

class SubgraphInput {
 public:
  // bytes    [in]   two or more; borrowed
  SubgraphInput(std::string_view key, std::span<const std::uint8_t> bytes)
      : code{std::string(key), {}, {}, {}} {
    constexpr std::size_t max_constants = 12;
    code.payload.symbol = "main_0";
    code.payload.graph_json = text_of(bytes.data() + 2, bytes.size() - 2);
    code.payload.graph_at = 2;
    for (std::size_t i = 0; i < bytes[1] % max_constants; ++i) names_.push_back(concat("c", i));
    code.payload.constants.assign(names_.begin(), names_.end());
  }
  SubgraphInput(const SubgraphInput&) = delete;
  SubgraphInput& operator=(const SubgraphInput&) = delete;

  // Sets the graph of the code.
  Status read() {
    GANTRY_TRY(code.graph, read_json_subgraph(code.payload));
    return {};
  }

  SubgraphCode code;

 private:
  std::vector<std::string> names_;
};

}  // namespace gantry::fuzz
