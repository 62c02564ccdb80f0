// SPDX-License-Identifier: Apache-2.0
#include "core/formats/details.hpp"

#include "core/formats/detail_sink.hpp"
#include "core/formats/limits.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::Words;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using test::ffi;
using test::first_ffi;
using test::legacy;
using test::relay_instruction;

PayloadDetails describe(std::string_view key, const Words& payload,
                        const ExporterFacts& facts = legacy()) {
  return describe_payload({key, 0x100, payload.bytes(), Boundary::exact}, facts,
                          PayloadLayouts::built_in());
}

// A detail as text: name=value{children}; a list has [], a size is in bytes.
std::string text_of(const Detail& detail) {
  std::string text = detail.name;
  if (!text.empty() && !(detail.children.empty() && detail.value.empty())) text += '=';
  text += detail.value;
  if (detail.kind == Detail::Kind::size) text += "B";
  const bool list = detail.kind == Detail::Kind::list;
  if (detail.children.empty() && !list) return text;
  text += list ? '[' : '{';
  for (std::size_t i = 0; i < detail.children.size(); ++i) {
    text += (i == 0 ? "" : " ") + text_of(detail.children[i]);
  }
  return text + (list ? ']' : '}');
}

TEST(Details, ContainFormatKernelsAndSizeOfDeviceCode) {
  const auto details = describe("cuda", test::device_code("ptx", "//ptx"));

  EXPECT_EQ(text_of(details.root),
            "{format=ptx kernels=[add_kernel0={args=[handle handle int32] "
            "launch=[blockIdx.x threadIdx.x]}] data=5B}");
  EXPECT_THAT(details.warnings, IsEmpty());
}

// The format that a payload states may be wrong, so that the detected one is added.
struct Data {
  std::string bytes;
  // empty: not added
  std::string format;
};

class DetailsOfData : public ::testing::TestWithParam<Data> {};

TEST_P(DetailsOfData, ContainTheFormatOfItsFirstBytes) {
  const auto details = describe("cuda", test::device_code("cubin", GetParam().bytes));

  const std::string size = concat("data=", GetParam().bytes.size(), "B");
  const std::string format =
      GetParam().format.empty() ? "" : concat(" data_format=", GetParam().format);
  EXPECT_THAT(text_of(details.root), EndsWith(concat(size, format, "}")));
}

INSTANTIATE_TEST_SUITE_P(
    Each, DetailsOfData,
    ::testing::Values(Data{"\x50\xed\x55\xba...", "fatbin"},
                      Data{"\x7f"
                           "ELF...",
                           "ELF"},
                      Data{"//\n.version 7.5\n.target sm_75", "PTX"}, Data{"//\n.version 7.5", ""},
                      Data{"//\n.target sm_75", ""}, Data{"\x03\x02\x23\x07", "SPIR-V"},
                      Data{"BC\xc0\xde", "LLVM bitcode"}, Data{"PK\x03\x04", "ZIP"},
                      Data{"MTLB", "metallib"}, Data{"!<arch>\n", "archive"},
                      Data{"xclbin2", "xclbin"}, Data{"__kernel", ""}));

TEST(Details, ContainParametersOfAnExecutor) {
  const auto details = describe("GraphExecutorFactory", test::graph_executor());

  EXPECT_EQ(text_of(details.root),
            "{graph_json=2B params=[w={dtype=float32 shape=[2 3] size=24B} "
            "b={dtype=float32 shape=[3] size=12B}] module_name=default}");
}

TEST(Details, ContainConstantsAndTheirUsers) {
  const auto details = describe(
      "const_loader",
      Words().strs({"c0"}).u64(1).bytes(test::array({4}).bytes()).strs({"f"}).u64(1).strs({"c0"}));

  EXPECT_EQ(text_of(details.root),
            "{constants=[c0={dtype=float32 shape=[4] size=16B}] symbols=[f] wanted=[[c0]]}");
}

