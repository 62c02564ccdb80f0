// SPDX-License-Identifier: Apache-2.0
#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/kernel_table.hpp>

#include <dmlc/memory_io.h>
#include <dmlc/serializer.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

// A loader in the style of compilers' runtimes: a class that loads itself from a dmlc::Stream.
namespace vendor {

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  void Save(dmlc::Stream* strm) const {
    strm->Write(code);
    strm->Write(bits);
    strm->Write(lanes);
  }
  bool Load(dmlc::Stream* strm) {
    return strm->Read(&code) && strm->Read(&bits) && strm->Read(&lanes);
  }
};

struct FunctionInfo {
  std::string name;
  std::vector<DataType> arg_types;
  std::vector<std::string> launch_tags;
  void Save(dmlc::Stream* strm) const {
    strm->Write(name);
    strm->Write(arg_types);
    strm->Write(launch_tags);
  }
  bool Load(dmlc::Stream* strm) {
    return strm->Read(&name) && strm->Read(&arg_types) && strm->Read(&launch_tags);
  }
};

}  // namespace vendor

namespace dmlc {
DMLC_DECLARE_TRAITS(has_saveload, ::vendor::DataType, true);
DMLC_DECLARE_TRAITS(has_saveload, ::vendor::FunctionInfo, true);
}  // namespace dmlc

namespace vendor {

struct Payload {
  std::string fmt;
  std::unordered_map<std::string, FunctionInfo> fmap;
  std::string data;
};

Payload loadbinary(dmlc::Stream* strm) {
  Payload payload;
  CHECK(strm->Read(&payload.fmt)) << "no format";
  CHECK(strm->Read(&payload.fmap)) << "no functions";
  CHECK(strm->Read(&payload.data)) << "no data";
  return payload;
}

// A loader that ignores the results of Read.
std::string careless_loadbinary(dmlc::Stream* strm) {
  std::string data;
  strm->Read(&data);
  return data;
}

}  // namespace vendor

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Words small_payload() {
  return Words()
      .str("ptx")
      .u64(1)
      .str("add")
      .str("")
      .u64(1)
      .u8(3)
      .u8(64)
      .u16(1)
      .strs({"blockIdx.x"})
      .str("code");
}

std::span<const std::uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The cuda payload of a real artifact, followed by the rest of the file.
std::vector<std::uint8_t> golden_payload() {
  const std::vector<std::uint8_t> file =
      test::read_file(test::golden("tvm-0.12/axpy2_cuda_ptx75.so"));
  const Words start = Words().str("cuda").str("ptx");
  const auto found =
      std::search(file.begin(), file.end(), start.bytes().begin(), start.bytes().end());
  EXPECT_NE(found, file.end());
  return {found + 12, file.end()};
}

TEST(PayloadStream, RunsAnExistingLoaderOverARealPayload) {
  const std::vector<std::uint8_t> payload = golden_payload();
  std::uint64_t consumed = 0;

  const Result<vendor::Payload> loaded = read_with_dmlc(payload, consumed, vendor::loadbinary);

  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->fmt, "ptx");
  ASSERT_EQ(loaded->fmap.size(), 1u);
  EXPECT_THAT(loaded->fmap.begin()->first, HasSubstr("axpy2"));
  EXPECT_THAT(loaded->data, HasSubstr(".version"));
  ByteReader behind(std::span<const std::uint8_t>(payload).subspan(consumed));
  EXPECT_EQ(behind.read_string("next key").value(), "_import_tree");
}

// dmlc-core and the SDK's reader read the same content from a payload.
TEST(PayloadStream, AgreesWithTheKernelTable) {
  const std::vector<std::uint8_t> payload = golden_payload();
  std::uint64_t consumed = 0;
  const vendor::Payload loaded = read_with_dmlc(payload, consumed, vendor::loadbinary).value();
  ByteReader in(payload);
  ASSERT_EQ(in.read_string("format").value(), "ptx");

  const KernelTable table =
      read_kernel_table(in, ArgumentTags::no, [](ByteReader&) { return Status(); }).value();

  ASSERT_EQ(table.size(), loaded.fmap.size());
  for (const KernelInfo& kernel : table.kernels()) {
    const auto found = loaded.fmap.find(kernel.name);
    ASSERT_NE(found, loaded.fmap.end());
    EXPECT_EQ(kernel.launch_tags, found->second.launch_tags);
    ASSERT_EQ(kernel.parameters.size(), found->second.arg_types.size());
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      EXPECT_EQ(kernel.parameters[i].code, found->second.arg_types[i].code);
      EXPECT_EQ(kernel.parameters[i].bits, found->second.arg_types[i].bits);
    }
  }
  EXPECT_EQ(in.read_string("data").value(), loaded.data);
  EXPECT_EQ(in.offset(), consumed);
}

