// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using ::testing::IsEmpty;

constexpr const char* known =
    "known: u8 u16 u32 u64 i8 i16 i32 i64 u16be u32be u64be i16be i32be i64be dtype dev str bytes "
    "cstr format ndarray funcinfo rest \"text\" vec<T> map<K,V> sized<T> {T, U} label*T align(N); "
    "with other lengths: bytes(u16) bytes(rows*cols) sized(u32-4)<T>";

Result<PayloadLayout> parse(std::vector<std::string> fields) {
  return parse_payload_layout(fields);
}

TEST(PayloadLayout, HasTheTextThatItIsParsedFrom) {
  const std::vector<std::string> fields{
      "u8",        "u16",           "flag:u32",
      "n:u64",     "i32",           "i64",
      "dtype",     "dev",           "s:str",
      "bytes",     "format",        "\"0.1\"",
      "n*ndarray", "vec<funcinfo>", "shaders:map<str,sized<{flag:u32,vec<u32>}>>",
      "rest"};

  const auto layout = parse(fields);

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->text(),
            "u8 u16 flag:u32 n:u64 i32 i64 dtype dev s:str bytes format \"0.1\" n*ndarray "
            "vec<funcinfo> shaders:map<str,sized<{flag:u32,vec<u32>}>> rest");
}

TEST(PayloadLayout, HasTheTextOfEachLength) {
  const std::vector<std::string> fields{"rows:u16be",
                                        "cols:u8",
                                        "i8",
                                        "i16",
                                        "i16be",
                                        "i32be",
                                        "i64be",
                                        "u64be",
                                        "str(u8)",
                                        "bytes(u16)",
                                        "format(u32)",
                                        "\"ANPU\"(4)",
                                        "vec(u32be)<T>",
                                        "map(u16)<str(u8),u8>",
                                        "sized(u32-4)<u8>",
                                        "rows*cols*4*u8",
                                        "bytes(rows*cols*2)",
                                        "vec(rows+1)<u32>",
                                        "str(16)",
                                        "cstr",
                                        "align(64)"};
  std::vector<std::string> parsed = fields;
  for (std::string& each : parsed) {
    if (each == "vec(u32be)<T>") each = "vec(u32be)<u8>";
  }

  const auto layout = parse(parsed);

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  std::string text;
  for (const std::string& each : parsed) text += concat(text.empty() ? "" : " ", each);
  EXPECT_EQ(layout->text(), text);
}

TEST(PayloadLayout, HasTheShortestTextOfALength) {
  const auto layout = parse(
      {" n : u8 ", " bytes ( u64 ) ", " str ( n * 008 + 4 ) ", " n * 2 * u8 ", " align ( 8 ) "});

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->text(), "n:u8 bytes str(n*8+4) n*2*u8 align(8)");
}

// Labels of digits were accepted before numbers were.
TEST(PayloadLayout, CountsByALabelOfDigitsBeforeANumber) {
  const auto layout = parse({"4:u8", "4*u8", "5*u8"});

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_FALSE(layout->fields()[1].is_fixed);
  EXPECT_TRUE(layout->fields()[2].is_fixed);
}

struct Sizes {
  const char* field;
  std::uint64_t min_bytes;
  bool is_fixed;
};

void PrintTo(const Sizes& sizes, std::ostream* out) { *out << sizes.field; }

class SizesOfAField : public ::testing::TestWithParam<Sizes> {};

// `n` and `m` are labels of numbers before it.
TEST_P(SizesOfAField, AreThoseOfTheSmallestPayload) {
  const auto layout = parse({"n:u8", "m:u64", GetParam().field});

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->fields()[2].min_bytes, GetParam().min_bytes);
  EXPECT_EQ(layout->fields()[2].is_fixed, GetParam().is_fixed);
}

