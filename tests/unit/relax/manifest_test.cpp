// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/builtin.hpp"

#include "tests/support/globals_of.hpp"

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

// `gantry inspect` and `gantry plugins doctor` know from it which functions a host has.
TEST(RelaxManifest, ListsTheFunctionsOfThePlugin) {
  std::vector<std::string> functions;
  for (const Builtin* builtin : builtins()) functions.emplace_back(builtin->name);

  EXPECT_THAT(gantry::test::globals_of("plugins/relax/relax.yaml.in"),
              ::testing::UnorderedElementsAreArray(functions));
}

}  // namespace
}  // namespace gantry::relax::test
