// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_bytes.hpp"

#include "core/base/text.hpp"

#include <gantry/utf8.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

// What precedes the content.
struct [[gnu::packed]] Head {
  std::uint8_t form;
  std::uint16_t line, column, offset;
  std::uint16_t size;
};
constexpr std::uint8_t quoted_bit = 0x80;

void add_head(YamlKind kind, bool quoted, const YamlLocation& at, std::size_t size,
              std::string& bytes) {
  const Head head{static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) |
                                            (quoted ? quoted_bit : std::uint8_t{0})),
                  static_cast<std::uint16_t>(at.line), static_cast<std::uint16_t>(at.column),
                  static_cast<std::uint16_t>(at.offset), static_cast<std::uint16_t>(size)};
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
}

// The recursion depth is the nesting depth, which parse_yaml limits.
void add_value(const YamlValue& value, std::string& bytes) {
  const std::size_t size = value.text.size() + value.items.size() + value.entries.size();
  add_head(value.kind, value.quoted, value.location, size, bytes);
  bytes += value.text;
  for (const YamlValue& item : value.items) add_value(item, bytes);
  for (const YamlEntry& entry : value.entries) {
    add_head(YamlKind::scalar, false, entry.location, entry.key.size(), bytes);
    bytes += entry.key;
    add_value(entry.value, bytes);
  }
}

class ValueReader {
 public:
  ValueReader(ByteReader& in, const YamlLimits& limits) : in_(in), limits_(limits) {}

  // depth    [in]   of the lists and maps that contain the value
  Status read(YamlValue& value, std::size_t depth) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const Head head, in_.read_record<Head>("value"));
    const std::uint8_t kind = head.form & static_cast<std::uint8_t>(~quoted_bit);
    if (kind > static_cast<std::uint8_t>(YamlKind::map))
      return malformed(at, "kind of a value is ", kind, ", maximum is ",
                       static_cast<std::uint8_t>(YamlKind::map));
    value.kind = static_cast<YamlKind>(kind);
    value.quoted = (head.form & quoted_bit) != 0;
    value.location = location_of(head);
    // A member of a packed structure cannot be referred to.
    const std::size_t size = head.size;
    if (value.quoted && value.kind != YamlKind::scalar)
      return malformed(at, "value of kind ", kind, " is quoted");
    switch (value.kind) {
      case YamlKind::nothing:
        if (size == 0) return {};
        return malformed(at, "size of nothing is ", size);
      case YamlKind::scalar:
        return read_text(head, value.text);
      case YamlKind::list:
      case YamlKind::map:
        break;
    }
    if (depth >= limits_.depth)
      return malformed(at, "nesting depth ", depth + 1, ", limit is ", limits_.depth);
    const std::uint64_t room =
        in_.left() / (value.kind == YamlKind::map ? 2 * sizeof head : sizeof head);
    if (size > room) return malformed(at, "size is ", size, ", room for ", room);
    return value.kind == YamlKind::map ? read_entries(size, depth + 1, value.entries)
                                       : read_items(size, depth + 1, value.items);
  }

 private:
  static YamlLocation location_of(const Head& head) {
    return {head.line, head.column, head.offset};
  }

  Status read_text(const Head& head, std::string& text) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const auto bytes, in_.read_bytes(head.size, "text"));
    text = as_text(bytes);
    std::uint8_t all = 0;
    for (const std::uint8_t byte : bytes) all |= byte;
    if (all < 0x80 || is_utf8(text)) return {};
    return malformed(at, "text is not UTF-8");
  }

  Status read_items(std::size_t count, std::size_t depth, std::vector<YamlValue>& items) {
    items.resize(count);
    for (YamlValue& item : items) GANTRY_CHECK(read(item, depth));
    return {};
  }

  Status read_entries(std::size_t count, std::size_t depth, std::vector<YamlEntry>& entries) {
    const std::uint64_t begin = in_.offset();
    entries.resize(count);
    for (YamlEntry& entry : entries) {
      const std::uint64_t at = in_.offset();
      GANTRY_TRY(const Head head, in_.read_record<Head>("key"));
      if (head.form != static_cast<std::uint8_t>(YamlKind::scalar))
        return malformed(at, "kind of a key is ", head.form, ", expected ",
                         static_cast<std::uint8_t>(YamlKind::scalar));
      entry.location = location_of(head);
      GANTRY_CHECK(read_text(head, entry.key));
      GANTRY_CHECK(read(entry.value, depth));
    }
    if (count < 2) return {};
    std::vector<std::string_view> keys(entries.size());
    std::ranges::transform(entries, keys.begin(), &YamlEntry::key);
    std::ranges::sort(keys);
    if (std::ranges::adjacent_find(keys) == keys.end()) return {};
    return malformed(begin, "key of a map is repeated");
  }

  ByteReader& in_;
  const YamlLimits limits_;
};

}  // namespace

std::string yaml_bytes(const YamlValue& value) {
  std::string bytes;
  add_value(value, bytes);
  return bytes;
}

Result<YamlValue> read_yaml_bytes(ByteReader& in, const YamlLimits& limits) {
  YamlValue value;
  GANTRY_CHECK(ValueReader(in, limits).read(value, 0));
  return value;
}

}  // namespace gantry
