// SPDX-License-Identifier: Apache-2.0
//
// The length of payloads of every built-in key in every variant, followed by another entry and
// alone.
#include "core/formats/payload_layout.hpp"

#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::Words;
using Tags = ArgumentTags;

// Facts that are known before a payload is read.
struct Known {
  PayloadEnd end;
  Tags tags;
};
constexpr Known legacy = {PayloadEnd::unknown, Tags::no};
constexpr Known first_ffi = {PayloadEnd::unknown, Tags::unknown};
constexpr Known ffi = {PayloadEnd::known, Tags::yes};

Result<Measured> measure(const PayloadLayouts& layouts, std::string_view key, ByteReader in,
                         const Known& known) {
  return layouts.measure(key, in, known.end, known.tags);
}

Words shader(bool wrapped) {
  const Words inside = Words().u32(1).u64(2).u32(0x07230203).u32(0x00010000);
  return wrapped ? Words().u64(inside.size()).bytes(inside.bytes()) : inside;
}
Words shaders(bool wrapped) {
  return Words().u64(1).str("add_kernel0").bytes(shader(wrapped).bytes());
}
Words kernels(bool extra_tags = false) { return test::kernels({"add_kernel0"}, extra_tags); }
Words network(bool sizes) {
  Words words = Words().str("net").str("commands").u64(2).u32(0).u32(1);
  if (sizes) words.u32(1000).u32(2000);
  words.u64(1).u32(0);
  if (sizes) words.u32(4000);
  return words;
}

struct Payload {
  std::string name;
  std::string key;
  Words bytes;
  // the alternative that matches
  std::string layout;
  Known known = legacy;
};

void PrintTo(const Payload& payload, std::ostream* out) { *out << payload.name; }

const char* const common = "format:format kernels:map<str,funcinfo> data:bytes";
const char* const json = "symbol:str graph_json:bytes constants:vec<str>";