INSTANTIATE_TEST_SUITE_P(
    Each, SizesOfAField,
    ::testing::Values(
        Sizes{"u8", 1, true}, Sizes{"i16be", 2, true}, Sizes{"u32", 4, true}, Sizes{"i64", 8, true},
        Sizes{"dtype", 4, true}, Sizes{"dev", 8, true}, Sizes{"str", 8, false},
        Sizes{"bytes(u16)", 2, false}, Sizes{"bytes(u32+12)", 16, false},
        Sizes{"bytes(u32-4)", 4, false}, Sizes{"bytes(n*m)", 0, false},
        Sizes{"bytes(n+3)", 3, false}, Sizes{"bytes(7)", 7, true}, Sizes{"str(2*8)", 16, true},
        Sizes{"cstr", 1, false}, Sizes{"format", 9, false}, Sizes{"format(u8)", 2, false},
        Sizes{"format(4)", 4, false}, Sizes{"\"ANPU\"", 12, false}, Sizes{"\"ANPU\"(4)", 4, false},
        Sizes{"ndarray", 40, false}, Sizes{"funcinfo", 24, false}, Sizes{"vec<u32>", 8, false},
        Sizes{"vec(u8+2)<u32>", 9, false}, Sizes{"vec(3)<u32>", 12, true},
        Sizes{"map(2)<u8,u16>", 6, true}, Sizes{"map<u8,u16>", 8, false},
        Sizes{"{u8,u16,bytes(4)}", 7, true}, Sizes{"{u8,str}", 9, false}, Sizes{"n*u8", 0, false},
        Sizes{"5*{u8,u8}", 10, true}, Sizes{"5*n*u8", 0, false},
        Sizes{"sized(u32)<u64>", 12, false}, Sizes{"sized(16)<u64>", 16, false},
        Sizes{"align(8)", 0, false}, Sizes{"rest", 0, false},
        // limited, so that sums and products do not overflow
        Sizes{"1048576*u8", std::uint64_t{1} << 20, true},
        Sizes{"1048576*vec(1048576)<vec(1048576)<u8>>", std::uint64_t{1} << 40, false}),
    [](const auto& test) { return concat("Case", test.index); });

TEST(PayloadLayout, AllowsBlanksBetweenWords) {
  const auto layout = parse({" a : map < str , { n : u8 , n * u8 } > "});

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->text(), "a:map<str,{n:u8,n*u8}>");
}

TEST(PayloadLayout, MayBeEmpty) {
  const auto layout = parse({});

  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_THAT(layout->fields(), IsEmpty());
}

struct BadLayout {
  std::string name;
  std::vector<std::string> fields;
  std::string message;
};

class InvalidPayloadLayout : public ::testing::TestWithParam<BadLayout> {};

