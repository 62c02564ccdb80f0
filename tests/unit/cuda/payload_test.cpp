// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/payload.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/cuda/images.hpp"

#include <gantry/abi_boundary.hpp>

#include <gtest/gtest.h>

namespace gantry::cuda::test {
namespace {

using gantry::test::FakeHost;

struct Fields {
  std::string format = "ptx";
  std::vector<std::string_view> tags = {"blockIdx.x", "threadIdx.x"};
  std::uint8_t second_parameter_bits = 32;
  Bytes code = text_bytes(ptx_text());
  bool with_argument_tags = false;
};

// A payload of one kernel with a handle and an int32.
Bytes payload(const Fields& fields = {}) {
  Words words;
  words.str(fields.format).u64(1).str("axpy2_kernel0").str("");
  words.u64(2).u8(3).u8(64).u16(1).u8(0).u8(fields.second_parameter_bits).u16(1);
  words.strs(fields.tags);
  if (fields.with_argument_tags) words.u64(2).i32(1).i32(0);
  words.u64(fields.code.size()).bytes(fields.code);
  return bytes_of_words(words);
}

class Payloads : public ::testing::Test {
 protected:
  Result<Payload> read(const Bytes& bytes, std::int32_t generation = 3, bool is_exact = true) {
    return gantry::test::read_whole(gantry::test::payload_blob(bytes, generation, is_exact, pin),
                                    read_payload, &consumed);
  }
  ~Payloads() override { host.release(pin); }

  FakeHost host;
  gantry_object* pin = host.new_pin();
  std::uint64_t consumed = 0;
};

TEST_F(Payloads, RetainTheirPin) {
  const Bytes bytes = payload();

  {
    const Result<Payload> read_back = read(bytes);

    ASSERT_TRUE(read_back.ok()) << read_back.error().message;
    EXPECT_EQ(consumed, bytes.size());
    EXPECT_EQ(read_back->kernels.kernels()[0].name, "axpy2_kernel0");
    EXPECT_EQ(read_back->calls[0].argument_count(), 4u);
    EXPECT_EQ(read_back->image.text(), "PTX 8.4 for sm_75");
    EXPECT_EQ(host.references(pin), 2);
  }
  EXPECT_EQ(host.references(pin), 1);
}

TEST_F(Payloads, AreWrittenAsTheyWereRead) {
  const Fields forms[] = {{.format = "cubin", .code = fatbin({{}})},
                          {.with_argument_tags = true},
                          // The NUL after source is none of its text.
                          {.format = "cuda", .code = text_bytes(std::string("void f() {}\0", 12))}};
  for (const Fields& fields : forms) {
    const Bytes bytes = payload(fields);
    Bytes longer = bytes;
    longer.push_back(0x55);
    gantry::test::MemorySink sink;

    const Result<Payload> read_back = read(longer, fields.with_argument_tags ? 5 : 3, false);
    ASSERT_TRUE(read_back.ok()) << read_back.error().message;
    ASSERT_TRUE(write_payload(*read_back, Sink(*sink.raw())).ok());

    EXPECT_EQ(sink.bytes, bytes);
  }
}

TEST_F(Payloads, DetectTheFormatByTheBytes) {
  const Bytes bytes = payload({.format = "cubin", .code = fatbin({{}})});

  const Result<Payload> read_back = read(bytes);

  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_EQ(read_back->image.kind, Image::Kind::fatbin);
  EXPECT_EQ(read_back->format, "cubin");
}

TEST_F(Payloads, ContainSourceOrABinaryUnderTheFormatOfSource) {
  const Bytes source = payload({.format = "cuda", .code = text_bytes("/* a */ int x;\0")});
  const Bytes binary = payload({.format = "cuda", .code = cubin()});

  const Result<Payload> of_source = read(source);
  const Result<Payload> of_binary = read(binary);

  ASSERT_TRUE(of_source.ok()) << of_source.error().message;
  EXPECT_TRUE(of_source->is_source());
  EXPECT_EQ(of_source->source, "/* a */ int x;");
  EXPECT_EQ(of_source->text(), "CUDA C++ source");
  ASSERT_TRUE(of_binary.ok()) << of_binary.error().message;
  EXPECT_FALSE(of_binary->is_source());
  EXPECT_EQ(of_binary->text(), "cubin for sm_90");
}

TEST_F(Payloads, OfSourceEndAfterIt) {
  Bytes bytes = payload({.format = "cuda", .code = text_bytes("int x;")});
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 40, 0xee);

  // Without argument tags and without a length.
  const Result<Payload> read_back = read(bytes, -1, false);

  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_EQ(read_back->source, "int x;");
  EXPECT_EQ(consumed, size);
}

TEST_F(Payloads, EndAfterTheirCode) {
  Bytes bytes = payload();
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 40, 0xee);

  const Result<Payload> read_back = read(bytes, 3, false);

  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_EQ(consumed, size);
}