std::vector<Payload> every_payload() {
  const Words code = test::device_code("ptx", "//ptx");
  const Words tagged = test::device_code("ptx", "//ptx", true);
  std::vector<Payload> all{
      {"CudaTaggedG5", "cuda", tagged, common, ffi},
      {"CudaTaggedG4", "cuda", tagged, common, first_ffi},
      {"CudaPlainG4", "cuda", code, common, first_ffi},
      {"OpenclSpirv", "opencl", Words().bytes(kernels().bytes()).bytes(shaders(false).bytes()),
       "kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"},
      {"OpenclSpirvOfTwo", "opencl",
       Words()
           .bytes(test::kernels({"add_kernel0", "b"}).bytes())
           .u64(2)
           .str("add_kernel0")
           .bytes(shader(false).bytes())
           .str("b")
           .bytes(shader(false).bytes()),
       "kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"},
      {"MetalOfOneSource", "metal", test::device_code("metal", "kernel void"), common},
      {"MetalOfVersion", "metal",
       Words()
           .str("0.1.0")
           .u64(1)
           .str("add_kernel0")
           .str("kernel void")
           .bytes(kernels().bytes())
           .str("metal"),
       "version:\"0.1.0\" shaders:map<str,bytes> kernels:map<str,funcinfo> format:format"},
      {"MetalOfManySources", "metal",
       Words().str("metallib").bytes(kernels(true).bytes()).u64(1).str("add_kernel0").str("MTLB"),
       "format:format kernels:map<str,funcinfo> shaders:map<str,bytes>", ffi},
      {"VulkanBare", "vulkan",
       Words().str("vulkan").bytes(kernels().bytes()).bytes(shaders(false).bytes()),
       "format:format kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"},
      {"VulkanBareG5", "vulkan",
       Words().str("vulkan").bytes(kernels(true).bytes()).bytes(shaders(false).bytes()),
       "format:format kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>", ffi},
      {"VulkanWrapped", "vulkan",
       Words().str("vulkan").bytes(kernels(true).bytes()).bytes(shaders(true).bytes()),
       "format:format kernels:map<str,funcinfo> shaders:map<str,sized<{flag:u32,vec<u32>}>>", ffi},
      {"Webgpu", "webgpu",
       Words().bytes(kernels().bytes()).u64(1).str("add_kernel0").str("@compute"),
       "kernels:map<str,funcinfo> shaders:map<str,bytes>"},
      {"ConstLoader", "const_loader",
       Words().strs({"c0"}).u64(1).bytes(test::array({4}).bytes()).strs({"f"}).u64(1).strs({"c0"}),
       "names:vec<str> constants:vec<ndarray> symbols:vec<str> wanted:vec<vec<str>>"},
      {"Metadata", "metadata", Words().u64(0).u64(0).u64(0).u64(0),
       "names:vec<str> constants:vec<ndarray> symbols:vec<str> wanted:vec<vec<str>>"},
      {"GraphExecutor", "GraphExecutorFactory", test::graph_executor(),
       "graph_json:bytes count:u64 names:vec<str> params:count*ndarray module_name:str"},
      {"GraphRuntime", "GraphRuntimeFactory", test::graph_executor(),
       "graph_json:bytes count:u64 names:vec<str> params:count*ndarray module_name:str"},
      {"Aot", "AotExecutorFactory", Words().u64(0).u64(0).str("default"),
       "count:u64 names:vec<str> params:count*ndarray module_name:str"},
      {"MetadataModule", "metadata_module", Words(), ""},
      {"RelayMachine", "VMExecutable", Words().str("code"), "code:bytes"},
      {"RelaxInText", "relax.Executable", Words().str("code"), "code:bytes"},
      {"RelaxBare", "relax.VMExecutable", Words().u64(0xD225DE2F4214151D).str("0.14"), "code:rest",
       ffi},
      {"Coreml", "coreml", Words().str("f").str("bundle"), "symbol:str archive:bytes"},
      {"Torch", "torch", Words().str("f").str("PK"), "symbol:str archive:bytes"},
      {"EthosOrder", "ethos-n", Words().u64(1).bytes(network(false).bytes()),
       "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,outputs:u64,"
       "outputs*u32}>"},
      {"EthosSizes", "ethos-n", Words().u64(1).bytes(network(true).bytes()),
       "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,inputs*u32,outputs:u64,"
       "outputs*u32,outputs*u32}>"},
      {"Vitis", "VitisAIRuntime", Words().str("m").str("p").str("s").strs({"c"}),
       "module:bytes export_path:str symbol:str constants:vec<str>"},
      {"MrvlSimOld", "mrvl_sim", Words().str("f").str("{}"), "symbol:str nodes_json:bytes"},
      {"MrvlSimNew", "mrvl_sim", Words().str("f").str("{}").str("code"),
       "symbol:str nodes_json:bytes code:bytes"},
      {"MrvlSimOldG5", "mrvl_sim", Words().str("f").str("{}"), "symbol:str nodes_json:bytes", ffi},
      {"MrvlHw", "mrvl_hw", Words().str("f").str("{}").str("code").i32(1).i32(2).i32(3),
       "symbol:str nodes_json:bytes code:bytes inputs:i32 outputs:i32 batch_size:i32"},
      {"ExampleJson", "examplejson", Words().str("{}"), "graph_json:bytes"},
      {"StaticLibrary", "static_library", Words().str("!<arch>\n").strs({"f"}),
       "object:bytes functions:vec<str>"},
      {"CSource", "c", Words().str("int f;").str("c").strs({"f"}).strs({}),
       "code:bytes format:str functions:vec<str> constants:vec<str>"},
      {"CWithoutBody", "c", Words(), ""},
  };
  for (const char* key :
       {"cuda", "hip", "hsaco", "opencl", "hexagon", "aocl", "aocl_sw_emu", "sdaccel", "opengl"}) {
    all.push_back({concat("Common_", key), key, code, common});
  }
  for (const char* key :
       {"dnnl_json", "arm_compute_lib", "tensorrt", "bnns_json", "clml", "cublas_json",
        "cudnn_json", "hipblas_json", "nnapi", "msc_tensorrt", "example_npu_json"}) {
    all.push_back({concat("Json_", key), key, Words().str("f").str("{}").strs({"c0"}), json});
  }
  return all;
}

class EveryPayload : public ::testing::TestWithParam<Payload> {};

