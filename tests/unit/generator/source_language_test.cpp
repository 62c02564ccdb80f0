// SPDX-License-Identifier: Apache-2.0
#include "core/writing/generator/source_language.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(LanguageOfAFile, IsThatOfItsSuffix) {
  EXPECT_EQ(language_of("a/b.cu"), "cuda");
  EXPECT_EQ(language_of("b.comp"), "glsl");
  EXPECT_EQ(language_of("b.glsl"), "glsl");
  EXPECT_EQ(language_of("b.spv"), "spirv");
  EXPECT_EQ(language_of("b.cl"), "opencl");
  EXPECT_EQ(language_of("b.npu"), "npu");
  EXPECT_EQ(language_of("b"), "");
}

}  // namespace
}  // namespace gantry
