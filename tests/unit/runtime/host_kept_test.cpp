// SPDX-License-Identifier: Apache-2.0
//
// Threads on which CPU code has run do not keep its runtime alive
// (core/decisions/0001-life-of-a-runtime.md).
#include "core/engine/module/module.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::program_plugin;

// A function that returns the object that is its self.
constexpr gantry_function_table kGive = {
    .struct_size = sizeof(gantry_function_table),
    .call = [](void* self, const gantry_env*, const gantry_value*, std::int32_t,
               gantry_value* result, gantry_status*) -> gantry_code {
      *result = value_of(static_cast<gantry_object*>(self));
      gantry_retain(result->object);
      return GANTRY_OK;
    }};

TEST(HostThreads, KeepNoModuleAndNoRuntimeAlive) {
  for (const char* caller : {"call_in_parallel", "call_with_code"}) {
    program_plugin() = {};
    {
      Runtime runtime = test::make_runtime({.threads = 4});
      ASSERT_TRUE(runtime.add_plugin(test::query_program_plugin).ok());
      ASSERT_TRUE(runtime.device("test_npu").ok());
      const Module model =
          runtime.load((test::build_tree() / "tests/host_fixtures/packed.so").string()).value();
      Ref<FunctionObject> give = std::move(new_function({model.get(), &kGive}, {}, 0)).value();
      const Function function(ObjectRef::adopt(reinterpret_cast<gantry_object*>(give.take())));

      const auto called =
          model.function(caller).value()(function, std::int64_t{0}, std::int64_t{0});

      ASSERT_TRUE(called.ok()) << called.error().message;
      EXPECT_EQ(program_plugin().instances, 1);
    }
    EXPECT_EQ(program_plugin().instances, 0) << caller;
  }
}

}  // namespace
}  // namespace gantry
