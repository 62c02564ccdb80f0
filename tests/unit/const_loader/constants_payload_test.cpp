// SPDX-License-Identifier: Apache-2.0
#include "plugins/const_loader/payload.hpp"

#include "tests/unit/const_loader/constants.hpp"

#include <gmock/gmock.h>

#include <random>

namespace gantry::const_loader::test {
namespace {

using ::testing::ElementsAre;

Result<Payload> read(const std::vector<std::uint8_t>& bytes, bool is_exact = true) {
  const gantry_blob blob = gantry::test::payload_blob(bytes, 3, is_exact);
  return gantry::test::read_whole(blob, read_payload);
}

TEST(ConstantsPayload, IsReadAsViews) {
  const std::vector<std::uint8_t> bytes = small_payload();

  const Result<Payload> payload = read(bytes);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  ASSERT_EQ(payload->constants.size(), 2u);
  EXPECT_EQ(payload->constants[1].name, "b");
  EXPECT_GE(payload->constants[1].array.data.data(), bytes.data());
  ASSERT_EQ(payload->symbols.size(), 3u);
  EXPECT_THAT(payload->symbols[0].constants, ElementsAre(1, 0));
  EXPECT_EQ(payload->find("main_1"), 1u);
  EXPECT_EQ(payload->find("main"), 3u);
}

TEST(ConstantsPayload, IsRejectedAtEveryTruncation) {
  const std::vector<std::uint8_t> good = small_payload();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<Payload> payload =
        read({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, false);
    ASSERT_FALSE(payload.ok()) << size;
    EXPECT_EQ(payload.error().code, Code::malformed) << size;
  }
}

// Modules of any changed payload are used as those of a good one.
class ChangedConstants : public ConstantModules {};

TEST_F(ChangedConstants, AreSafeToUse) {
  std::mt19937 random(1);
  const std::vector<std::uint8_t> good = small_payload();
  fake.add_function("__init_main_0", [](const gantry_env*, std::span<const gantry_value>,
                                        gantry_value* result, gantry_status*) {
    *result = int_value(0);
    return gantry_code{GANTRY_OK};
  });
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    for (unsigned i = 0; i <= random() % 3; ++i)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const Result<Value> module = load(bytes);
    if (module.ok()) (void)call(*module, "main_0");
  }
}

struct WrongConstants {
  std::string name;
  Words payload;
  std::uint64_t offset;
  std::string message;
  std::string reason = "BLOB_FORMAT";
  friend void PrintTo(const WrongConstants& wrong, std::ostream* out) { *out << wrong.name; }
};

Words one_constant() {
  Words words;
  words.strs({"a"}).u64(1);
  add_floats(words, {1});
  return words;
}
// bytes of one_constant()
constexpr std::uint64_t after_one = 8 + 9 + 8 + 52;

Words no_constant() { return Words().strs({}).u64(0); }

Words twice() {
  Words words;
  words.strs({"a", "b", "a"}).u64(3);
  for (int i = 0; i < 3; ++i) add_floats(words, {1});
  return words.strs({}).u64(0);
}

// float32x2[1] as writers store it that omit the lanes
Words one_of_two_lanes() {
  Words words = Words().strs({"a"}).u64(1);
  words.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(2);
  return words.i64(1).u64(4).u32(0).strs({}).u64(0);
}

class ConstantsPayloadRefuses : public ::testing::TestWithParam<WrongConstants> {};
TEST_P(ConstantsPayloadRefuses, AWrongField) {
  const WrongConstants& wrong = GetParam();
  const auto bytes = wrong.payload.bytes();

  const Result<Payload> payload = read({bytes.begin(), bytes.end()});

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::malformed);
  EXPECT_EQ(payload.error().offset, wrong.offset);
  EXPECT_EQ(payload.error().message, wrong.message);
  EXPECT_EQ(payload.error().reason, wrong.reason);
}
INSTANTIATE_TEST_SUITE_P(
    Fields, ConstantsPayloadRefuses,
    ::testing::Values(
        WrongConstants{"FewerArrays", Words().strs({"a", "b"}).u64(1), 26,
                       "constants are 1, the constant names are 2"},
        WrongConstants{"NoArray", Words().strs({"a"}).u64(1).u64(7), 25,
                       concat("constant 0: magic is 0x7, expected ", Hex{array_record_magic}),
                       "ARRAY_RECORD"},
        WrongConstants{"DataOfOneLane", one_of_two_lanes(), 8 + 9 + 8 + 48,
                       "constant 0 is float32x2[1], which takes 8 bytes, and has 4 bytes"},
        WrongConstants{"ConstantTwice", twice(), 8 + 18, "constant \"a\" is given twice"},
        WrongConstants{"FewerLists", no_constant().strs({"f"}).u64(2), 16 + 17,
                       "lists of constants are 2, the symbols are 1"},
        WrongConstants{"SymbolTwice", no_constant().strs({"f", "f"}).u64(2).strs({}).strs({}),
                       16 + 17, "symbol \"f\" is given twice"},
        WrongConstants{"AbsentConstant", one_constant().strs({"f"}).u64(1).strs({"b"}),
                       after_one + 17 + 8 + 8,
                       "symbol \"f\" uses the constant \"b\", constants are \"a\""},
        WrongConstants{"ConstantOfNone", no_constant().strs({"f"}).u64(1).strs({"b"}),
                       16 + 17 + 8 + 8, "symbol \"f\" uses the constant \"b\", constants are none"},
        WrongConstants{"BytesBehind", no_constant().strs({}).u64(0).u16(1), 32,
                       "payload has 2 bytes after its last field, expected none", "BLOB_TRAILING"}),
    [](const auto& test) { return test.param.name; });

TEST(ConstantsPayload, RefusesASymbolThatUsesAFiller) {
  Words words;
  words.strs({"__gantry_fill_0", "a"}).u64(2);
  add_floats(words, {0});
  add_floats(words, {1});
  words.strs({"f"}).u64(1).strs({"__gantry_fill_0"});

  const Result<Payload> payload = read({words.bytes().begin(), words.bytes().end()});

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().message,
            "symbol \"f\" uses the constant \"__gantry_fill_0\", constants are \"a\"");
}

}  // namespace
}  // namespace gantry::const_loader::test