TEST(Details, WarnAboutNamesWithoutArrays) {
  const auto details = describe("const_loader", Words().strs({"a", "b"}).u64(0).u64(0).u64(0));

  EXPECT_THAT(details.warnings, ElementsAre("2 names for 0 arrays"));
}

TEST(Details, ContainSymbolAndConstantsOfAJsonRuntime) {
  const auto details = describe("dnnl_json", Words().str("f").str("{}").strs({"c0"}));

  EXPECT_EQ(text_of(details.root), "{symbol=f graph_json=2B constants=[c0]}");
  EXPECT_THAT(details.warnings,
              ElementsAre("\"dnnl_json\" payload: sub-graph has no \"nodes\" at 0x111"));
}

TEST(Details, ContainTheOperatorsOfASubgraph) {
  constexpr std::string_view graph = R"({
    "nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[-1, 4]]]}},
              {"op": "const", "name": "c0", "attrs": {"dtype": [["int8"]], "shape": [[[]]]}},
              {"op": "kernel", "name": "debug", "inputs": [[0, 0]]},
              {"op": "kernel", "name": "split", "inputs": [[0, 0, 0], [1, 0, 0]],
               "attrs": {"dtype": [["float32", "float32"]], "shape": [[[2], [2]]], "axis": [["1"]]}},
              {"op": "kernel", "name": "add", "inputs": [[3, 0, 0], [3, 1, 0]],
               "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}}],
    "arg_nodes": [0, 1], "heads": [[4, 0, 0]], "node_row_ptr": [0, 1, 2, 2, 4, 5]})";

  const auto details = describe("bnns_json", Words().str("f").str(graph).strs({"c0"}));

  const Detail* const nodes = details.root.find("nodes");
  ASSERT_NE(nodes, nullptr);
  EXPECT_EQ(text_of(*nodes),
            "nodes=[0={name=x op=input outputs=[float32[-1, 4]]} "
            "1={name=c0 op=const outputs=[int8[]]} 2={name=debug op=kernel inputs=[0] outputs[]} "
            "3={name=split op=kernel inputs=[0 1] outputs=[float32[2] float32[2]]} "
            "4={name=add op=kernel inputs=[3 3.1] outputs=[float32[2]]}]");
}

TEST(Details, TranslateThePrivateFloatCodesOfOlderContainers) {
  Words words = Words().str("ptx").u64(1).str("k").str("").u64(3);
  words.u8(6).u8(8).u16(1).u8(7).u8(8).u16(1).u8(8).u8(4).u16(1).u64(0).str("data");

  const auto details = describe("cuda", words);

  const Detail* const kernels = details.root.find("kernels");
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(text_of(*kernels->children[0].find("args")),
            "args=[float8_e4m3fn float8_e5m2 float4_e2m1fn]");
}

TEST(Details, AreEmptyForCpuCodeAndUnknownKeys) {
  EXPECT_THAT(describe("_lib", Words()).root.children, IsEmpty());
  EXPECT_THAT(describe("acme.npu", Words().u64(1)).root.children, IsEmpty());
  EXPECT_THAT(describe("acme.npu", Words().u64(1)).warnings, IsEmpty());
}

TEST(Details, FollowAVendorsLayout) {
  PayloadLayouts layouts;
  layouts.add("acme.npu",
              *parse_payload_layout(std::vector<std::string>{"firmware:str", "image:bytes"}));
  const Words payload = Words().str("7.1").str("0123");

  const auto details =
      describe_payload({"acme.npu", 0, payload.bytes(), Boundary::laid_out}, legacy(), layouts);

  EXPECT_EQ(text_of(details.root), "{firmware=7.1 image=4B}");
}

