// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using ::testing::IsEmpty;

constexpr const char* known =
    "known: u8 u16 u32 u64 i32 i64 dtype dev str bytes format ndarray funcinfo rest \"text\" "
    "vec<T> map<K,V> sized<T> {T, U} label*T";

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
        BadLayout{"UncountableItems",
                  {"n:u64", "vec<n*u8>"},
                  "payload field 2 \"vec<n*u8>\": items may have no bytes, expected at least 1"},
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
  for (const char* const type : {"u8", "u16", "u32", "u64"}) {
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
