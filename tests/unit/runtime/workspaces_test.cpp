// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory that CPU code allocates on a plugin's device.
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::program_plugin;

TEST(DeviceWorkspaces, AreFreedBeforeTheirPluginIsDestroyed) {
  program_plugin() = {};
  {
    Runtime runtime = test::make_runtime();
    ASSERT_TRUE(runtime.add_plugin(test::query_program_plugin).ok());
    const std::int32_t npu = runtime.device("test_npu").value().type;
    const Module model =
        runtime.load((test::build_tree() / "tests/host_fixtures/packed.so").string()).value();

    const auto used =
        model.function("use_workspace").value()(std::int64_t{npu}, std::int64_t{4096});

    ASSERT_TRUE(used.ok()) << used.error().message;
    EXPECT_EQ(program_plugin().blocks, 1) << "kept for the next call";
  }
  EXPECT_EQ(program_plugin().instances, 0);
  EXPECT_EQ(program_plugin().blocks, 0);
  EXPECT_EQ(program_plugin().late_frees, 0);
}

}  // namespace
}  // namespace gantry
