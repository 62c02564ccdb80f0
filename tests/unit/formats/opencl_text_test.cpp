// SPDX-License-Identifier: Apache-2.0
#include "core/formats/opencl_text.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(OpenclText, HasEachProgramAfterItsKernelsName) {
  std::string text;

  ASSERT_TRUE(append_opencl_program(text, "add", "a.cl", "void add();").ok());
  ASSERT_TRUE(append_opencl_program(text, "sub", "b.cl", "void sub();").ok());

  EXPECT_EQ(text, "// Function: add\nvoid add();\n// Function: sub\nvoid sub();\n");
}

TEST(OpenclText, HasNoProgramWithoutItsKernel) {
  std::string text;

  const Status added = append_opencl_program(text, "add", "a.cl", "void ad() { f(); }");

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::unsupported);
  EXPECT_EQ(added.error().reason, "KERNEL");
  EXPECT_EQ(added.error().message,
            "source \"a.cl\" has no kernel \"add\", did you mean \"ad\", expected: __kernel void "
            "add(...)");
  EXPECT_EQ(text, "");
}

TEST(OpenclText, HasNoProgramWithAMarker) {
  for (const char* source : {"// Function: add\n", "void add();\n// Function: b\n"}) {
    std::string text;

    const Status added = append_opencl_program(text, "add", "a.cl", source);

    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().reason, "KERNEL_BUILD");
    EXPECT_EQ(added.error().message,
              "source \"a.cl\" has a line that begins with \"// Function: \", which loaders "
              "interpret as the start of the next kernel");
  }
}

}  // namespace
}  // namespace gantry