TEST(Details, WarnAboutAPayloadThatDoesNotMatchItsLayout) {
  const auto details = describe("cuda", Words().str("ptx").u64(7), ffi());

  EXPECT_THAT(details.root.children, IsEmpty());
  EXPECT_THAT(details.warnings,
              ElementsAre("\"cuda\" payload: kernels: count 7, room for 0 at 0x10b"));
}

TEST(Details, WarnAboutBytesAfterThePayload) {
  const auto details = describe("examplejson", Words().str("{}").u8(0), ffi());

  EXPECT_THAT(details.warnings,
              ElementsAre("\"examplejson\" payload: payload has 1 bytes after its last field at "
                          "0x10a"));
}

TEST(Details, OfAMillionItemsAreLimited) {
  Words words = Words().str("f").str("{}").u64(100000);
  for (int i = 0; i < 100000; ++i) words.str("c");

  const auto details = describe("dnnl_json", words);

  EXPECT_EQ(details.root.find("constants")->children.size(), 900027u / 48 - 3);
  EXPECT_THAT(details.warnings,
              Contains("\"dnnl_json\" payload: only the first 18750 details are shown"));
}

// The payload is 40,000 empty texts of 8 bytes each, whose details took 12 MiB without the limit.
// Found by fuzzing.
TEST(Details, TakeMemoryInProportionToThePayload) {
  Words words = Words().str("f").str("{}").u64(40000);
  for (int i = 0; i < 40000; ++i) words.str("");

  const auto details = describe("dnnl_json", words);

  EXPECT_LE(details.root.find("constants")->children.capacity() * sizeof(Detail), 8 * words.size());
}

TEST(Details, OfASmallPayloadAreComplete) {
  Words words = Words().str("f").str("{}").u64(2000);
  for (int i = 0; i < 2000; ++i) words.str("");

  const auto details = describe("dnnl_json", words);

  EXPECT_EQ(details.root.find("constants")->children.size(), 2000u);
  EXPECT_THAT(details.warnings, Not(Contains(HasSubstr("details are shown"))));
}

TEST(Details, ContainATextOfTheMaximumLength) {
  const std::string text(limits::detail_text_bytes, 'f');

  const auto details = describe("dnnl_json", Words().str(text).str("").u64(0));

  EXPECT_EQ(text_of(*details.root.find("symbol")), "symbol=" + text);
}

TEST(Details, KeepTheNumberOfALongNameAsAMember) {
  Detail item;
  set_size(&item.children.emplace_back(), 300);
  item.children[0].name = "name";

  take_name(item);

  EXPECT_EQ(item.name, "");
  EXPECT_EQ(item.children.size(), 1u);
}

TEST(Details, OfAPayloadWithoutItsEndAreEmpty) {
  const Words payload = test::device_code("ptx", "//ptx");

  const auto details = describe_payload({"cuda", 0x100, payload.bytes(), Boundary::unknown},
                                        legacy(), PayloadLayouts::built_in());

  EXPECT_THAT(details.root.children, IsEmpty());
  EXPECT_THAT(details.warnings, IsEmpty());
}

TEST(Details, KeepNamesWithoutArrays) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"names:str"}));
  const Words payload = Words().str("a");

  const auto details =
      describe_payload({"acme.npu", 0, payload.bytes(), Boundary::laid_out}, legacy(), layouts);

  EXPECT_EQ(text_of(details.root), "{names=a}");
}

TEST(Details, ContainTheSizeOfALongText) {
  const auto details = describe("dnnl_json", Words().str(std::string(300, 'f')).str("").u64(0));

  EXPECT_EQ(text_of(*details.root.find("symbol")), "symbol=300B");
}

// ---- virtual machines --------------------------------------------------------------------------

constexpr std::uint64_t magic = 0xD225DE2F4214151D;

Words relay_head(std::string_view version) {
  Words words = Words().u64(magic).str(version);
  if (version.starts_with("0.12")) words.u64(1).i32(1).i32(0).i32(0);
  if (version.starts_with("0.14")) words.u64(1).i32(1).i32(0).str("global").i32(0);
  return words.strs({"main"});
}