TEST_P(InvalidPayloadLayout, IsRejectedNamingTheField) {
  const auto layout = parse(GetParam().fields);

  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, Code::invalid);
  EXPECT_EQ(layout.error().reason, "PAYLOAD_LAYOUT");
  EXPECT_EQ(layout.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, InvalidPayloadLayout,
    ::testing::Values(
        BadLayout{"UnknownWord",
                  {"str", "strr"},
                  concat("payload field 2 \"strr\": \"strr\" is not a type; ", known)},
        BadLayout{"UnknownWordInside",
                  {"vec<float>"},
                  concat("payload field 1 \"vec<float>\": \"float\" is not a type; ", known)},
        BadLayout{
            "Empty", {""}, concat("payload field 1 \"\": ends where a type is expected; ", known)},
        BadLayout{"LabelAlone",
                  {"a:"},
                  concat("payload field 1 \"a:\": ends where a type is expected; ", known)},
        BadLayout{
            "Sign", {"-u8"}, concat("payload field 1 \"-u8\": \"-u8\" is not a type; ", known)},
        BadLayout{"TwoTypes",
                  {"str str"},
                  "payload field 1 \"str str\": \"str\" follows a complete field"},
        BadLayout{"VecAlone", {"vec"}, "payload field 1 \"vec\": ends where '<' is expected"},
        BadLayout{"VecOpen", {"vec<u8"}, "payload field 1 \"vec<u8\": ends where '>' is expected"},
        BadLayout{
            "MapOfOne", {"map<str>"}, "payload field 1 \"map<str>\": found \">\", expected ','"},
        BadLayout{
            "GroupOpen", {"{u8, u8"}, "payload field 1 \"{u8, u8\": ends where '}' is expected"},
        BadLayout{"TextOpen", {"\"abc"}, "payload field 1 \"\\\"abc\": text has no closing '\"'"},
        BadLayout{"UnknownCount",
                  {"u64", "n*u8"},
                  "payload field 2 \"n*u8\": no unsigned number before it has the label \"n\""},
        BadLayout{"CountIsSigned",
                  {"n:i64", "n*u8"},
                  "payload field 2 \"n*u8\": no unsigned number before it has the label \"n\""},
        BadLayout{"CountOfAnotherGroup",
                  {"{n:u8}", "n*u8"},
                  "payload field 2 \"n*u8\": no unsigned number before it has the label \"n\""},
        BadLayout{"UnknownFactor",
                  {"n:u64", "n*m*u8"},
                  "payload field 2 \"n*m*u8\": no unsigned number before it has the label \"m\""},
        BadLayout{"UnknownFactorOfALength",
                  {"n:u64", "bytes(n*m)"},
                  "payload field 2 \"bytes(n*m)\": no unsigned number before it has the label "
                  "\"m\""},
        BadLayout{"ProductWithoutAType",
                  {"n:u64", "n*"},
                  concat("payload field 2 \"n*\": ends where a type is expected; ", known)},
        BadLayout{"ProductWithoutAFactor",
                  {"n:u64", "bytes(n*)"},
                  "payload field 2 \"bytes(n*)\": found \")\", expected a label or number"},
        BadLayout{"TooManyFactors",
                  {"n:u64", "n*n*n*n*n*n*n*n*n*u8"},
                  "payload field 2 \"n*n*n*n*n*n*n*n*n*u8\": product has more than 8 factors"},
        BadLayout{"NumberZero",
                  {"0*u8"},
                  "payload field 1 \"0*u8\": found \"0\", expected a number from 1 to 1048576"},
        BadLayout{"NumberTooLarge",
                  {"bytes(1048577)"},
                  "payload field 1 \"bytes(1048577)\": found \"1048577\", expected a number from 1 "
                  "to 1048576"},
        BadLayout{"NumberOf20Digits",
                  {"99999999999999999999*u8"},
                  "payload field 1 \"99999999999999999999*u8\": found \"99999999999999999999\", "
                  "expected a number from 1 to 1048576"},
        BadLayout{
            "ProductOfNumbersTooLarge",
            {"n:u8", "1024*n*1025*u8"},
            "payload field 2 \"1024*n*1025*u8\": product of its numbers is 1049600, maximum is "
            "1048576"},
        BadLayout{
            "LengthEmpty",
            {"str()"},
            "payload field 1 \"str()\": found \")\", expected an unsigned type, or a product of "
            "labels and numbers"},
        BadLayout{"LengthMissing",
                  {"str("},
                  "payload field 1 \"str(\": ends where a length is expected; expected an unsigned "
                  "type, or a product of labels and numbers"},
        BadLayout{"LengthSigned",
                  {"str(i32)"},
                  "payload field 1 \"str(i32)\": found \"i32\", expected an unsigned type, or a "
                  "product of labels and numbers"},
        BadLayout{
            "LengthOpen", {"str(u32"}, "payload field 1 \"str(u32\": ends where ')' is expected"},
        BadLayout{
            "LengthPlusNothing",
            {"str(u32+)"},
            "payload field 1 \"str(u32+)\": found \")\", expected a number from 1 to 1048576"},
        BadLayout{
            "LengthMinusALabel",
            {"n:u8", "str(u32-n)"},
            "payload field 2 \"str(u32-n)\": found \"n\", expected a number from 1 to 1048576"},
        BadLayout{"SumOfNumbers",
                  {"str(4+4)"},
                  "payload field 1 \"str(4+4)\": found \"+4)\", expected ')'"},
        BadLayout{"LengthOfANumber",
                  {"u8(4)"},
                  "payload field 1 \"u8(4)\": \"(4)\" follows a complete field"},
        BadLayout{"LengthOfCstr",
                  {"cstr(u8)"},
                  "payload field 1 \"cstr(u8)\": \"(u8)\" follows a complete field"},
        BadLayout{"TextOfAnotherLength",
                  {"\"ANPU\"(5)"},
                  "payload field 1 \"\\\"ANPU\\\"(5)\": text has 4 bytes, its length is 5"},
        BadLayout{
            "AlignmentMissing", {"align"}, "payload field 1 \"align\": ends where '(' is expected"},
        BadLayout{"AlignmentOfALabel",
                  {"n:u8", "align(n)"},
                  "payload field 2 \"align(n)\": found \"n\", expected a number from 1 to 1048576"},
        BadLayout{"AlignmentOdd",
                  {"align(12)"},
                  "payload field 1 \"align(12)\": alignment is 12, expected a power of two"},
        BadLayout{"AlignmentOpen",
                  {"align(8"},
                  "payload field 1 \"align(8\": ends where ')' is expected"},
        BadLayout{"RestInside",
                  {"vec<rest>"},
                  "payload field 1 \"vec<rest>\": rest is inside another type"},
        BadLayout{
            "RestInAGroup", {"{rest}"}, "payload field 1 \"{rest}\": rest is inside another type"},
        BadLayout{"RestFirst", {"rest", "u8"}, "payload field 2 \"u8\": nothing can follow rest"},
        BadLayout{"TooDeep",
                  {"vec<vec<vec<vec<vec<vec<vec<vec<vec<u8>>>>>>>>>"},
                  "payload field 1 \"vec<vec<vec<vec<vec<vec<vec<vec<vec<u8>>>>>>>>>\": nests "
                  "deeper than 8"},
        BadLayout{"TooMany", std::vector<std::string>(65, "u8"),
                  "payload field 65 \"u8\": layout has more than 64 fields"}),
    [](const auto& test) { return test.param.name; });

