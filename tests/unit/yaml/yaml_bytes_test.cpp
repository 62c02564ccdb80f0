// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_bytes.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view all_kinds =
    "# a comment\nplain: a\nquoted: \"\\u00e9 1\"\nnothing:\nlist: [1, '2', [], {}, ~]\n"
    "map: {k: {deep: [x]}, \xc3\xa9: y}\nblock: |\n  b\n";

YamlValue parsed(std::string_view text) { return parse_yaml(text, "a.yaml").value().root; }

Result<YamlValue> read(std::string_view bytes, const YamlLimits& limits = {}) {
  ByteReader in = ByteReader::of_text(bytes);
  return read_yaml_bytes(in, limits);
}

// Returns why the bytes are refused; empty: they are not.
std::string refusal(std::string_view bytes, const YamlLimits& limits = {}) {
  const auto value = read(bytes, limits);
  if (value.ok()) return "";
  EXPECT_EQ(value.error().code, Code::malformed);
  EXPECT_LE(value.error().offset, bytes.size());
  return value.error().message.text();
}

void expect_equal(const YamlValue& a, const YamlValue& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.location.line, b.location.line);
  EXPECT_EQ(a.location.column, b.location.column);
  EXPECT_EQ(a.location.offset, b.location.offset);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.quoted, b.quoted);
  ASSERT_EQ(a.items.size(), b.items.size());
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) expect_equal(a.items[i], b.items[i]);
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].key, b.entries[i].key);
    EXPECT_EQ(a.entries[i].location.line, b.entries[i].location.line);
    EXPECT_EQ(a.entries[i].location.column, b.entries[i].location.column);
    EXPECT_EQ(a.entries[i].location.offset, b.entries[i].location.offset);
    expect_equal(a.entries[i].value, b.entries[i].value);
  }
}

// A new member must be written and compared, too.
TEST(YamlBytes, HaveAllMembersOfAValue) {
  auto [kind, location, text, quoted, items, entries] = YamlValue();
  auto [line, column, offset] = YamlLocation();
  auto [key, key_location, value] = YamlEntry();

  EXPECT_EQ(kind, value.kind);
  EXPECT_EQ(line + column + offset, 2u);
}

TEST(YamlBytes, AreReadAsTheyAreWritten) {
  const YamlValue value = parsed(all_kinds);
  const std::string bytes = yaml_bytes(value);
  ByteReader in = ByteReader::of_text(bytes);

  const auto again = read_yaml_bytes(in);

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(in.at_end());
  expect_equal(*again, value);
  expect_equal(*read(yaml_bytes(parsed(""))), parsed(""));
}

TEST(YamlBytes, HaveAllNumbersOfTheLongestText) {
  const std::string long_line(max_yaml_text - 1, 'x'), lines(max_yaml_text - 1, '\n');
  for (const std::string& text :
       {long_line + "\n", lines + "x", "a: '" + long_line.substr(6) + "'"}) {
    ASSERT_LE(text.size(), max_yaml_text);
    const YamlValue value = parsed(text);
    expect_equal(*read(yaml_bytes(value)), value);
  }
}

TEST(YamlBytes, RefuseEveryTruncation) {
  const std::string bytes = yaml_bytes(parsed(all_kinds));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal(std::string_view(bytes).substr(0, size)), "")
        << "accepted the first " << size << " bytes";
  }
}

// The bytes of a value: kind, location, size, content.
std::string bytes_of_value(std::uint8_t form, std::uint16_t size, std::string_view content = {}) {
  std::string bytes(1, static_cast<char>(form));
  bytes.append(6, '\1');
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes.append(content);
}
constexpr std::uint8_t nothing_form = 0, scalar_form = 1, list_form = 2, map_form = 3,
                       quoted_form = 0x80;

TEST(YamlBytes, AreWrittenAsTheTestsWriteThem) {
  YamlValue value;
  value.kind = YamlKind::scalar;
  value.text = "abc";
  value.quoted = true;
  value.location = {0x0101, 0x0101, 0x0101};

  EXPECT_EQ(yaml_bytes(value), bytes_of_value(scalar_form | quoted_form, 3, "abc"));
  EXPECT_EQ(refusal(bytes_of_value(scalar_form | quoted_form, 3, "abc")), "");
}

TEST(YamlBytes, RefuseWhatNoTextHas) {
  const std::string key = bytes_of_value(scalar_form, 1, "k"),
                    none = bytes_of_value(nothing_form, 0);

  EXPECT_EQ(refusal(bytes_of_value(4, 0)), "kind of a value is 4, maximum is 3");
  EXPECT_EQ(refusal(bytes_of_value(list_form | quoted_form, 0)), "value of kind 2 is quoted");
  EXPECT_EQ(refusal(bytes_of_value(nothing_form, 1)), "size of nothing is 1");
  EXPECT_THAT(refusal(bytes_of_value(scalar_form, 3, "ab")),
              HasSubstr("text: needs 3 bytes, 2 bytes left"));
  EXPECT_EQ(refusal(bytes_of_value(scalar_form, 2, "a\xff")), "text is not UTF-8");
  EXPECT_EQ(refusal(bytes_of_value(list_form, 2, none)), "size is 2, room for 1");
  EXPECT_EQ(refusal(bytes_of_value(list_form, 0xffff, none)), "size is 65535, room for 1");
  EXPECT_EQ(refusal(bytes_of_value(map_form, 2, none + none)), "size is 2, room for 1");
  EXPECT_EQ(refusal(bytes_of_value(map_form, 1,
                                   bytes_of_value(scalar_form | quoted_form, 1, "k") + none)),
            "kind of a key is 129, expected 1");
  EXPECT_EQ(refusal(bytes_of_value(map_form, 1, bytes_of_value(scalar_form, 1, "\xff") + none)),
            "text is not UTF-8");
  EXPECT_EQ(refusal(bytes_of_value(map_form, 2, key + none + key + none)),
            "key of a map is repeated");
}

TEST(YamlBytes, RefuseAValueThatIsTooDeep) {
  std::string bytes = bytes_of_value(list_form, 0);
  for (int depth = 1; depth < 16; ++depth) bytes = bytes_of_value(list_form, 1, bytes);

  EXPECT_EQ(refusal(bytes), "");
  EXPECT_EQ(refusal(bytes_of_value(list_form, 1, bytes)), "nesting depth 17, limit is 16");
  EXPECT_EQ(refusal(bytes_of_value(map_form, 1, bytes_of_value(scalar_form, 1, "k") + bytes)),
            "nesting depth 17, limit is 16");
}

}  // namespace
}  // namespace gantry