TEST_P(EveryPayload, IsMeasuredToItsLastByte) {
  const Payload& payload = GetParam();
  Words bytes = payload.bytes;
  if (payload.known.end == PayloadEnd::unknown) {
    bytes.bytes(test::tree({0, 1, 1}, {1}).bytes());
  }
  const PayloadLayouts layouts = PayloadLayouts::built_in();

  const auto measured = measure(layouts, payload.key, ByteReader(bytes.bytes()), payload.known);

  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->size, payload.bytes.size());
  EXPECT_EQ(measured->layout->text(), payload.layout);
}

// A truncated payload may match another, shorter layout of its key, but not the same one.
TEST_P(EveryPayload, DoesNotMatchItsLayoutIfTruncated) {
  const Payload& payload = GetParam();
  // `rest` matches any length
  if (payload.layout.ends_with("rest")) return;
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  // the payload extends to the end of the reader
  const Known known{PayloadEnd::known, payload.known.tags};
  const auto whole = measure(layouts, payload.key, ByteReader(payload.bytes.bytes()), known);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  for (std::size_t size = 0; size < payload.bytes.size(); ++size) {
    const auto cut =
        measure(layouts, payload.key, ByteReader(payload.bytes.bytes().first(size)), known);
    const bool same =
        cut.ok() && cut->layout == whole->layout && cut->argument_tags == whole->argument_tags;
    EXPECT_FALSE(same) << "accepted the first " << size << " bytes";
    if (!cut.ok()) {
      EXPECT_EQ(cut.error().code, Code::malformed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EveryPayload, ::testing::ValuesIn(every_payload()),
                         [](const auto& test) { return test.param.name; });

TEST(Payload, HasArgumentTagsIfItsKernelsDo) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const Words next = test::tree({0, 1, 1}, {1});
  const Words tagged = test::device_code("ptx", "//ptx", true).bytes(next.bytes());
  const Words plain = test::device_code("ptx", "//ptx", false).bytes(next.bytes());

  EXPECT_EQ(measure(layouts, "cuda", ByteReader(tagged.bytes()), first_ffi)->argument_tags,
            Tags::yes);
  EXPECT_EQ(measure(layouts, "cuda", ByteReader(plain.bytes()), first_ffi)->argument_tags,
            Tags::no);
}

// `code` is short and printable, so that it looks like a key, as does the unknown key after it.
TEST(Payload, IncludesATextThatLooksLikeAKeyBeforeAnUnknownKey) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const Words payload = Words().str("f").str("{}").str("code");
  const Words words = Words(payload).str("acme").u64(0);

  const auto measured = measure(layouts, "mrvl_sim", ByteReader(words.bytes()), legacy);

  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->size, payload.size());
}

TEST(Payload, AcceptsKernelsWithZeroArgumentTags) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  Words words = Words().str("ptx").u64(1).str("k").str("").u64(1).u8(3).u8(64).u16(1);
  words.strs({"threadIdx.x"}).u64(0).str("data");

  const auto measured = measure(layouts, "cuda", ByteReader(words.bytes()), ffi);

  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->size, words.size());
}

// Errors name the field; the offset counts from the reader's first byte.
struct BadPayload {
  std::string name;
  std::vector<std::string> layout;
  Words bytes;
  std::uint64_t offset;
  std::string message;
};

class InvalidPayload : public ::testing::TestWithParam<BadPayload> {};