TEST(PayloadLayouts, ContainAnAddedLayout) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse({"str", "bytes"}));

  EXPECT_TRUE(layouts.contains("acme.npu"));
  EXPECT_EQ(layouts.alternatives("acme.npu").size(), 1u);
  EXPECT_FALSE(layouts.contains("acme"));
  EXPECT_THAT(layouts.alternatives("acme"), IsEmpty());
}

TEST(PayloadLayouts, CopyTheLayoutsOfAKeyToItsAlias) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse({"str", "bytes"}));

  const Status done = layouts.alias("acme.old", "acme.npu");

  ASSERT_TRUE(done.ok());
  ASSERT_EQ(layouts.alternatives("acme.old").size(), 1u);
  EXPECT_EQ(layouts.alternatives("acme.old")[0].text(), "str bytes");
}

TEST(PayloadLayouts, RejectAnAliasOfAnUnknownKey) {
  PayloadLayouts layouts;
  layouts.add("b", PayloadLayout());
  layouts.add("a", PayloadLayout());

  const Status done = layouts.alias("x", "y");

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::not_found);
  EXPECT_EQ(done.error().message, "payload layout of \"y\" not found; layouts: a, b");
}

TEST(PayloadLayouts, IgnoreAKeyThatIsItsOwnAlias) {
  PayloadLayouts layouts;
  layouts.add("a", *parse({"u8"}));

  ASSERT_TRUE(layouts.alias("a", "a").ok());

  EXPECT_EQ(layouts.alternatives("a").size(), 1u);
}

// The table of built-in layouts is text that is parsed at run time.
TEST(PayloadLayouts, ContainEveryKeyOfTheFormatPage) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();

  for (const char* key : {"cuda",
                          "opencl",
                          "metal",
                          "hsaco",
                          "hip",
                          "opengl",
                          "vulkan",
                          "webgpu",
                          "hexagon",
                          "GraphRuntimeFactory",
                          "GraphExecutorFactory",
                          "AotExecutorFactory",
                          "metadata",
                          "const_loader",
                          "metadata_module",
                          "VMExecutable",
                          "relax.Executable",
                          "relax.VMExecutable",
                          "static_library",
                          "c",
                          "dnnl_json",
                          "arm_compute_lib",
                          "tensorrt",
                          "bnns_json",
                          "clml",
                          "cublas_json",
                          "cudnn_json",
                          "msc_tensorrt",
                          "hipblas_json",
                          "nnapi",
                          "example_npu_json",
                          "coreml",
                          "ethos-n",
                          "VitisAIRuntime",
                          "torch",
                          "mrvl_sim",
                          "mrvl_hw",
                          "examplejson",
                          "aocl",
                          "aocl_sw_emu",
                          "sdaccel"}) {
    EXPECT_TRUE(layouts.contains(key)) << key;
  }
  EXPECT_FALSE(layouts.contains("_lib"));
}

TEST(PayloadLayout, CountsByEveryUnsignedType) {
  for (const char* const type : {"u8", "u16", "u32", "u64", "u16be", "u32be", "u64be"}) {
    const auto layout = parse({concat("az09_:", type), "az09_*u8"});
    EXPECT_TRUE(layout.ok()) << layout.error().message;
  }
}

TEST(PayloadLayout, HasLabelsOfLettersDigitsAndUnderscores) {
  for (const char c : std::string_view("/`{A")) {
    EXPECT_FALSE(parse({concat("a", std::string(1, c), ":u8")}).ok()) << c;
  }
  EXPECT_FALSE(parse({":u8"}).ok());
}

TEST(PayloadLayout, AcceptsTheMaximumDepthAndNumberOfFields) {
  EXPECT_TRUE(parse({"vec<vec<vec<vec<vec<vec<vec<vec<u8>>>>>>>>"}).ok());
  EXPECT_TRUE(parse(std::vector<std::string>(64, "u8")).ok());
}

}  // namespace
}  // namespace gantry