TEST(PayloadStream, RefusesEveryTruncationWithoutMovingTheResult) {
  const Words whole = small_payload();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::uint64_t consumed = 77;
    const auto loaded = read_with_dmlc(whole.bytes().first(size), consumed, vendor::loadbinary);
    ASSERT_FALSE(loaded.ok()) << "accepted the first " << size << " bytes";
    EXPECT_EQ(loaded.error().code, Code::malformed);
    EXPECT_EQ(loaded.error().reason, "BLOB_TRUNCATED");
    EXPECT_EQ(consumed, 77u);
  }
}

TEST(PayloadStream, DetectsAShortReadThatTheLoaderIgnores) {
  const Words words = Words().u64(9).text("abc");
  std::uint64_t consumed = 0;

  const auto loaded = read_with_dmlc(words.bytes(), consumed, vendor::careless_loadbinary);

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().offset, 8u);
  EXPECT_EQ(loaded.error().message, "payload: needs 9 bytes, 3 bytes left");
}

TEST(PayloadStream, ConvertsAFailedCheckToAnError) {
  const Words words = Words().u64(1);
  std::uint64_t consumed = 0;

  const Status loaded = read_with_dmlc(words.bytes(), consumed, [](dmlc::Stream* strm) {
    std::uint64_t version = 0;
    CHECK(strm->Read(&version));
    CHECK_EQ(version, 2u) << "unknown version";
  });

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::malformed);
  EXPECT_EQ(loaded.error().reason, "DMLC_CHECK");
  EXPECT_EQ(loaded.error().offset, 8u);
  EXPECT_THAT(loaded.error().message, HasSubstr("unknown version"));
}

TEST(PayloadStream, ReportsALengthThatExceedsTheMemory) {
  const Words words = Words().u64(UINT64_MAX);
  std::uint64_t consumed = 0;

  const auto loaded = read_with_dmlc(words.bytes(), consumed, vendor::careless_loadbinary);

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().reason, "BLOB_LENGTH");
  EXPECT_EQ(loaded.error().offset, 8u);
  EXPECT_EQ(loaded.error().message, "payload: a length before this offset exceeds the memory");
}

TEST(PayloadStream, SeeksWithinItsBytes) {
  const Words words = Words().u32(1).u32(2);
  PayloadStream stream(words.bytes());
  std::uint32_t number = 0;

  stream.Seek(4);
  EXPECT_TRUE(stream.Read(&number));
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(stream.Tell(), 8u);
  stream.Seek(8);
  EXPECT_FALSE(stream.Read(&number));
  EXPECT_EQ(stream.status().error().offset, 8u);
}

TEST(PayloadStream, RefusesASeekPastItsBytesAndAnyWrite) {
  const Words words = Words().u32(1);
  std::uint64_t consumed = 0;

  const Status sought = read_with_dmlc(words.bytes(), consumed, [](dmlc::Stream* strm) {
    static_cast<dmlc::SeekStream*>(strm)->Seek(5);
  });
  ASSERT_FALSE(sought.ok());
  EXPECT_EQ(sought.error().code, Code::malformed);
  EXPECT_EQ(sought.error().message, "payload: seeks to 5, size is 4");

  const Status written =
      read_with_dmlc(words.bytes(), consumed, [](dmlc::Stream* strm) { strm->Write(1); });
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::bug);
  EXPECT_EQ(written.error().reason, "PAYLOAD_WRITE");
}

// A sink that writes to a string of limited size.
struct StringSink {
  explicit StringSink(std::uint64_t max = UINT64_MAX) : room(max) {
    sink.struct_size = sizeof sink;
    sink.self = this;
    sink.position = 100;
    sink.write = [](void* self, const void* data, std::uint64_t size, gantry_status* status) {
      auto& to = *static_cast<StringSink*>(self);
      if (size > to.room)
        return gantry_fail(status, GANTRY_EXHAUSTED, "DISK_FULL", "no space left");
      to.room -= size;
      to.bytes.append(static_cast<const char*>(data), size);
      return gantry_code{GANTRY_OK};
    };
  }
  gantry_sink sink{};
  std::uint64_t room;
  std::string bytes;
};

TEST(SinkStream, WritesThroughAndCounts) {
  StringSink to;
  SinkStream out(&to.sink);

  out.Write(std::string("ab"));

  EXPECT_EQ(to.bytes, std::string("\2\0\0\0\0\0\0\0ab", 10));
  EXPECT_EQ(out.written(), 10u);
  EXPECT_EQ(out.position(), 110u);
}

TEST(SinkStream, PassesTheErrorOfTheSink) {
  StringSink to(9);
  StatusBuffer status;
  bool went_on = false;

  const gantry_code code = abi_boundary(status.get(), [&]() -> Status {
    SinkStream out(&to.sink);
    out.Write(std::string("ab"));
    went_on = true;
    return {};
  });

  EXPECT_EQ(code, GANTRY_EXHAUSTED);
  EXPECT_EQ(status.error(code, "save").reason, "DISK_FULL");
  EXPECT_EQ(status.error(code, "save").message, "no space left");
  EXPECT_FALSE(went_on);
}

