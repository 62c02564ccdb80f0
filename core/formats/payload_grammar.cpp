// SPDX-License-Identifier: Apache-2.0
//
// Parses and writes the text form of payload layouts. The grammar is in payload_layout.hpp.
#include "core/formats/limits.hpp"
#include "core/formats/payload_layout.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

namespace gantry {
namespace {

using Kind = PayloadField::Kind;

struct Word {
  std::string_view text;
  Kind kind;
};

constexpr Word plain_words[] = {
    {"dtype", Kind::dtype},     {"dev", Kind::dev},           {"str", Kind::str},
    {"bytes", Kind::bytes},     {"cstr", Kind::cstr},         {"format", Kind::format},
    {"ndarray", Kind::ndarray}, {"funcinfo", Kind::funcinfo}, {"rest", Kind::rest},
};

struct NumberWord {
  const char* text;
  NumberForm form;
};

constexpr NumberWord number_words[] = {
    {"u8", {1}},
    {"u16", {2}},
    {"u32", {4}},
    {"u64", {8}},
    {"i8", {1, true}},
    {"i16", {2, true}},
    {"i32", {4, true}},
    {"i64", {8, true}},
    {"u16be", {2, false, true}},
    {"u32be", {4, false, true}},
    {"u64be", {8, false, true}},
    {"i16be", {2, true, true}},
    {"i32be", {4, true, true}},
    {"i64be", {8, true, true}},
};

constexpr std::string_view known_words =
    "known: u8 u16 u32 u64 i8 i16 i32 i64 u16be u32be u64be i16be i32be i64be dtype dev str bytes "
    "cstr format ndarray funcinfo rest \"text\" vec<T> map<K,V> sized<T> {T, U} label*T align(N); "
    "with other lengths: bytes(u16) bytes(rows*cols) sized(u32-4)<T>";
constexpr std::string_view known_lengths =
    "expected an unsigned type, or a product of labels and numbers";

// size of an array record without dimensions
constexpr std::uint64_t array_header_bytes = 8 + 8 + 8 + 4 + 4 + 8;

// No sum or product of minimum sizes overflows, since they are limited to this.
constexpr std::uint64_t max_min_bytes = std::uint64_t{1} << 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; }
bool counts(const PayloadField& field) {
  return field.kind == Kind::number && !field.number.is_signed;
}

const NumberForm* find_number(std::string_view word) {
  const auto known =
      std::ranges::find_if(number_words, [&](const NumberWord& each) { return each.text == word; });
  return known == std::end(number_words) ? nullptr : &known->form;
}

// True if a length precedes the content of the field, unless the layout has another one for it.
bool has_length(Kind kind) {
  switch (kind) {
    case Kind::str:
    case Kind::bytes:
    case Kind::format:
    case Kind::literal:
    case Kind::vec:
    case Kind::map:
    case Kind::sized:
      return true;
    default:
      return false;
  }
}

// Sets min_bytes and is_fixed. Those of the children are set.
void set_sizes(PayloadField& field) {
  const PayloadLength& length = field.length;
  const bool is_constant = length.is_constant();
  const std::uint64_t min_length =
      is_constant ? length.constant()
                  : static_cast<std::uint64_t>(std::max<std::int64_t>(length.added, 0));
  std::uint64_t items = 0;
  bool are_items_fixed = true;
  for (const PayloadField& child : field.children) {
    items += child.min_bytes;
    are_items_fixed = are_items_fixed && child.is_fixed;
  }
  field.is_fixed = false;
  switch (field.kind) {
    case Kind::number:
      field.min_bytes = field.number.bytes;
      field.is_fixed = true;
      break;
    case Kind::dtype:
      field.min_bytes = 4;
      field.is_fixed = true;
      break;
    case Kind::dev:
      field.min_bytes = 8;
      field.is_fixed = true;
      break;
    case Kind::str:
    case Kind::bytes:
      field.min_bytes = length.stored.bytes + min_length;
      field.is_fixed = is_constant;
      break;
    case Kind::cstr:
      field.min_bytes = 1;
      break;
    case Kind::format:
      field.min_bytes = length.stored.bytes + std::max<std::uint64_t>(min_length, 1);
      break;
    case Kind::literal:
      field.min_bytes = length.stored.bytes + field.text.size();
      break;
    case Kind::ndarray:
      field.min_bytes = array_header_bytes;
      break;
    case Kind::funcinfo:
      field.min_bytes = 3 * 8;
      break;
    case Kind::sized:
      field.min_bytes = length.stored.bytes + std::max(items, min_length);
      break;
    case Kind::vec:
    case Kind::map:
    case Kind::repeat:
      field.min_bytes = length.stored.bytes + min_length * items;
      field.is_fixed = is_constant && are_items_fixed;
      break;
    case Kind::group:
      field.min_bytes = items;
      field.is_fixed = are_items_fixed;
      break;
    case Kind::align:
    case Kind::rest:
      field.min_bytes = 0;
      break;
  }
  if (field.min_bytes <= max_min_bytes) return;
  field.min_bytes = max_min_bytes;
  field.is_fixed = false;
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
    if (counts(field) && !label.empty()) labels_.push_back(label);
    field.label = std::move(label);
    return field;
  }

