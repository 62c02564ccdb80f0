// SPDX-License-Identifier: Apache-2.0
#include "plugins/contrib/function.hpp"
#include "tests/support/globals_of.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gantry::contrib::test {
namespace {

// `gantry inspect` and `gantry plugins doctor` know from it which functions a host has.
TEST(ContribManifest, ListsTheFunctionsOfThePlugin) {
  std::vector<std::string> functions;
  for (const auto rows : {matmul_functions(), random_functions(), run_functions(), sort_functions(),
                          tensor_functions()}) {
    for (const FunctionRow& row : rows) functions.emplace_back(row.name);
  }

  EXPECT_THAT(gantry::test::globals_of("plugins/contrib/contrib.yaml.in"),
              ::testing::UnorderedElementsAreArray(functions));
}

}  // namespace
}  // namespace gantry::contrib::test
