// SPDX-License-Identifier: Apache-2.0
#include "core/writing/tensor_type.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

struct Read {
  std::string_view text;
  std::string_view canonical;
};

TEST(TensorType, ReadsEveryNotation) {
  for (const Read& read :
       {Read{"float32[1, 64]", "float32[1, 64]"}, Read{"float32[1,64]", "float32[1, 64]"},
        Read{"int64[]", "int64[]"}, Read{"uint8 [ 3 ]", "uint8[3]"},
        Read{"float16[0, 2]", "float16[0, 2]"}}) {
    const Result<TensorType> type = parse_type(read.text);
    ASSERT_TRUE(type.ok()) << type.error().message;
    EXPECT_EQ(type_text(*type), read.canonical);
  }
}

struct RefusedType {
  std::string text;
  std::string message;
};

TEST(TensorType, RejectsOtherTexts) {
  std::string many = "int8[1";
  for (int i = 0; i < 32; ++i) many += ",1";
  for (const RefusedType& refused : {
           RefusedType{"float32", "tensor type \"float32\" is not like float32[1, 64]"},
           RefusedType{"float32[1", "tensor type \"float32[1\" is not like float32[1, 64]"},
           RefusedType{"float32[1] ", "tensor type \"float32[1] \" is not like float32[1, 64]"},
           RefusedType{"float32]", "tensor type \"float32]\" is not like float32[1, 64]"},
           RefusedType{"float32[1,]", "tensor type \"float32[1,]\" ends in a comma"},
           RefusedType{"float32[a]", "extent \"a\" is not an integer of at least 0"},
           RefusedType{"float32[-1]", "extent \"-1\" is not an integer of at least 0"},
           RefusedType{"float32[1 2]", "extent \"1 2\" is not an integer of at least 0"},
           RefusedType{"float32[99999999999999999999]",
                       "extent \"99999999999999999999\" is not an integer of at least 0"},
           RefusedType{many + "]", "tensor type has 33 dimensions, maximum is 32"},
       }) {
    const Result<TensorType> type = parse_type(refused.text);
    ASSERT_FALSE(type.ok()) << refused.text;
    EXPECT_EQ(type.error().code, Code::malformed);
    EXPECT_EQ(type.error().message, refused.message);
  }
}

TEST(TensorType, RejectsASizeBeyondTheAddressSpace) {
  EXPECT_FALSE(parse_type("float32[4611686018427387904, 2]").ok());
}

TEST(TensorType, AcceptsTheMaximumRank) {
  std::string shape = "int8[1";
  for (int i = 1; i < 32; ++i) shape += ",1";

  EXPECT_TRUE(parse_type(shape + "]").ok());
}

}  // namespace
}  // namespace gantry
