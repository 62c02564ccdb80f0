// SPDX-License-Identifier: Apache-2.0
//
// Parses and writes the text form of payload layouts. The grammar is in payload_layout.hpp.
#include "core/formats/limits.hpp"
#include "core/formats/payload_layout.hpp"
#include "core/formats/payload_walk.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

using Kind = PayloadField::Kind;

struct Word {
  std::string_view text;
  Kind kind;
};

constexpr Word plain_words[] = {
    {"u8", Kind::u8},
    {"u16", Kind::u16},
    {"u32", Kind::u32},
    {"u64", Kind::u64},
    {"i32", Kind::i32},
    {"i64", Kind::i64},
    {"dtype", Kind::dtype},
    {"dev", Kind::dev},
    {"str", Kind::str},
    {"bytes", Kind::bytes},
    {"format", Kind::format},
    {"ndarray", Kind::ndarray},
    {"funcinfo", Kind::funcinfo},
    {"rest", Kind::rest},
};
constexpr std::string_view known_words =
    "known: u8 u16 u32 u64 i32 i64 dtype dev str bytes format ndarray funcinfo rest \"text\" "
    "vec<T> map<K,V> sized<T> {T, U} label*T";

// size of an array record without dimensions
constexpr std::uint64_t array_header_bytes = 8 + 8 + 8 + 4 + 4 + 8;

bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }
bool counts(Kind kind) {
  return kind == Kind::u8 || kind == Kind::u16 || kind == Kind::u32 || kind == Kind::u64;
}

// Parses the fields of one layout. The recursion depth is the nesting depth of the text, at most
// limits::layout_depth.
class Grammar {
 public:
  explicit Grammar(std::span<const std::string> all) : all_(all) {}

  Result<std::vector<PayloadField>> fields() {
    std::vector<PayloadField> fields;
    for (index_ = 0; index_ < all_.size(); ++index_) {
      left_ = all_[index_];
      GANTRY_TRY(PayloadField field, labelled(0));
      skip_blanks();
      if (!left_.empty()) return refuse(quoted(left_), " follows a complete field");
      if (!fields.empty() && fields.back().kind == Kind::rest) {
        return refuse("nothing can follow rest");
      }
      fields.push_back(std::move(field));
    }
    return fields;
  }

 private:
  template <class... Parts>
  Failure refuse(const Parts&... parts) const {
    return invalid("payload field ", index_ + 1, " ", quoted(all_[index_]), ": ", parts...)
        .with_reason("PAYLOAD_LAYOUT");
  }

  void skip_blanks() {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
  }
  bool take(char expected) {
    skip_blanks();
    if (left_.empty() || left_.front() != expected) return false;
    left_.remove_prefix(1);
    return true;
  }
  Status expect(char expected) {
    if (take(expected)) return {};
    if (left_.empty()) return refuse("ends where '", expected, "' is expected");
    return refuse("found ", quoted(left_), ", expected '", expected, "'");
  }
  std::string_view word() {
    skip_blanks();
    std::size_t size = 0;
    while (size < left_.size() && is_word_char(left_[size])) ++size;
    const std::string_view found = left_.substr(0, size);
    left_.remove_prefix(size);
    return found;
  }

  // [label:] type. An unsigned number with a label can be a count until the end of its group.
  Result<PayloadField> labelled(std::uint64_t depth) {
    if (++field_count_ > limits::layout_fields) {
      return refuse("layout has more than ", limits::layout_fields, " fields");
    }
    std::string label;
    const std::string_view before = left_;
    const std::string_view first = word();
    if (!first.empty() && take(':')) {
      label = first;
    } else {
      left_ = before;
    }
    GANTRY_TRY(PayloadField field, type(depth));
    if (field.kind == Kind::rest && depth != 0) return refuse("rest is inside another type");
    if (counts(field.kind)) labels_.push_back(label);
    field.label = std::move(label);
    return field;
  }

  // The type of the items of vec, map, ... Items without bytes are an error, since their count
  // cannot be checked against the size of the payload.
  Result<PayloadField> item(std::uint64_t depth) {
    GANTRY_TRY(PayloadField field, type(depth));
    if (field.kind == Kind::rest) return refuse("rest is inside another type");
    if (min_bytes(field) == 0) return refuse("items may have no bytes, expected at least 1");
    return field;
  }