TEST_P(InvalidPayload, IsRejectedAtTheInvalidField) {
  PayloadLayouts layouts;
  layouts.add("key", *parse_payload_layout(GetParam().layout));

  const auto measured = measure(layouts, "key", ByteReader(GetParam().bytes.bytes()), ffi);

  ASSERT_FALSE(measured.ok());
  EXPECT_EQ(measured.error().code, Code::malformed);
  EXPECT_EQ(measured.error().offset, GetParam().offset);
  EXPECT_EQ(measured.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, InvalidPayload,
    ::testing::Values(
        BadPayload{"StrPastEnd",
                   {"code:str"},
                   Words().u64(9).text("abc"),
                   0,
                   "code: length is 9 bytes, room for 3 bytes"},
        BadPayload{
            "CountPastEnd", {"all:vec<u64>"}, Words().u64(2).u64(0), 0, "all: count 2, room for 1"},
        BadPayload{"CountHuge",
                   {"all:vec<{u64,u64}>"},
                   Words().u64(~0ull).u64(0),
                   0,
                   "all: count 18446744073709551615, room for 0"},
        BadPayload{"MapHuge",
                   {"all:map<str,str>"},
                   Words().u64(1ull << 60).u64(0),
                   0,
                   "all: count 1152921504606846976, room for 0"},
        BadPayload{"RepeatHuge",
                   {"n:u64", "all:n*u32"},
                   Words().u64(1ull << 62).u32(0),
                   8,
                   "all: count 4611686018427387904, room for 1"},
        BadPayload{
            "Behind", {"u8"}, Words().u8(0).u8(0), 1, "payload has 1 bytes after its last field"},
        BadPayload{"FormatEmpty",
                   {"format"},
                   Words().str(""),
                   0,
                   "format is \"\", expected 1 to 16 printable characters"},
        BadPayload{"FormatLong",
                   {"format"},
                   Words().str(std::string(17, 'x')),
                   0,
                   "format is \"xxxxxxxxxxxxxxxxx\", expected 1 to 16 printable characters"},
        BadPayload{"FormatBinary",
                   {"format"},
                   Words().str("\x01"),
                   0,
                   "format is \"\\x01\", expected 1 to 16 printable characters"},
        BadPayload{"OtherText",
                   {"version:\"0.1.0\""},
                   Words().str("0.2.0"),
                   0,
                   "version is \"0.2.0\", expected \"0.1.0\""},
        BadPayload{
            "OtherLongText",
            {"version:\"0.1.0\""},
            Words().str(std::string(200, 'x')),
            0,
            concat("version is \"", std::string(80, 'x'), "...\" (200 bytes), expected \"0.1.0\"")},
        BadPayload{"SizedTooLong",
                   {"one:sized<u8>"},
                   Words().u64(3).u8(0).u8(0).u8(0),
                   9,
                   "one has 3 bytes, 2 of them after its content"},
        BadPayload{"SizedTooShort",
                   {"one:sized<u32>"},
                   Words().u64(3).u8(0).u8(0).u8(0),
                   8,
                   "u32: needs 4 bytes, 3 bytes left"},
        BadPayload{"SizedPastEnd",
                   {"u8", "one:sized<bytes(3)>"},
                   Words().u8(0).u64(3).u8(0),
                   1,
                   "one: length is 3 bytes, room for 1 bytes"},
        BadPayload{"StrOfAByteLengthPastEnd",
                   {"u8", "code:str(u8)"},
                   Words().u8(0).u8(9).text("abc"),
                   1,
                   "code: length is 9 bytes, room for 3 bytes"},
        BadPayload{"LengthPastEnd",
                   {"code:bytes(u32)"},
                   Words().u8(0),
                   0,
                   "code: needs 4 bytes, 1 bytes left"},
        BadPayload{"BigEndianLengthPastEnd",
                   {"code:bytes(u16be)"},
                   Words().u8(1).u8(2).text("abc"),
                   0,
                   "code: length is 258 bytes, room for 3 bytes"},
        BadPayload{"CountOfAWordPastEnd",
                   {"all:vec(u32)<u16>"},
                   Words().u32(3).u16(0).u16(0),
                   0,
                   "all: count 3, room for 2"},
        BadPayload{"MapOfAWordPastEnd",
                   {"all:map(u16)<str(u8),u8>"},
                   Words().u16(2).u8(0).u8(0).u8(0),
                   0,
                   "all: count 2, room for 1"},
        BadPayload{"ProductPastEnd",
                   {"rows:u16", "cols:u16", "weights:rows*cols*u16"},
                   Words().u16(3).u16(4).u64(0).u64(0),
                   4,
                   "weights: count 12 (rows*cols), room for 8"},
        BadPayload{"BytesOfAProductPastEnd",
                   {"rows:u16", "cols:u16", "weights:bytes(rows*cols*2)"},
                   Words().u16(3).u16(4).u64(0).u64(0),
                   4,
                   "weights: length is 24 bytes (rows*cols*2), room for 16 bytes"},
        BadPayload{"ProductOverflows",
                   {"rows:u64", "cols:u64", "weights:rows*cols*u8"},
                   Words().u64(1ull << 32).u64(1ull << 32).u64(0),
                   16,
                   "weights: rows*cols is 4294967296*4294967296, maximum is 18446744073709551615"},
        BadPayload{"BytesOfAProductOverflow",
                   {"n:u64", "bytes(n*16)"},
                   Words().u64(1ull << 60).u64(0),
                   8,
                   "bytes: n*16 is 1152921504606846976*16, maximum is 18446744073709551615"},
        BadPayload{"ConstantPastEnd",
                   {"u8", "name:str(16)"},
                   Words().u8(0).text("abc"),
                   1,
                   "name: length is 16 bytes, room for 3 bytes"},
        BadPayload{"SizeWithoutItsHeader",
                   {"chunk:sized(u32-4)<bytes(2)>"},
                   Words().u32(3).u16(0),
                   0,
                   "chunk: length is 3, minimum is 4 (u32-4)"},
        BadPayload{"SizeWithItsHeaderPastEnd",
                   {"chunk:sized(u32-4)<bytes(2)>"},
                   Words().u32(9).u16(0),
                   0,
                   "chunk: length is 5 bytes (u32-4), room for 2 bytes"},
        BadPayload{"CountOfOneLess",
                   {"n:u8", "all:vec(n-1)<u8>"},
                   Words().u8(0),
                   1,
                   "all: count is 0, minimum is 1 (n-1)"},
        BadPayload{"CountOfOneMore",
                   {"n:u8", "all:vec(n+1)<u32>"},
                   Words().u8(1).u32(0),
                   1,
                   "all: count 2 (n+1), room for 1"},
        BadPayload{
            "LengthPlusOverflows",
            {"all:bytes(u64+1)"},
            Words().u64(~0ull),
            0,
            "all: length is 16.0 EiB (18446744073709551615 bytes) (u64+1), room for 0 bytes"},
        BadPayload{"ItemPastEnd",
                   {"n:u8", "all:vec<n*u16>"},
                   Words().u8(2).u64(2).u32(0).u16(0),
                   13,
                   "array: count 2, room for 1"},
        BadPayload{"TextWithoutAZeroByte",
                   {"u8", "name:cstr"},
                   Words().u8(0).text("abc"),
                   1,
                   "name: no zero byte in 3 bytes"},
        BadPayload{"TextWithoutBytes", {"cstr"}, Words(), 0, "cstr: no zero byte in 0 bytes"},
        BadPayload{"OtherMagic",
                   {"magic:\"ANPU\"(4)"},
                   Words().text("ANPV"),
                   0,
                   "magic is \"ANPV\", expected \"ANPU\""},
        BadPayload{"AlignmentPastEnd",
                   {"u8", "align(8)"},
                   Words().u8(0).u32(0),
                   1,
                   "align: needs 7 bytes, 4 bytes left"},
        BadPayload{
            "BigEndianPastEnd", {"u32be"}, Words().u8(0), 0, "u32be: needs 4 bytes, 1 bytes left"},
        BadPayload{"ArrayMagic",
                   {"array:ndarray"},
                   Words().u64(1).bytes(test::array({4}).bytes()),
                   0,
                   "array begins with 0x1, expected 0xdd5e40f096b4a13f"},
        BadPayload{"ArrayDimensions",
                   {"a:ndarray"},
                   Words().u64(0xDD5E40F096B4A13F).u64(0).u64(1).i32(-1).u32(0),
                   24,
                   "a has 4294967295 dimensions, maximum is 64"},
        BadPayload{"ArrayData",
                   {"a:ndarray"},
                   Words().u64(0xDD5E40F096B4A13F).u64(0).u64(1).i32(0).u32(0).i64(-1),
                   40,
                   "a: needs 16.0 EiB (18446744073709551615 bytes), 0 bytes left"},
        BadPayload{"ArgumentTags",
                   {"funcinfo"},
                   Words().str("").u64(1).u32(0).u64(0).u64(2).u32(0).u32(0),
                   28,
                   "kernel has 2 argument tags, expected none or 1"}),
    [](const auto& test) { return test.param.name; });

// The offset at which a container's payload begins is no multiple of anything.
constexpr std::uint64_t payload_at = 0x101;

struct Laid {
  std::string name;
  std::vector<std::string> layout;
  Words bytes;
};

void PrintTo(const Laid& laid, std::ostream* out) { *out << laid.name; }

class LaidPayload : public ::testing::TestWithParam<Laid> {};

TEST_P(LaidPayload, EndsAtItsLastByte) {
  PayloadLayouts layouts;
  layouts.add("key", *parse_payload_layout(GetParam().layout));
  const Words followed = Words(GetParam().bytes).str("_import_tree").u64(0);

  const auto unknown = measure(layouts, "key", ByteReader(followed.bytes(), payload_at), legacy);
  const auto known = measure(layouts, "key", ByteReader(GetParam().bytes.bytes(), payload_at), ffi);

  ASSERT_TRUE(unknown.ok()) << unknown.error().message;
  EXPECT_EQ(unknown->size, GetParam().bytes.size());
  ASSERT_TRUE(known.ok()) << known.error().message;
}

TEST_P(LaidPayload, IsRefusedIfTruncated) {
  PayloadLayouts layouts;
  layouts.add("key", *parse_payload_layout(GetParam().layout));
  for (std::size_t size = 0; size < GetParam().bytes.size(); ++size) {
    const auto cut = measure(layouts, "key", ByteReader(GetParam().bytes.bytes().first(size)), ffi);
    ASSERT_FALSE(cut.ok()) << "accepted the first " << size << " bytes";
    EXPECT_EQ(cut.error().code, Code::malformed);
  }
}

// A layer of the format with which acme_npu stores a chain of dense layers.
Words layer(std::uint16_t rows, std::uint16_t cols) {
  Words words = Words().u16(rows).u16(cols).u32(0x3f800000);
  for (int i = 0; i < rows * cols; ++i) words.u8(7);
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    Each, LaidPayload,
    ::testing::Values(
        Laid{"Numbers",
             {"i8", "i16", "u16be", "u32be", "u64be", "i16be", "i32be", "i64be"},
             Words().u8(0).u16(0).u16(0).u32(0).u64(0).u16(0).u32(0).u64(0)},
        Laid{"ProductOfTwo",
             {"\"ANPU\"(4)", "layers:u16", "layers*{rows:u16, cols:u16, scale:u32, rows*cols*u8}"},
             Words().text("ANPU").u16(2).bytes(layer(3, 2).bytes()).bytes(layer(1, 3).bytes())},
        Laid{"BytesOfAProduct",
             {"rows:u8", "cols:u8", "planes:u8", "bytes(rows*cols*planes*2)"},
             Words().u8(2).u8(1).u8(2).u64(0)},
        Laid{"ProductOfZero",
             {"rows:u64", "cols:u64", "more:u64", "rows*cols*more*u64", "u8"},
             Words().u64(1ull << 40).u64(1ull << 40).u64(0).u8(1)},
        Laid{"ProductOfGroups",
             {"rows:u8", "cols:u8", "rows*cols*{n:u8, n*u16}"},
             Words().u8(1).u8(2).u8(1).u16(0).u8(0)},
        Laid{"LengthsOfEachWidth",
             {"str(u8)", "bytes(u16)", "str(u32)", "bytes(u64)"},
             Words().u8(1).u8(0).u16(1).u8(0).u32(1).u8(0).u64(1).u8(0)},
        Laid{"BigEndianLengths",
             {"str(u16be)", "bytes(u32be)", "str(u64be)"},
             Words().u8(0).u8(1).u8(7).u8(0).u16(0).u8(1).u8(7).u32(0).u16(0).u8(0).u8(1).u8(7)},
        Laid{"ListsOfEachWidth",
             {"vec(u8)<u16>", "map(u16)<str(u8),u8>", "vec(u32)<str(u8)>"},
             Words().u8(1).u16(0).u16(1).u8(1).u8(0).u8(0).u32(2).u8(0).u8(1).u8(0)},
        Laid{"FormatAndTextOfAByte",
             {"format(u8)", "\"0.1\"(u16)"},
             Words().u8(2).text("cl").u16(3).text("0.1")},
        Laid{"SizedOfAWord", {"sized(u32)<{u8, u16}>"}, Words().u32(3).u8(0).u16(0)},
        Laid{"SizeWithItsHeader", {"sized(u32-4)<{u8, u16}>"}, Words().u32(7).u8(0).u16(0)},
        Laid{"SizeOfAllAtTheFront",
             {"size:u32", "kind:u32", "bytes(size-8)"},
             Words().u32(13).u32(1).text("image")},
        Laid{"SizeWithoutItsTrailer", {"bytes(u32+4)"}, Words().u32(2).u16(0).u32(0)},
        Laid{"RowPointers", {"n:u8", "vec(n+1)<u32>", "n*u8"}, Words().u8(1).u32(0).u32(1).u8(0)},
        Laid{"FixedText", {"str(8)", "u8"}, Words().text("acme").u32(0).u8(1)},
        Laid{"FixedCount", {"3*{u8, u16}", "vec(2)<str(u8)>"}, Words().u64(0).u8(0).u8(0).u8(0)},
        Laid{"TextsToAZeroByte", {"cstr", "cstr"}, Words().text("acme").u8(0).u8(0)},
        Laid{"PaddingOfAFixedSize", {"u8", "bytes(3)", "u32"}, Words().u8(0).u8(1).u16(2).u32(0)},
        Laid{"AlignmentInTheMiddle", {"u8", "align(4)", "u32"}, Words().u8(0).u8(1).u16(2).u32(0)},
        Laid{"AlignmentWithoutPadding", {"u32", "align(4)", "u8"}, Words().u32(0).u8(0)},
        Laid{"AlignmentAtTheEnd", {"str(u8)", "align(8)"}, Words().u8(3).text("abc").u32(0)},
        Laid{"AlignmentInItems",
             {"n:u8", "n*{str(u8), align(4)}"},
             Words().u8(2).u8(1).u8(7).u8(0).u8(2).u8(7).u8(7).u8(0)},
        Laid{"AlignmentInASizedField",
             {"u16", "sized(u16)<{u8, align(8), u8}>"},
             Words().u16(0).u16(5).u8(0).u8(0).u16(0).u8(1)},
        Laid{"Presence",
             {"has_bias:u8", "has_bias*{n:u8, n*u8}", "u8"},
             Words().u8(1).u8(2).u16(0).u8(9)},
        Laid{"Absence", {"has_bias:u8", "has_bias*{n:u8, n*u8}", "u8"}, Words().u8(0).u8(9)}),
    [](const auto& test) { return test.param.name; });

// Items without bytes are not walked one by one: these tests would not end.
class ItemsWithoutBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(ItemsWithoutBytes, AreCountedInOneStep) {
  PayloadLayouts layouts;
  layouts.add("key",
              *parse_payload_layout(std::vector<std::string>{"n:u64", "huge:u64", GetParam()}));
  const Words bytes = Words().u64(0).u64(~0ull);

  const auto measured = measure(layouts, "key", ByteReader(bytes.bytes()), ffi);

  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->size, 16u);
}