  // The type of the items of vec, map, ...
  Result<PayloadField> item(std::uint64_t depth) {
    GANTRY_TRY(PayloadField field, type(depth));
    if (field.kind == Kind::rest) return refuse("rest is inside another type");
    return field;
  }

  Result<PayloadField> type(std::uint64_t depth) {
    if (depth > limits::layout_depth) {
      return refuse("nests deeper than ", limits::layout_depth);
    }
    GANTRY_TRY(PayloadField field, form(depth));
    set_sizes(field);
    return field;
  }

  Result<PayloadField> form(std::uint64_t depth) {
    if (take('"')) return literal();
    if (take('{')) return group(depth);
    const std::string_view name = word();
    if (name.empty()) {
      if (left_.empty()) return refuse("ends where a type is expected; ", known_words);
      return refuse(quoted(left_), " is not a type; ", known_words);
    }
    if (take('*')) return repeat(name, depth);
    PayloadField field;
    if (const NumberForm* const number = find_number(name)) {
      field.number = *number;
      return field;
    }
    if (name == "align") {
      field.kind = Kind::align;
      GANTRY_TRY(field.alignment, alignment());
      return field;
    }
    if (name == "vec" || name == "map" || name == "sized") {
      field.kind = name == "vec" ? Kind::vec : name == "map" ? Kind::map : Kind::sized;
      GANTRY_CHECK(length(field));
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
    const auto known = std::ranges::find(plain_words, name, &Word::text);
    if (known == std::end(plain_words))
      return refuse(quoted(name), " is not a type; ", known_words);
    field.kind = known->kind;
    if (has_length(field.kind)) GANTRY_CHECK(length(field));
    return field;
  }

  Result<PayloadField> literal() {
    const std::size_t end = left_.find('"');
    if (end == std::string_view::npos) return refuse("text has no closing '\"'");
    PayloadField field;
    field.kind = Kind::literal;
    field.text = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    GANTRY_CHECK(length(field));
    if (field.length.is_constant() && field.length.constant() != field.text.size()) {
      return refuse("text has ", field.text.size(), " bytes, its length is ",
                    field.length.constant());
    }
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

  // first  the first factor, whose '*' is taken
  Result<PayloadField> repeat(std::string_view first, std::uint64_t depth) {
    PayloadField field;
    field.kind = Kind::repeat;
    field.length.stored = {};
    GANTRY_CHECK(factor(field.length, first));
    while (true) {
      const std::string_view before = left_;
      const std::string_view next = word();
      if (next.empty() || !take('*')) {
        left_ = before;
        break;
      }
      GANTRY_CHECK(factor(field.length, next));
    }
    GANTRY_TRY(PayloadField repeated, item(depth + 1));
    field.children.push_back(std::move(repeated));
    return field;
  }

  // A length in parentheses, if there is one.
  Status length(PayloadField& field) {
    if (!take('(')) return {};
    PayloadLength& length = field.length;
    std::string_view name = word();
    if (name.empty()) {
      if (left_.empty()) return refuse("ends where a length is expected; ", known_lengths);
      return refuse("found ", quoted(left_), ", ", known_lengths);
    }
    length.stored = {};
    if (const NumberForm* const stored = find_number(name)) {
      if (stored->is_signed) return refuse("found ", quoted(name), ", ", known_lengths);
      length.stored = *stored;
    } else {
      GANTRY_CHECK(factor(length, name));
      while (take('*')) {
        name = word();
        if (name.empty()) return refuse("found ", quoted(left_), ", expected a label or number");
        GANTRY_CHECK(factor(length, name));
      }
    }
    if (!length.is_constant()) {
      const std::int64_t sign = take('+') ? 1 : take('-') ? -1 : 0;
      if (sign != 0) {
        GANTRY_TRY(const std::uint64_t added, number(word()));
        length.added = sign * static_cast<std::int64_t>(added);
      }
    }
    return expect(')');
  }

  // Adds a factor to a product.
  Status factor(PayloadLength& length, std::string_view name) {
    if (length.factors.size() == limits::layout_factors) {
      return refuse("product has more than ", limits::layout_factors, " factors");
    }
    if (const auto last = std::find(labels_.rbegin(), labels_.rend(), name);
        last != labels_.rend()) {
      const auto place = static_cast<std::size_t>(labels_.rend() - last - 1);
      length.factors.push_back({std::string(name), 0, place});
      return {};
    }
    if (!std::ranges::all_of(name, is_digit)) {
      return refuse("no unsigned number before it has the label ", quoted(name));
    }
    GANTRY_TRY(const std::uint64_t value, number(name));
    length.factors.push_back({{}, value});
    if (length.constant() > limits::layout_number) {
      return refuse("product of its numbers is ", length.constant(), ", maximum is ",
                    limits::layout_number);
    }
    return {};
  }

  Result<std::uint64_t> number(std::string_view digits) {
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    const bool is_number = read.ec == std::errc() && read.ptr == end;
    if (!is_number || value == 0 || value > limits::layout_number) {
      return refuse("found ", quoted(digits.empty() ? left_ : digits),
                    ", expected a number from 1 to ", limits::layout_number);
    }
    return value;
  }

  Result<std::uint64_t> alignment() {
    GANTRY_CHECK(expect('('));
    GANTRY_TRY(const std::uint64_t value, number(word()));
    if (!std::has_single_bit(value)) {
      return refuse("alignment is ", value, ", expected a power of two");
    }
    GANTRY_CHECK(expect(')'));
    return value;
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
  const auto length = [&] {
    if (!field.length.is_default()) text += concat("(", field.length.text(), ")");
  };
  if (!field.label.empty()) text += field.label + ":";
  switch (field.kind) {
    case Kind::number:
      text += field.number.word();
      return;
    case Kind::literal:
      text += '"' + field.text + '"';
      return length();
    case Kind::group:
      return inside('{', '}');
    case Kind::vec:
      text += "vec";
      length();
      return inside('<', '>');
    case Kind::map:
      text += "map";
      length();
      return inside('<', '>');
    case Kind::sized:
      text += "sized";
      length();
      return inside('<', '>');
    case Kind::repeat:
      text += field.length.text() + "*";
      return append(text, field.children[0]);
    case Kind::align:
      text += concat("align(", field.alignment, ")");
      return;
    default:
      break;
  }
  text += std::ranges::find(plain_words, field.kind, &Word::kind)->text;
  if (has_length(field.kind)) length();
}

}  // namespace

const char* NumberForm::word() const {
  return std::ranges::find(number_words, *this, &NumberWord::form)->text;
}

bool PayloadLength::is_constant() const {
  return stored.bytes == 0 &&
         std::ranges::all_of(factors, [](const Factor& each) { return each.label.empty(); });
}

std::uint64_t PayloadLength::constant() const {
  std::uint64_t product = 1;
  for (const Factor& each : factors) {
    if (each.label.empty()) product *= each.number;
  }
  return product;
}

std::string PayloadLength::text() const {
  std::string all(stored.bytes != 0 ? stored.word() : "");
  for (const Factor& each : factors) {
    if (!all.empty()) all += '*';
    all += each.label.empty() ? concat(each.number) : each.label;
  }
  if (added != 0) all += concat(added < 0 ? "" : "+", added);
  return all;
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