// What follows the constants.
Words relay_tail(std::uint64_t constants = 1) {
  // constant devices
  Words words = Words().u64(constants);
  for (std::uint64_t i = 0; i < constants; ++i) words.i64(0);
  // op attributes
  words.strs({"fused_add"}).u64(1).u64(0).u64(1).str("hash").str("12");
  // one function
  words.u64(1).strs({"main", "3", "2"}).strs({"x"}).u64(1).i64(0);
  return words.bytes(relay_instruction({2, 3}).bytes()).bytes(relay_instruction({1}).bytes());
}

Words inside(const Words& code) {
  return Words().str({reinterpret_cast<const char*>(code.bytes().data()), code.size()});
}

constexpr const char* relay_end =
    "primitives=[fused_add] functions=[main={params=[x] registers=3 instructions=2}]}";
constexpr const char* one_array = "[{dtype=float32 shape=[2] size=8B}]";

TEST(RelayDetails, OfReleaseEight) {
  Words code = relay_head("0.8.0").u64(1).bytes(test::array({2}).bytes());

  const auto details = describe("VMExecutable", inside(code.bytes(relay_tail().bytes())));

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(details.root),
            concat("{version=0.8.0 globals=[main] constants=", one_array, " ", relay_end));
}

TEST(RelayDetails, OfReleaseTwelve) {
  Words code = relay_head("0.12.0").u64(2).u32(0).bytes(test::array({2}).bytes()).u32(1).str("w");

  const auto details = describe("VMExecutable", inside(code.bytes(relay_tail(2).bytes())));

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(details.root),
            concat("{version=0.12.0 devices=[1:0] host_device=0 globals=[main] constants=["
                   "{dtype=float32 shape=[2] size=8B} w] ",
                   relay_end));
}

TEST(RelayDetails, OfReleaseFourteen) {
  Words code = relay_head("0.14.0").u64(1).u32(0).bytes(test::array({2}).bytes());

  const auto details = describe("VMExecutable", inside(code.bytes(relay_tail().bytes())));

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(details.root),
            concat("{version=0.14.0 devices=[{device=1:0 scope=global}] host_device=0 "
                   "globals=[main] constants=",
                   one_array, " ", relay_end));
}

TEST(RelayDetails, WarnAboutAnotherRelease) {
  const auto details = describe("VMExecutable", inside(relay_head("0.20.0")));

  EXPECT_THAT(details.warnings,
              ElementsAre("\"VMExecutable\" payload: version is TVM \"0.20.0\", expected TVM 0.8 "
                          "to 0.19 at 0x110"));
}

TEST(RelayDetails, WarnAboutAnotherMagic) {
  const auto details = describe("VMExecutable", Words().str("12345678"));

  EXPECT_THAT(details.warnings,
              ElementsAre("\"VMExecutable\" payload: magic is 0x3837363534333231, expected "
                          "0xd225de2f4214151d at 0x108"));
}

TEST(RelayDetails, WarnAboutBytesAfterTheLastField) {
  Words code = relay_head("0.8.0").u64(1).bytes(test::array({2}).bytes());
  code.bytes(relay_tail().bytes());
  const std::size_t size = code.size();

  const auto details = describe("VMExecutable", inside(code.text("xyz")));

  EXPECT_THAT(details.warnings,
              ElementsAre(concat("\"VMExecutable\" payload: code has 3 bytes after its last field, "
                                 "expected none at ",
                                 Hex{0x108 + size})));
  EXPECT_NE(details.root.find("functions"), nullptr);
}

TEST(RelayDetails, WarnAboutAnInvalidInstructionCount) {
  Words code = relay_head("0.8.0").u64(0).u64(0).u64(0).u64(0);
  code.u64(1).strs({"main", "3", "99999999999"}).u64(0).u64(0);

  const auto details = describe("VMExecutable", inside(code));

  ASSERT_EQ(details.warnings.size(), 1u);
  EXPECT_THAT(details.warnings[0],
              HasSubstr("instruction count is 99999999999, room for 0\n  in function 0"));
  EXPECT_NE(details.root.find("version"), nullptr);
}