INSTANTIATE_TEST_SUITE_P(Each, ItemsWithoutBytes,
                         ::testing::Values("huge*n*u8", "vec(huge)<n*u8>", "vec(huge)<bytes(n)>",
                                           "huge*vec(huge)<str(n)>", "huge*{n*u8, align(8)}",
                                           "map(huge)<str(n), huge*n*u16>", "huge*align(16)",
                                           "huge*sized(n)<n*u8>"));

TEST(Payload, HasItemsOfWhichOnlyTheFirstHasBytes) {
  PayloadLayouts layouts;
  layouts.add("key",
              *parse_payload_layout(std::vector<std::string>{"n:u64", "u8", "n*align(4)", "u8"}));
  const Words bytes = Words().u64(~0ull).u8(1).u8(0).u16(0).u8(1);

  const auto measured = measure(layouts, "key", ByteReader(bytes.bytes()), ffi);

  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->size, bytes.size());
}

TEST(Payload, IsNotFoundForAnUnknownKey) {
  const Words bytes = Words().u64(0);

  const auto measured =
      measure(PayloadLayouts::built_in(), "acme.npu", ByteReader(bytes.bytes()), legacy);

  ASSERT_FALSE(measured.ok());
  EXPECT_EQ(measured.error().code, Code::not_found);
  EXPECT_EQ(measured.error().message, "payload layout of \"acme.npu\" not found");
}