class PayloadsOfAGeneration : public Payloads, public ::testing::WithParamInterface<int> {};
TEST_P(PayloadsOfAGeneration, HaveArgumentTagsOrNot) {
  const bool with_tags = GetParam() / 10 != 0;
  const int generation = GetParam() % 10;

  const Bytes bytes = payload({.with_argument_tags = with_tags});

  const Result<Payload> read_back = read(bytes, generation - 1);

  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_EQ(read_back->calls[0].parameter(0),
            with_tags ? ParameterKind::tensor_map : ParameterKind::pointer);
}
// Tens digit: with the field. Units digit: generation + 1, 0 for an unknown generation.
INSTANTIATE_TEST_SUITE_P(Generations, PayloadsOfAGeneration,
                         ::testing::Values(1, 2, 3, 4, 0, 10, 5, 15, 16));

struct BadPayload {
  std::string name;
  Bytes bytes;
  Code code;
  std::uint64_t offset;
  std::string reason;
  std::string message;
  friend void PrintTo(const BadPayload& bad, std::ostream* out) { *out << bad.name; }
};
class PayloadsRefuse : public Payloads, public ::testing::WithParamInterface<BadPayload> {};
TEST_P(PayloadsRefuse, AWrongField) {
  consumed = 77;
  const Result<Payload> read_back = read(GetParam().bytes);

  ASSERT_FALSE(read_back.ok());
  EXPECT_EQ(read_back.error().code, GetParam().code);
  EXPECT_EQ(read_back.error().message, GetParam().message);
  EXPECT_EQ(read_back.error().offset, GetParam().offset);
  EXPECT_EQ(read_back.error().reason, GetParam().reason);
  EXPECT_EQ(consumed, 77u);
  EXPECT_EQ(host.references(pin), 1);
}
Bytes with_more(Bytes bytes) {
  bytes.push_back(0);
  return bytes;
}
// Offset of the code in payload() with format "ptx" and the default tags.
constexpr std::uint64_t code_at = 11 + 8 + 21 + 8 + 8 + 8 + 8 + 18 + 19 + 8;
INSTANTIATE_TEST_SUITE_P(
    Fields, PayloadsRefuse,
    ::testing::Values(
        BadPayload{"Nothing",
                   {},
                   Code::malformed,
                   0,
                   "BLOB_TRUNCATED",
                   "format: needs 8 bytes, 0 bytes left"},
        BadPayload{"FormatMissing", payload({.format = ""}), Code::malformed, 0, "BLOB_FORMAT",
                   "format is \"\", expected 1 to 16 printable characters"},
        BadPayload{"FormatUnprintable", payload({.format = "pt\xc7"}), Code::malformed, 0,
                   "BLOB_FORMAT", "format is \"pt\\xc7\", expected 1 to 16 printable characters"},
        BadPayload{"FormatTooLong", payload({.format = "ptxptxptxptxptxpt"}), Code::malformed, 0,
                   "BLOB_FORMAT",
                   "format is \"ptxptxptxptxptxpt\", expected 1 to 16 printable characters"},
        BadPayload{"SourceEmpty", payload({.format = "cuda", .code = text_bytes("")}),
                   Code::malformed, code_at + 1, "BLOB_FORMAT", "CUDA C++ source is empty"},
        BadPayload{"SourceWithANul",
                   payload({.format = "cuda", .code = text_bytes(std::string("ab\0c\0", 5))}),
                   Code::malformed, code_at + 3, "BLOB_FORMAT",
                   "CUDA C++ source contains a NUL at 2 of 4 bytes, expected text"},
        BadPayload{"ByteBehind", with_more(payload({.code = text_bytes(ptx_text())})),
                   Code::malformed, payload().size(), "BLOB_TRAILING",
                   "payload has 1 bytes after its last field, expected none"},
        BadPayload{"Code", payload({.code = text_bytes("MZ..")}), Code::malformed, code_at,
                   "BLOB_FORMAT",
                   "code of 4 bytes begins with \"MZ..\", expected PTX text, a cubin "
                   "(\"\\x7fELF\") or a fatbin (\"P\\xedU\\xba\")"},
        BadPayload{"LaunchTag", payload({.tags = {"blockIdx.w"}}), Code::unsupported, no_offset,
                   "LAUNCH_TAG", "kernel \"axpy2_kernel0\": launch tag \"blockIdx.w\" is unknown"},
        BadPayload{"ParameterType", payload({.second_parameter_bits = 16}), Code::unsupported,
                   no_offset, "PARAMETER_TYPE",
                   "kernel \"axpy2_kernel0\": parameter 1 has type int16, kernels accept handle, "
                   "int32, int64, uint32, float32 and float64"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Payloads, KeepTheBytesThatTheyRead) {
  for (const bool with_tags : {false, true}) {
    const Bytes bytes = payload({.code = cubin(), .with_argument_tags = with_tags});
    const Result<Payload> read_back = read(bytes, with_tags ? 5 : 3);
    ASSERT_TRUE(read_back.ok()) << read_back.error().message;

    EXPECT_EQ(read_back->kept.bytes.data(), bytes.data());
    EXPECT_EQ(read_back->kept.bytes.size(), bytes.size());
  }
}

TEST_F(Payloads, RejectEveryTruncation) {
  const Bytes whole = payload({.code = cubin()});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).ok())
        << "accepted the first " << size << " bytes";
  }
}

}  // namespace
}  // namespace gantry::cuda::test
