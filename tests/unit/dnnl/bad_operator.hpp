// SPDX-License-Identifier: Apache-2.0
//
// Sub-graphs that the plugin refuses, each a valid one with one change.
#pragma once

#include "tests/unit/dnnl/subgraph_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace gantry::dnnl_plugin::test {

// Returns a case whose text has `to` instead of the first `from`.
inline SubgraphCase changed(std::string_view key, std::string_view name, std::string_view from,
                            std::string_view to) {
  SubgraphCase what = subgraph_case(key, name);
  const std::size_t at = what.json.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << what.json;
  what.json.replace(at, from.size(), to);
  return what;
}

// The value of an attribute: one text, or several.
inline std::string attribute(std::string_view name, std::string_view values) {
  return concat("\"", name, "\": [\n     [\n      ", values, "\n     ]\n    ]");
}

struct BadOperator {
  std::string name;
  SubgraphCase what;
  Code code;
  std::string message;
};

inline void expect_refused(const BadOperator& bad) {
  SubgraphRunner runner;

  const auto outputs = runner.run(bad.what);

  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, bad.code);
  EXPECT_THAT(outputs.error().message, ::testing::HasSubstr(bad.message));
  EXPECT_THAT(outputs.error().message,
              ::testing::HasSubstr("while preparing sub-graph \"main_0\" of "));
  EXPECT_EQ(outputs.error().reason, bad.code == Code::malformed ? "SUBGRAPH" : "SUBGRAPH_OPERATOR");
}

}  // namespace gantry::dnnl_plugin::test