// `rest` requires a known end, which layout one does not have.
TEST(Payload, IsNotFoundInLayoutOneIfItEndsWithRest) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"str", "rest"}));
  const Words bytes = Words().str("a").u64(0);

  EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), legacy).error().code,
            Code::not_found);
  EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), ffi)->size, bytes.size());
}

// A number inside a group is no count behind it.
TEST(Payload, CountsByTheNumberOfItsOwnGroup) {
  for (const char* const group : {"{n:u8}", "sized<{n:u8}>", "vec<{n:u8}>", "map<u8,{n:u8}>"}) {
    PayloadLayouts layouts;
    layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"n:u8", group, "n*u8"}));
    Words bytes = Words().u8(2);
    if (std::string_view(group) != "{n:u8}") bytes.u64(1);
    if (std::string_view(group).starts_with("map")) bytes.u8(7);
    bytes.u8(9).u8(1).u8(2);
    const std::size_t size = bytes.size();
    for (int i = 0; i < 20; ++i) bytes.u8(0);

    const auto measured = measure(layouts, "acme.npu", ByteReader(bytes.bytes()), legacy);

    ASSERT_TRUE(measured.ok()) << group << ": " << measured.error().message;
    EXPECT_EQ(measured->size, size) << group;
  }
}

TEST(Payload, UsesTheLayoutOfAVendor) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"str", "bytes"}));
  const Words bytes = Words().str("v2").str("image").str("_lib");

  EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), legacy)->size, 8u + 2 + 8 + 5);
}

