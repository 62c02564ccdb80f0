// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

extern "C" gantry_code fail_from_c(gantry_status* status);
extern "C" std::int32_t reaches_find(std::uint32_t struct_size);

namespace {

// A status with a buffer that is followed by a guard byte.
struct Guarded {
  explicit Guarded(std::uint32_t capacity) : buffer(capacity + 1, '#') {
    status.struct_size = sizeof status;
    status.text = buffer.data();
    status.text_capacity = capacity;
  }
  ~Guarded() { EXPECT_EQ(buffer.back(), '#') << "written past the buffer"; }
  std::string buffer;
  gantry_status status{};
};

TEST(Fail, FillsTheStatusFromCAndFromCpp) {
  Guarded from_c(64);
  Guarded from_cpp(64);

  EXPECT_EQ(fail_from_c(&from_c.status), GANTRY_MALFORMED);
  EXPECT_EQ(gantry_fail(&from_cpp.status, GANTRY_MALFORMED, "FROM_C", "text"), GANTRY_MALFORMED);

  for (const gantry_status* status : {&from_c.status, &from_cpp.status}) {
    EXPECT_EQ(status->code, GANTRY_MALFORMED);
    EXPECT_STREQ(status->reason, "FROM_C");
    EXPECT_STREQ(status->text, "text");
    EXPECT_EQ(status->text_size, 4u);
    EXPECT_EQ(status->offset, UINT64_MAX);
  }
}

TEST(Fail, ReplacesAnEarlierFailure) {
  Guarded guarded(64);
  guarded.status.native_code = 7;
  guarded.status.native_domain[0] = 'X';
  gantry_fail(&guarded.status, GANTRY_BUG, "A_LONG_REASON", "a long text");

  gantry_fail(&guarded.status, GANTRY_INVALID, "B", "b");

  EXPECT_STREQ(guarded.status.reason, "B");
  EXPECT_STREQ(guarded.status.text, "b");
  EXPECT_EQ(guarded.status.native_code, 0);
  EXPECT_STREQ(guarded.status.native_domain, "");
}

TEST(Fail, RequiresNeitherStatusNorBuffer) {
  EXPECT_EQ(fail_from_c(nullptr), GANTRY_MALFORMED);
  gantry_status status{};
  EXPECT_EQ(fail_from_c(&status), GANTRY_MALFORMED);
  EXPECT_STREQ(status.reason, "FROM_C");
  EXPECT_EQ(status.text_size, 0u);
}

TEST(Fail, CutsTheReason) {
  gantry_status status{};
  gantry_fail(&status, GANTRY_BUG, "A_REASON_OF_MORE_THAN_THIRTY_ONE_CHARACTERS", "");
  EXPECT_STREQ(status.reason, "A_REASON_OF_MORE_THAN_THIRTY_ON");
}

TEST(StatusAdd, AppendsLines) {
  Guarded guarded(64);
  gantry_fail(&guarded.status, GANTRY_INVALID, "SHAPE", "ndim differs");

  gantry_status_add(&guarded.status, "\n  in node 12");

  EXPECT_STREQ(guarded.status.text, "ndim differs\n  in node 12");
  EXPECT_EQ(guarded.status.text_size, 25u);
}

// "a", e-acute, euro, clef: one, two, three and four bytes.
TEST(StatusAdd, CutsAtACharacterForEveryCapacity) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e";
  const std::size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::uint32_t capacity = 1; capacity <= 11; ++capacity) {
    Guarded guarded(capacity);

    gantry_fail(&guarded.status, GANTRY_INVALID, "X", text.c_str());

    EXPECT_EQ(guarded.status.text_size, whole[capacity - 1]) << "capacity " << capacity;
    EXPECT_EQ(guarded.status.text, text.substr(0, whole[capacity - 1])) << "capacity " << capacity;
  }
}

TEST(Bytes, CompareBySizeAndContent) {
  EXPECT_TRUE(gantry_bytes_equal(gantry_text("ab"), {"abc", 2}));
  EXPECT_FALSE(gantry_bytes_equal(gantry_text("ab"), {"abc", 3}));
  EXPECT_FALSE(gantry_bytes_equal(gantry_text("ab"), gantry_text("ac")));
  EXPECT_TRUE(gantry_bytes_equal(gantry_text(nullptr), {nullptr, 0}));
}

// One object of each kind with a cell after its header, in the host's layout.
TEST(Value, ReadsTheCellAfterTheHeader) {
  struct {
    gantry_object header;
    gantry_tensor tensor;
  } tensor{};
  struct {
    gantry_object header;
    gantry_bytes bytes;
  } string{{}, {"abc", 3}};
  const std::int64_t dims[] = {2, 3};
  struct {
    gantry_object header;
    gantry_shape shape;
  } shape{{}, {dims, 2}};
  gantry_value value{};
  gantry_bytes bytes{};
  gantry_shape read{};

  value.kind = GANTRY_TENSOR;
  value.object = &tensor.header;
  EXPECT_EQ(gantry_value_tensor(&value), &tensor.tensor);
  EXPECT_EQ(gantry_value_bytes(&value, &bytes), 0);
  EXPECT_EQ(gantry_value_shape(&value, &read), 0);

  for (const std::int32_t kind : {GANTRY_STRING, GANTRY_BYTES}) {
    value.kind = kind;
    value.object = &string.header;
    ASSERT_EQ(gantry_value_bytes(&value, &bytes), 1);
    EXPECT_TRUE(gantry_bytes_equal(bytes, gantry_text("abc")));
    EXPECT_EQ(gantry_value_tensor(&value), nullptr);
  }

  value.kind = GANTRY_SHAPE;
  value.object = &shape.header;
  ASSERT_EQ(gantry_value_shape(&value, &read), 1);
  EXPECT_EQ(read.dims, dims);
  EXPECT_EQ(read.count, 2u);
}

TEST(Value, ReadsBorrowedAndSmallForms) {
  gantry_tensor tensor{};
  const gantry_bytes text = {"a\0c", 3};
  gantry_bytes bytes{};
  gantry_value value{};

  value.kind = GANTRY_TENSOR_REF;
  value.tensor = &tensor;
  EXPECT_EQ(gantry_value_tensor(&value), &tensor);

  value.kind = GANTRY_BYTES_REF;
  value.bytes = &text;
  ASSERT_EQ(gantry_value_bytes(&value, &bytes), 1);
  EXPECT_EQ(bytes.size, 3u);

  value.kind = GANTRY_CSTRING;
  value.cstring = "abcd";
  ASSERT_EQ(gantry_value_bytes(&value, &bytes), 1);
  EXPECT_EQ(bytes.size, 4u);

  for (const std::int32_t kind : {GANTRY_SMALL_STRING, GANTRY_SMALL_BYTES}) {
    value = {};
    value.kind = kind;
    value.small_size = 7;
    ASSERT_EQ(gantry_value_bytes(&value, &bytes), 1);
    EXPECT_EQ(bytes.data, value.small);
    EXPECT_EQ(bytes.size, 7u);
  }
}

TEST(Has, ReportsWhetherTheStructContainsAMember) {
  const auto find_ends = static_cast<std::uint32_t>(offsetof(gantry_host, find) + sizeof(void*));
  EXPECT_EQ(reaches_find(sizeof(gantry_host)), 1);
  EXPECT_EQ(reaches_find(find_ends), 1);
  EXPECT_EQ(reaches_find(find_ends - 1), 0);
  EXPECT_EQ(reaches_find(0), 0);
}

}  // namespace
