// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/arg_spec.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ArgSpec, ReadsNumbers) {
  EXPECT_EQ(std::get<std::int64_t>(parse_arg("int:-9223372036854775808").value()), INT64_MIN);
  EXPECT_EQ(std::get<double>(parse_arg("float:0.5").value()), 0.5);
  EXPECT_EQ(std::get<double>(parse_arg("float:-1e-3").value()), -1e-3);
}

TEST(ArgSpec, ReadsAnyText) {
  EXPECT_EQ(std::get<std::string>(parse_arg("str:").value()), "");
  EXPECT_EQ(std::get<std::string>(parse_arg("str:int:3.npy").value()), "int:3.npy");
}

TEST(ArgSpec, ReadsNone) {
  EXPECT_TRUE(std::holds_alternative<NoneArg>(parse_arg("none").value()));
}

TEST(ArgSpec, ReadsAFileBySuffix) {
  EXPECT_EQ(std::get<FileArg>(parse_arg("a/b.npy").value()).path, "a/b.npy");
  EXPECT_EQ(std::get<FileArg>(parse_arg("./int:3.npy").value()).path, "./int:3.npy");
}

TEST(ArgSpec, ReadsZerosOfATypeAndShape) {
  const auto zeros = std::get<ZerosArg>(parse_arg("zeros:float32[2, 0,16]").value());

  EXPECT_EQ(dtype_text(zeros.dtype), "float32");
  EXPECT_THAT(zeros.shape, ElementsAre(2, 0, 16));
}

TEST(ArgSpec, ReadsEmptyBracketsAsAScalar) {
  EXPECT_THAT(std::get<ZerosArg>(parse_arg("zeros:int8[]").value()).shape, IsEmpty());
}

TEST(ArgSpec, ReadsAShape) {
  EXPECT_THAT(std::get<ShapeArg>(parse_arg("shape:[2, 0,16]").value()).extents,
              ElementsAre(2, 0, 16));
  EXPECT_THAT(std::get<ShapeArg>(parse_arg("shape:[]").value()).extents, IsEmpty());
}

TEST(ArgSpec, ReadsJson) {
  EXPECT_EQ(std::get<JsonArg>(parse_arg(R"(json:[1, {"a": "b"}])").value()).text,
            R"([1, {"a": "b"}])");
}

struct BadArg {
  std::string text;
  std::string message;
};

class InvalidArgSpec : public ::testing::TestWithParam<BadArg> {};

TEST_P(InvalidArgSpec, IsRejectedWithTheWrongPart) {
  const auto arg = parse_arg(GetParam().text);

  ASSERT_FALSE(arg.ok());
  EXPECT_EQ(arg.error().code, Code::invalid);
  EXPECT_EQ(arg.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, InvalidArgSpec,
    ::testing::Values(
        BadArg{"int:3.5", R"(argument "int:3.5": "3.5" is not a 64-bit integer)"},
        BadArg{
            "int:9223372036854775808",
            R"(argument "int:9223372036854775808": "9223372036854775808" is not a 64-bit integer)"},
        BadArg{"int:", R"(argument "int:": "" is not a 64-bit integer)"},
        BadArg{"float:x", R"(argument "float:x": "x" is not a number)"},
        BadArg{"float:1 ", R"(argument "float:1 ": "1 " is not a number)"},
        BadArg{"zeros:float32",
               R"(argument "zeros:float32" has no shape, expected zeros:float32[2, 16])"},
        BadArg{"zeros:float32[2",
               R"(argument "zeros:float32[2" has no shape, expected zeros:float32[2, 16])"},
        BadArg{"shape:", R"(argument "shape:" has no brackets, expected shape:[2, 16])"},
        BadArg{"shape:[", R"(argument "shape:[" has no brackets, expected shape:[2, 16])"},
        BadArg{"shape:2]", R"(argument "shape:2]" has no brackets, expected shape:[2, 16])"},
        BadArg{"shape:[2,x]",
               R"(argument "shape:[2,x]": extent 1 is "x", expected an integer >= 0)"},
        BadArg{"zeros:int8[-1]",
               R"(argument "zeros:int8[-1]": extent 0 is "-1", expected an integer >= 0)"},
        BadArg{"zeros:int8[2,]",
               R"(argument "zeros:int8[2,]": extent 1 is "", expected an integer >= 0)"},
        BadArg{
            "shape:[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
            R"(argument "shape:[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]")"
            " has more than 32 extents"},
        BadArg{
            "a.npz",
            R"(argument "a.npz" has an unknown form, expected FILE.npy, zeros:float32[16], int:3, float:0.5, shape:[2, 16], str:text, json:[1, "a"] or none)"},
        BadArg{
            ".npy",
            R"(argument ".npy" has an unknown form, expected FILE.npy, zeros:float32[16], int:3, float:0.5, shape:[2, 16], str:text, json:[1, "a"] or none)"}));

TEST(ArgSpec, ReportsTheByteAtWhichJsonEnds) {
  const auto arg = parse_arg("json:[1, 2");

  ASSERT_FALSE(arg.ok());
  EXPECT_EQ(arg.error().offset, 10u);
  EXPECT_THAT(arg.error().message, ::testing::EndsWith("\n  in argument \"json:[1, 2\""));
}

TEST(ArgSpec, RefusesIntegersInJsonThatNoneIs) {
  for (const std::string_view number :
       {"9223372036854775808", "18446744073709551616", "-9223372036854775809"}) {
    const auto arg = parse_arg(gantry::concat("json:{\"a\": [1e3, ", number, "]}"));

    ASSERT_FALSE(arg.ok()) << number;
    EXPECT_THAT(arg.error().message,
                ::testing::StartsWith(gantry::concat("json: \"", number, "\" is not a 64-bit")));
  }
  EXPECT_TRUE(parse_arg("json:[9223372036854775807, -9223372036854775808, 1e19, 0.5]").ok());
}

TEST(ArgSpec, ReportsTheArgumentWithAnUnknownType) {
  const auto arg = parse_arg("zeros:float33x[2]");

  ASSERT_FALSE(arg.ok());
  EXPECT_THAT(arg.error().message, ::testing::EndsWith("\n  in argument \"zeros:float33x[2]\""));
}

}  // namespace
}  // namespace gantry::cli