// One text or two, in both orders of the alternatives.
class Alternatives : public ::testing::TestWithParam<bool> {
 protected:
  std::uint64_t size_of(const Words& bytes) const {
    PayloadLayouts layouts;
    for (const bool is_long : {GetParam(), !GetParam()}) {
      layouts.add("acme.npu", *parse_payload_layout(is_long ? std::vector<std::string>{"str", "str"}
                                                            : std::vector<std::string>{"str"}));
    }
    const auto measured = measure(layouts, "acme.npu", ByteReader(bytes.bytes()), legacy);
    EXPECT_EQ(measured->argument_tags, Tags::no) << "the first of equal ones";
    return measured->size;
  }
};

TEST_P(Alternatives, MeasureThePayloadUpToAKnownKey) {
  for (const std::string_view key : {"_lib", "_import_tree", "acme.npu"}) {
    EXPECT_EQ(size_of(Words().str("one").str(key).str("three")), 11u) << key;
  }
}

TEST_P(Alternatives, MeasureTheLongerPayloadBeforeUnknownKeys) {
  EXPECT_EQ(size_of(Words().str("one").str("two").str("three")), 22u);
}

INSTANTIATE_TEST_SUITE_P(LongFirst, Alternatives, ::testing::Bool());

TEST(Payload, ReportsTheFirstOfTwoErrorsAtOneOffset) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"first:u64"}));
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"second:u64"}));
  const Words bytes = Words().u8(0);

  EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), ffi).error().message,
            "first: needs 8 bytes, 1 bytes left");
}

TEST(Payload, ReportsTheErrorAtTheLargestOffset) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"first:u64"}));
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"u8", "second:u64"}));
  const Words bytes = Words().u8(0);

  EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), ffi).error().message,
            "second: needs 8 bytes, 0 bytes left");
}

TEST(Payload, MayContainAnArrayOfTheMaximumRank) {
  PayloadLayouts layouts;
  layouts.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"a:ndarray"}));
  for (const int rank : {64, 65}) {
    const Words bytes = test::array(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
    EXPECT_EQ(measure(layouts, "acme.npu", ByteReader(bytes.bytes()), ffi).ok(), rank == 64);
  }
}

TEST(TypeKey, HasOneTo256PrintableCharacters) {
  for (const std::string& key : {std::string(" "), std::string("~"), std::string(256, 'k')}) {
    EXPECT_TRUE(is_type_key(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("\x1f"), std::string("\x7f"), std::string(257, 'k')}) {
    EXPECT_FALSE(is_type_key(key)) << key;
  }
  EXPECT_THAT(type_key_error(std::string(256, '\x01'), 0, 0).error().message,
              ::testing::HasSubstr("expected printable ASCII"));
}

}  // namespace
}  // namespace gantry