// The tags of an array and of a shape in each generation.
struct RelaxCase {
  std::string name;
  ExporterFacts facts;
  bool is_bare;
  std::int32_t array, shape, text, number, type;
};

class RelaxDetails : public ::testing::TestWithParam<RelaxCase> {};

TEST_P(RelaxDetails, UseTheConstantTagsOfTheGeneration) {
  const RelaxCase& tags = GetParam();
  Words code = Words().u64(magic).str("0.14").u64(1);
  code.i32(1).str("main").i64(0).i64(2).i64(1).i64(5).strs({"x"});
  code.u64(5).i32(tags.array).bytes(test::array({2}).bytes());
  code.i32(tags.shape).u64(2).i64(3).i64(4).i32(tags.text).str("global");
  code.i32(tags.number).i64(-7).i32(tags.type).u8(2).u8(32).u16(1);
  code.u64(0).u64(0);

  const auto details =
      describe("relax.VMExecutable", tags.is_bare ? code : inside(code), tags.facts);

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(details.root),
            "{version=0.14 functions=[main={kind=1 start=0 end=2 arguments=1 registers=5 "
            "params=[x]}] constants=[{dtype=float32 shape=[2] size=8B} [3 4] global -7 float32]}");
}

INSTANTIATE_TEST_SUITE_P(Each, RelaxDetails,
                         ::testing::Values(RelaxCase{"G3", legacy(), false, 0, 2, 3, 4, 1},
                                           RelaxCase{"G4", first_ffi(), false, 72, 71, 65, 1, 5},
                                           RelaxCase{"G5", ffi(), true, 70, 69, 65, 1, 5},
                                           RelaxCase{"UnknownAsG3", {}, false, 0, 2, 3, 4, 1},
                                           RelaxCase{"UnknownAsG4", {}, false, 72, 71, 65, 1, 5},
                                           RelaxCase{"UnknownAsG5", {}, false, 70, 69, 65, 1, 5}),
                         [](const auto& test) { return test.param.name; });

// Code with the functions `f`, with the parameters `x` and `y`, and `g`, and with text constants.
Words relax_texts(const std::vector<std::string>& texts) {
  Words code = Words().u64(magic).str("0.14").u64(2);
  code.i32(1).str("f").i64(0).i64(2).i64(2).i64(5).strs({"x", "y"});
  code.i32(0).str("g").i64(0).i64(0).i64(-2).i64(0).strs({});
  code.u64(texts.size());
  for (const std::string& text : texts) code.i32(65).str(text);
  return code.u64(0).u64(0);
}

TEST(RelaxDetails, ContainTheAnnotationsOfParametersAndResults) {
  const auto details =
      describe("relax.VMExecutable",
               relax_texts({"ErrorContext(fn=f, loc=return, annotation=R.Any) ",
                            "ErrorContext(fn=f, loc=param[0], param=x, annotation=R.Tensor((n, 1), "
                            "dtype=\"float32\")) ",
                            "ErrorContext(fn=f, loc=param[1], param=y, annotation=R.Shape([n]))"}),
               ffi());

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(*details.root.find("functions")),
            "functions=[f={kind=1 start=0 end=2 arguments=2 registers=5 params=[x y] returns=R.Any "
            "annotations={x=R.Tensor((n, 1), dtype=\"float32\") y=R.Shape([n])}} g={kind=0 start=0 "
            "end=0 arguments=-2 registers=0 params[]}]");
}