  Result<PayloadField> type(std::uint64_t depth) {
    if (depth > limits::layout_depth) {
      return refuse("nests deeper than ", limits::layout_depth);
    }
    if (take('"')) return literal();
    if (take('{')) return group(depth);
    const std::string_view name = word();
    if (name.empty()) {
      if (left_.empty()) return refuse("ends where a type is expected; ", known_words);
      return refuse(quoted(left_), " is not a type; ", known_words);
    }
    if (take('*')) return repeat(name, depth);
    PayloadField field;
    if (name == "vec" || name == "map" || name == "sized") {
      field.kind = name == "vec" ? Kind::vec : name == "map" ? Kind::map : Kind::sized;
      GANTRY_CHECK(expect('<'));
      GANTRY_TRY(PayloadField first, item(depth + 1));
      field.children.push_back(std::move(first));
      if (field.kind == Kind::map) {
        GANTRY_CHECK(expect(','));
        GANTRY_TRY(PayloadField second, item(depth + 1));
        field.children.push_back(std::move(second));
      }
      GANTRY_CHECK(expect('>'));
      return field;
    }
    const auto known = std::find_if(std::begin(plain_words), std::end(plain_words),
                                    [&](const Word& each) { return each.text == name; });
    if (known == std::end(plain_words))
      return refuse(quoted(name), " is not a type; ", known_words);
    field.kind = known->kind;
    return field;
  }

  Result<PayloadField> literal() {
    const std::size_t end = left_.find('"');
    if (end == std::string_view::npos) return refuse("text has no closing '\"'");
    PayloadField field;
    field.kind = Kind::literal;
    field.text = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return field;
  }

  Result<PayloadField> group(std::uint64_t depth) {
    PayloadField field;
    field.kind = Kind::group;
    const std::size_t outside = labels_.size();
    do {
      GANTRY_TRY(PayloadField member, labelled(depth + 1));
      field.children.push_back(std::move(member));
    } while (take(','));
    labels_.resize(outside);
    GANTRY_CHECK(expect('}'));
    return field;
  }

  Result<PayloadField> repeat(std::string_view label, std::uint64_t depth) {
    if (std::find(labels_.begin(), labels_.end(), label) == labels_.end()) {
      return refuse("no unsigned number before it has the label ", quoted(label));
    }
    PayloadField field;
    field.kind = Kind::repeat;
    field.text = label;
    GANTRY_TRY(PayloadField repeated, item(depth + 1));
    field.children.push_back(std::move(repeated));
    return field;
  }

  std::span<const std::string> all_;
  std::size_t index_ = 0;
  // rest of all_[index_]
  std::string_view left_;
  // labels of numbers that can be counts, innermost group last
  std::vector<std::string> labels_;
  std::uint64_t field_count_ = 0;
};

void append(std::string& text, const PayloadField& field) {
  const auto inside = [&](char open, char close) {
    text += open;
    for (std::size_t i = 0; i < field.children.size(); ++i) {
      if (i != 0) text += ',';
      append(text, field.children[i]);
    }
    text += close;
  };
  if (!field.label.empty()) text += field.label + ":";
  switch (field.kind) {
    case Kind::literal:
      text += '"' + field.text + '"';
      return;
    case Kind::group:
      return inside('{', '}');
    case Kind::vec:
      text += "vec";
      return inside('<', '>');
    case Kind::map:
      text += "map";
      return inside('<', '>');
    case Kind::sized:
      text += "sized";
      return inside('<', '>');
    case Kind::repeat:
      text += field.text + "*";
      return append(text, field.children[0]);
    default:
      break;
  }
  for (const Word& word : plain_words) {
    if (word.kind == field.kind) text += word.text;
  }
}

}  // namespace

std::uint64_t min_bytes(const PayloadField& field) {
  switch (field.kind) {
    case Kind::u8:
      return 1;
    case Kind::u16:
      return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::dtype:
      return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::dev:
    case Kind::str:
    case Kind::bytes:
    case Kind::vec:
    case Kind::map:
      return 8;
    case Kind::format:
      return 8 + 1;
    case Kind::literal:
      return 8 + field.text.size();
    case Kind::ndarray:
      return array_header_bytes;
    case Kind::funcinfo:
      return 3 * 8;
    case Kind::sized:
      return 8 + min_bytes(field.children[0]);
    case Kind::repeat:
    case Kind::rest:
      return 0;
    case Kind::group:
      break;
  }
  std::uint64_t sum = 0;
  for (const PayloadField& child : field.children) sum += min_bytes(child);
  return sum;
}

std::uint64_t fixed_bytes(const PayloadField& field) {
  switch (field.kind) {
    case Kind::u8:
    case Kind::u16:
    case Kind::u32:
    case Kind::u64:
    case Kind::i32:
    case Kind::i64:
    case Kind::dtype:
    case Kind::dev:
      return min_bytes(field);
    default:
      return 0;
  }
}

Result<PayloadLayout> parse_payload_layout(std::span<const std::string> fields) {
  PayloadLayout layout;
  GANTRY_TRY(layout.fields_, Grammar(fields).fields());
  return layout;
}

std::string PayloadLayout::text() const {
  std::string all;
  for (const PayloadField& field : fields_) {
    if (!all.empty()) all += ' ';
    append(all, field);
  }
  return all;
}

}  // namespace gantry
