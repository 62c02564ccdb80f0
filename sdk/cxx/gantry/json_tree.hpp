// SPDX-License-Identifier: Apache-2.0
//
// gantry/json_tree.hpp - parses untrusted JSON text into a tree.
//
//     GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "graph"}));
//     const std::optional<JsonValue> nodes = tree.root().find("nodes");
//     if (!nodes) return malformed(tree.root().offset(), "graph has no \"nodes\"");
//     for (const JsonValue node : *nodes) {
//       if (!node.is(JsonKind::object)) {
//         return malformed(node.offset(), "node is ", name_of(node.kind()), ", not an object");
//       }
//     }
//
// Neither parsing nor destruction recurses, and destruction allocates no memory.
#pragma once

#include <gantry/json_parser.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry {

class JsonTree;

// One value of a tree. The tree must outlive it and must not be moved.
//
// A value is also a range: the items of an array, or the values of an object's members. The range
// of any other value is empty.
class JsonValue {
 public:
  class Iterator;

  JsonKind kind() const { return item().kind; }
  bool is(JsonKind kind) const { return kind == this->kind(); }
  // Returns the offset of the value's first byte.
  std::uint64_t offset() const;
  // Returns the number of items or members; 0 for other values.
  std::size_t size() const { return item().is_container() ? item().high() : 0; }
  Iterator begin() const;
  Iterator end() const;

  // Returns the value of the member with this name, the last one if there are several; nullopt if
  // there is none or the value is not an object.
  //
  // costs    O(size())
  std::optional<JsonValue> find(std::string_view key) const;
  // Precondition: the value is a member of an object.
  std::string_view key() const { return JsonValue(tree_, at_ - 1).text(); }

  // Precondition: a boolean.
  bool truth() const { return item().bits != 0; }
  // Precondition: a negative number, or a count up to INT64_MAX.
  std::int64_t integer() const { return static_cast<std::int64_t>(item().bits); }
  // Precondition: a count.
  std::uint64_t count() const { return item().bits; }
  // Precondition: a fraction.
  double fraction() const { return std::bit_cast<double>(item().bits); }
  // Precondition: a text. The result is UTF-8 and may contain NUL.
  std::string_view text() const;

 private:
  friend class JsonTree;
  JsonValue(const JsonTree* tree, std::size_t at) : tree_(tree), at_(at) {}
  const detail::JsonItem& item() const;
  // Returns the index of the first item after this value and its contents.
  std::size_t end_at() const { return item().is_container() ? item().low() : at_ + 1; }

  const JsonTree* tree_;
  std::size_t at_;
};

class JsonTree {
 public:
  // Parses a text.
  //
  // text     [in]   UTF-8, with or without a byte order mark; ends at a NUL byte outside of strings
  // returns  MALFORMED  the text is not JSON or contains a number out of the range of double: the
  //                     offset is one past the invalid byte; it is nested too deep: the offset is
  //                     that of the innermost container allowed; it has 4 GiB or more
  // lifetime the text must outlive the tree
  // costs    time and memory O(text)
  // source   RFC 8259
  static Result<JsonTree> parse(std::string_view text, const JsonOptions& options = {}) {
    JsonTree tree(options.offset);
    GANTRY_CHECK(detail::JsonParser(text, options, tree.items_).parse());
    return tree;
  }

  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  explicit JsonTree(std::uint64_t offset) : offset_(offset) {}

  detail::JsonItems items_;
  std::uint64_t offset_;
};

class JsonValue::Iterator {
 public:
  JsonValue operator*() const { return value_; }
  Iterator& operator++() {
    value_.at_ = value_.end_at() + has_keys_;
    return *this;
  }
  bool operator==(const Iterator& other) const { return value_.at_ == other.value_.at_; }

 private:
  friend class JsonValue;
  Iterator(JsonValue value, bool has_keys) : value_(value), has_keys_(has_keys) {}

  JsonValue value_;
  // true if a key precedes each value
  bool has_keys_;
};

inline const detail::JsonItem& JsonValue::item() const { return tree_->items_.items[at_]; }
inline std::uint64_t JsonValue::offset() const { return tree_->offset_ + item().at; }
inline std::string_view JsonValue::text() const { return tree_->items_.text_of(item()); }

inline JsonValue::Iterator JsonValue::begin() const {
  const bool has_keys = is(JsonKind::object);
  return {{tree_, at_ + 1 + has_keys}, has_keys};
}
inline JsonValue::Iterator JsonValue::end() const {
  const bool has_keys = is(JsonKind::object);
  return {{tree_, end_at() + has_keys}, has_keys};
}

inline std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  std::optional<JsonValue> found;
  if (!is(JsonKind::object)) return found;
  for (const JsonValue member : *this) {
    if (member.key() == key) found = member;
  }
  return found;
}

}  // namespace gantry
