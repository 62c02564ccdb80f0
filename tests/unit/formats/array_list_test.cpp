// SPDX-License-Identifier: Apache-2.0
#include "core/formats/array_list.hpp"

#include "tests/support/memory_sink.hpp"
#include "tests/support/words.hpp"

#include <gantry/dmlc_stream.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::Words;

// A record with values that no compiler writes: a reserved word and a device.
Words record(std::uint8_t value) {
  return Words()
      .u64(array_record_magic)
      .u64(5)
      .i32(1)
      .i32(3)
      .i32(1)
      .u8(1)
      .u8(8)
      .u16(1)
      .i64(1)
      .i64(1)
      .u8(value);
}

// Two arrays of the name "a", and a filler between them, in the form of a key.
Words list_of(const ArrayListForm& form) {
  Words all;
  if (form.has_graph) all.str("{ }");
  if (form.has_count_first) all.u64(3);
  all.strs({"a", "__gantry_fill_7", "a"});
  if (!form.has_count_first) all.u64(3);
  for (const std::uint8_t value : {1, 2, 3}) all.bytes(record(value).bytes());
  if (!form.has_users) return all.str("model");
  return all.strs({"f", "g"}).u64(2).strs({"a"}).strs({});
}

TEST(ArrayList, IsWrittenAsItWasRead) {
  for (const std::string_view key : {"GraphExecutorFactory", "GraphRuntimeFactory",
                                     "AotExecutorFactory", "const_loader", "metadata"}) {
    const ArrayListForm& form = *array_list_form(key);
    const Words payload = list_of(form);
    const Words longer = Words().bytes(payload.bytes()).u8(9);
    ByteReader in(longer.bytes());
    test::MemorySink sink;
    SinkStream out(sink.raw());

    const Result<ArrayList> list = read_array_list(in, form);
    ASSERT_TRUE(list.ok()) << list.error().message;
    write_array_list(out, form, *list);

    EXPECT_EQ(in.offset(), payload.size()) << key;
    EXPECT_THAT(sink.bytes, ::testing::ElementsAreArray(payload.bytes())) << key;
  }
}

TEST(ArrayList, IsRefusedAtEveryTruncation) {
  for (const std::string_view key : {"GraphExecutorFactory", "const_loader"}) {
    const ArrayListForm& form = *array_list_form(key);
    const Words payload = list_of(form);
    for (std::size_t size = 0; size < payload.size(); ++size) {
      ByteReader in(payload.bytes().first(size));
      const Result<ArrayList> list = read_array_list(in, form);
      ASSERT_FALSE(list.ok()) << key << size;
      EXPECT_EQ(list.error().code, Code::malformed) << key << size;
    }
  }
}

TEST(ArrayList, IsOfNoOtherKey) { EXPECT_EQ(array_list_form("cuda"), nullptr); }

}  // namespace
}  // namespace gantry
