// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/builtin.hpp"

#include "tests/support/globals_of.hpp"

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

// `gantry inspect` and `gantry plugins doctor` know from it which functions a host has. Those that need
// an instance of the plugin are in no table; golden_call_script looks up all of them.
TEST(RelaxManifest, ListsTheFunctionsOfThePlugin) {
  std::vector<std::string> functions;
  for (const Builtin* builtin : builtins()) functions.emplace_back(builtin->name);

  EXPECT_THAT(gantry::test::globals_of("plugins/relax/relax.yaml.in"),
              ::testing::IsSupersetOf(functions));
}

}  // namespace
}  // namespace gantry::relax::test