TEST(RelaxDetails, TruncateLongAnnotations) {
  const std::string prefix = "ErrorContext(fn=f, loc=return, annotation=";
  const auto returns = [&](std::size_t length) {
    const auto details = describe("relax.VMExecutable",
                                  relax_texts({prefix + std::string(length, 'n') + ") "}), ffi());
    return details.root.find("functions")->find("f")->find("returns")->value;
  };

  EXPECT_EQ(returns(240), std::string(240, 'n'));
  EXPECT_EQ(returns(241), std::string(240, 'n') + "...");
}

TEST(RelaxDetails, ContainNoAnnotationOfOtherTexts) {
  const std::string none =
      text_of(*describe("relax.VMExecutable", relax_texts({}), ffi()).root.find("functions"));
  for (const std::string_view text :
       {"ErrorContext(fn=h, loc=return, annotation=R.Any) ", "ErrorContext(fn=f", "ErrorContext(",
        "ErrorContext(fn=f, loc=return", "ErrorContext(fn=f, loc=return, annotation=R.Any",
        "ErrorContext(fn=f, loc=param[0], annotation=R.Any)",
        "ErrorContext(fn=f, loc=return, R.Any)", "fn=f, loc=return, annotation=R.Any) "}) {
    const auto details = describe("relax.VMExecutable", relax_texts({std::string(text)}), ffi());
    EXPECT_THAT(details.warnings, IsEmpty());
    EXPECT_EQ(text_of(*details.root.find("functions")), none) << text;
  }
}

TEST(RelaxDetails, ContainMemoryScopesOfTheSecondForm) {
  Words code = Words().u64(magic + 1).str("0.14").u64(0).u64(1).i64(3).str("global.texture");
  code.u64(0).u64(0).u64(0);

  const auto details = describe("relax.VMExecutable", code, ffi());

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(text_of(*details.root.find("scopes")), "scopes=[{constant=3 scope=global.texture}]");
}

TEST(RelaxDetails, ContainManyDtypes) {
  Words code = Words().u64(magic).str("0.14").u64(0).u64(5);
  for (int i = 0; i < 5; ++i) code.i32(5).u8(2).u8(32).u16(1);
  code.u64(0).u64(0);

  const auto details = describe("relax.VMExecutable", code, ffi());

  EXPECT_THAT(details.warnings, IsEmpty());
  EXPECT_EQ(details.root.find("constants")->children.size(), 5u);
}

TEST(RelaxDetails, WarnAboutAnUnknownConstant) {
  Words code = Words().u64(magic).str("0.14").u64(0).u64(1).i32(99).u64(0).u64(0).u64(0);

  const auto details = describe("relax.VMExecutable", code, ffi());

  ASSERT_EQ(details.warnings.size(), 1u);
  EXPECT_THAT(details.warnings[0],
              ::testing::HasSubstr("tag is 99, expected that of an array, dtype, shape, "
                                   "text or number\n  in constant 0"));
}

PayloadDetails describe_as(std::vector<std::string> fields, const Words& payload,
                           const ExporterFacts& facts = legacy()) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(fields));
  return describe_payload({"acme.npu", 0, payload.bytes(), Boundary::laid_out}, facts, layouts);
}

TEST(Details, ContainTheExpectedText) {
  EXPECT_EQ(text_of(describe_as({"version:\"0.1\""}, Words().str("0.1")).root), "{version=0.1}");
}

TEST(Details, ContainNumbersOfEachForm) {
  const Words payload = Words().u8(0xff).u16(0xfffe).u8(0x01).u8(0x02).u16(0xffff).u64(0xffffffff);

  const auto details = describe_as({"a:i8", "b:i16", "c:u16be", "d:i16be", "e:u64be"}, payload);

  EXPECT_EQ(text_of(details.root), "{a=-1 b=-2 c=258 d=-1 e=18446744069414584320}");
}