TEST(SinkStream, CannotBeRead) {
  StringSink to;
  StatusBuffer status;

  const gantry_code code = abi_boundary(status.get(), [&]() -> Status {
    SinkStream out(&to.sink);
    int number = 0;
    static_cast<dmlc::Stream&>(out).Read(&number);
    return {};
  });

  EXPECT_EQ(status.error(code, "save").reason, "SINK_READ");
}

TEST(SinkStream, WritesAKernelTableUnchanged) {
  for (const ArgumentTags tags : {ArgumentTags::no, ArgumentTags::yes}) {
    Words words =
        Words().u64(2).str("mul").str("mul").u64(1).u8(3).u8(64).u16(1).strs({"blockIdx.x"});
    if (tags == ArgumentTags::yes) words.u64(1).i32(1);
    words.str("add").str("").u64(0).strs({});
    if (tags == ArgumentTags::yes) words.u64(0);
    ByteReader in(words.bytes());
    const KernelTable table =
        read_kernel_table(in, tags, [](ByteReader&) { return Status(); }).value();
    StringSink to;
    SinkStream out(&to.sink);

    write_kernel_table(out, table);

    EXPECT_TRUE(std::ranges::equal(bytes_in(to.bytes), words.bytes()));
  }
}

// dmlc-core is the reference for every primitive: Words writes the same bytes, and ByteReader reads
// them.
class WireTest : public ::testing::Test {
 protected:
  template <class T>
  ByteReader written(const T& value, const Words& expected) {
    out.Write(value);
    EXPECT_TRUE(std::ranges::equal(bytes_in(to.bytes), expected.bytes()));
    return ByteReader(bytes_in(to.bytes));
  }
  StringSink to;
  SinkStream out{&to.sink};
};

TEST_F(WireTest, U8) {
  EXPECT_EQ(written(std::uint8_t{0xab}, Words().u8(0xab)).read_u8("n").value(), 0xab);
}
TEST_F(WireTest, U16) {
  EXPECT_EQ(written(std::uint16_t{0xabcd}, Words().u16(0xabcd)).read_u16("n").value(), 0xabcd);
}
TEST_F(WireTest, U32) {
  EXPECT_EQ(written(0xabcdef01u, Words().u32(0xabcdef01u)).read_u32("n").value(), 0xabcdef01u);
}
TEST_F(WireTest, I32) { EXPECT_EQ(written(-2, Words().i32(-2)).read_i32("n").value(), -2); }
TEST_F(WireTest, U64) {
  const std::uint64_t number = 0x0123456789abcdef;
  EXPECT_EQ(written(number, Words().u64(number)).read_u64("n").value(), number);
}
TEST_F(WireTest, I64) {
  EXPECT_EQ(written(std::int64_t{INT64_MIN}, Words().i64(INT64_MIN)).read_i64("n").value(),
            INT64_MIN);
}
TEST_F(WireTest, String) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(written(text, Words().str(text)).read_string("s").value(), text);
}
TEST_F(WireTest, EmptyString) {
  EXPECT_EQ(written(std::string(), Words().str("")).read_string("s").value(), "");
}
TEST_F(WireTest, VectorOfU64) {
  const std::vector<std::uint64_t> all = {1, UINT64_MAX, 3};
  EXPECT_EQ(written(all, Words().u64s(all)).read_u64_array("a").value().value, all);
}
TEST_F(WireTest, VectorOfI32) {
  const std::vector<std::int32_t> all = {-1, 7};
  ByteReader in = written(all, Words().u64(2).i32(-1).i32(7));
  EXPECT_THAT(in.read_u32_array("a").value().value, ElementsAre(UINT32_MAX, 7u));
}
TEST_F(WireTest, VectorOfStrings) {
  ByteReader in = written(std::vector<std::string>{"ab", ""}, Words().strs({"ab", ""}));
  EXPECT_EQ(in.read_count(8, "strings").value(), 2u);
  EXPECT_EQ(in.read_string("s").value(), "ab");
  EXPECT_EQ(in.read_string("s").value(), "");
}
TEST_F(WireTest, MapOfStrings) {
  const std::map<std::string, std::uint32_t> all = {{"a", 1}, {"b", 2}};
  ByteReader in = written(all, Words().u64(2).str("a").u32(1).str("b").u32(2));
  EXPECT_EQ(in.read_count(12, "map").value(), 2u);
  EXPECT_EQ(in.read_string("key").value(), "a");
  EXPECT_EQ(in.read_u32("value").value(), 1u);
}
TEST_F(WireTest, PairOfStringAndNumber) {
  ByteReader in = written(std::pair<std::string, std::int64_t>("a", -1), Words().str("a").i64(-1));
  EXPECT_EQ(in.read_string("first").value(), "a");
  EXPECT_EQ(in.read_i64("second").value(), -1);
}

}  // namespace
}  // namespace gantry