TEST(Details, ContainProductsAndTextsOfAnyLength) {
  Words payload = Words().text("ANPU").u8(2).u8(1).u8(3).u8(4).text("\x7f").text("ELF");
  payload.text("acme").u32(0).u16(2).text("ab").text("cd").u8(0);

  const auto details = describe_as(
      {"magic:\"ANPU\"(4)", "rows:u8", "cols:u8", "few:rows*cols*u8", "pad:align(8)", "align(8)",
       "image:bytes(rows*cols*2)", "vendor:str(8)", "name:str(u16)", "more:cstr"},
      payload);

  EXPECT_EQ(text_of(details.root),
            "{magic=ANPU rows=2 cols=1 few=[3 4] pad=0B image=4B image_format=ELF vendor=acme "
            "name=ab more=cd}");
}

// One for each item that has no bytes, up to the limit.
TEST(Details, OfItemsWithoutBytesAreLimited) {
  const auto details = describe_as({"n:u64", "none:u8", "all:n*none*u8"}, Words().u64(3).u8(0));
  const auto huge = describe_as({"n:u64", "all:vec(n)<align(2)>"}, Words().u64(~std::uint64_t{0}));

  EXPECT_EQ(text_of(details.root), "{n=3 none=0 all[]}");
  EXPECT_EQ(huge.root.find("all")->children.size(), limits::min_details - 2);
  EXPECT_THAT(huge.warnings,
              ElementsAre("\"acme.npu\" payload: only the first 2048 details are shown"));
}

TEST(Details, ContainTheFormatOfBytesOnly) {
  const Words payload = Words().str("MTLB").str("text").u64(7);

  const auto details = describe_as({"image:bytes", "name_of:str", "n:u64"}, payload);

  EXPECT_EQ(text_of(details.root), "{image=4B image_format=metallib name_of=text n=7}");
  EXPECT_EQ(details.root.find("n")->kind, Detail::Kind::number);
}

TEST(Details, TranslateOnlyThePrivateFloatCodes) {
  const auto type = [](std::uint8_t code, const ExporterFacts& facts) {
    return text_of(describe_as({"type:dtype"}, Words().u8(code).u8(8).u16(1), facts).root);
  };
  EXPECT_EQ(type(6, legacy()), "{type=float8_e4m3fn}");
  for (const std::uint8_t code : {std::uint8_t{5}, std::uint8_t{9}}) {
    EXPECT_EQ(type(code, legacy()), type(code, ffi())) << int{code};
  }
  EXPECT_NE(type(6, ffi()), type(6, legacy()));
}

TEST(RelayDetails, OfTheFirstAndTheLastReleaseWithDevices) {
  Words code = Words().u64(magic).str("0.9.0").u64(1).i32(1).i32(0).i32(0).strs({"main"}).u64(0);
  Words last =
      Words().u64(magic).str("0.19.0").u64(1).i32(1).i32(0).str("").i32(0).strs({"main"}).u64(0);
  code.bytes(relay_tail(0).bytes());
  last.bytes(relay_tail(0).bytes());

  EXPECT_THAT(describe("VMExecutable", inside(code)).warnings, IsEmpty());
  EXPECT_THAT(describe("VMExecutable", inside(last)).warnings, IsEmpty());
}

TEST(RelayDetails, WarnAboutReleasesWithoutThisForm) {
  for (const std::string_view version : {"0.7.0", "0.20.0", "1.9.0", "x.9"}) {
    const auto details =
        describe("VMExecutable", inside(Words(relay_head(version)).bytes(relay_tail().bytes())));
    EXPECT_THAT(details.warnings, ElementsAre(::testing::HasSubstr("expected TVM 0.8 to 0.19")))
        << version;
  }
}

// A function whose header has the given texts, and its instructions.
Words relay_function(const std::vector<std::string_view>& header, const Words& instructions) {
  Words code = relay_head("0.8.0").u64(0).u64(0).u64(0).u64(0);
  code.u64(1).strs(header).strs({}).u64(0);
  return inside(code.bytes(instructions.bytes()));
}

TEST(RelayDetails, WarnAboutOtherInstructionsThanTheHeaderStates) {
  const Words one = relay_instruction({1});
  const Words two = Words().bytes(one.bytes()).bytes(one.bytes());

  EXPECT_THAT(describe("VMExecutable", relay_function({"main", "3", "2"}, two)).warnings,
              IsEmpty());
  EXPECT_THAT(describe("VMExecutable", relay_function({"main", "3", "2"}, Words().u64(0))).warnings,
              ElementsAre(HasSubstr("instruction count is 2, room for 1")));
  EXPECT_THAT(describe("VMExecutable", relay_function({"main", "3"}, Words().u64(0))).warnings,
              ElementsAre(HasSubstr("header has 2 texts, expected 3")));
}

// The reader of the plugin refuses such code, too.
TEST(RelayDetails, WarnAboutAnInstructionWithAnotherHash) {
  const Words wrong = Words().u64(2).i64(7).i64(1);

  const auto details = describe("VMExecutable", relay_function({"main", "3", "1"}, wrong));

  EXPECT_THAT(details.warnings, ElementsAre(HasSubstr("hash is 7, that of its words is 1")));
  EXPECT_EQ(text_of(*details.root.find("globals")), "globals=[main]");
}

// Returns the details of code that ends with its last field.
DetailSink described_code(std::string_view key, const Words& code, std::uint64_t max) {
  DetailSink sink;
  sink.max = max;
  const Status status =
      describe_virtual_machine(key, ByteReader(code.bytes()), Numbering::packed, sink);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return sink;
}

// Late-bound constants, and functions without instructions.
Words relay_code(std::uint64_t constants, std::uint64_t functions) {
  Words code = relay_head("0.12.0").u64(constants);
  for (std::uint64_t i = 0; i < constants; ++i) code.u32(1).str("w");
  code.u64(constants);
  for (std::uint64_t i = 0; i < constants; ++i) code.i64(0);
  code.strs({}).u64(0).u64(functions);
  for (std::uint64_t i = 0; i < functions; ++i) code.strs({"f", "1", "0"}).strs({}).u64(0);
  return code;
}

Words relax_code(std::uint64_t constants) {
  Words code = Words().u64(magic).str("0.15.0").u64(0).u64(constants);
  for (std::uint64_t i = 0; i < constants; ++i) code.u32(4).i64(7);
  return code.u64(0).u64(0);
}

TEST(VirtualMachine, CountsItsConstantsAndFunctions) {
  const auto items = [](std::uint64_t constants, std::uint64_t functions) {
    return described_code("VMExecutable", relay_code(constants, functions), 1000).items;
  };

  EXPECT_EQ(items(5, 0) - items(2, 0), 3u);
  EXPECT_EQ(items(0, 3) - items(0, 2), items(0, 2) - items(0, 1));
  EXPECT_GT(items(0, 3), items(0, 2));
}

TEST(VirtualMachine, HasAtMostTheDetailsOfTheLimit) {
  for (const auto& [key, code] :
       {std::pair{"VMExecutable", relay_code(2, 3)}, {"relax.VMExecutable", relax_code(3)}}) {
    const std::uint64_t all = described_code(key, code, 1000).items;
    for (std::uint64_t max = 1; max < all; ++max) {
      const DetailSink sink = described_code(key, code, max);
      EXPECT_TRUE(sink.cut) << key << ' ' << max;
      EXPECT_LE(sink.items, max) << key;
    }
    EXPECT_FALSE(described_code(key, code, all).cut) << key;
  }
}

TEST(VirtualMachine, HasThreeTypeKeys) {
  for (const char* const key : {"VMExecutable", "relax.Executable", "relax.VMExecutable"}) {
    EXPECT_TRUE(is_virtual_machine(key)) << key;
  }
  EXPECT_FALSE(is_virtual_machine("relax.Other"));
}

}  // namespace
}  // namespace gantry
