// SPDX-License-Identifier: Apache-2.0
//
// A JSON text to look around in, kept in flat lists: nothing in it nests, so taking it down needs neither memory nor a
// deep stack, whatever the text was. (nlohmann::json's own tree allocates in its destructor, where no failure can be
// told; only its parser is used here.)
//
//     {"a": [1, "b"]}   values  0 list of 1: {object}   1 "a": {array}   2 {1}   3 {"b"}
//                       items   [2, 3]  [1]             each container's items lie together
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class JsonKind { null, boolean, negative, count, fraction, text, array, object };

// "number" for all three kinds of it.
std::string_view name_of(JsonKind kind);

class JsonTree;

// One value of a tree, which must outlive it.
class JsonValue {
 public:
  JsonKind kind() const;
  bool is(JsonKind kind) const { return kind == this->kind(); }
  // Items of an array, members of an object; 0 for others.
  std::size_t size() const;
  // Precondition: index < size()
  JsonValue operator[](std::size_t index) const;
  // The member of that name, the last where the text has several; nothing where the value is no object.
  std::optional<JsonValue> find(std::string_view key) const;
  // Precondition: a text
  const std::string& text() const;
  // Precondition: a negative number or a count; a count past INT64_MAX wraps
  std::int64_t integer() const { return static_cast<std::int64_t>(bits()); }
  // Precondition: a count
  std::uint64_t count() const { return bits(); }

 private:
  friend class JsonTree;
  JsonValue(const JsonTree* tree, std::size_t at) : tree_(tree), at_(at) {}
  std::uint64_t bits() const;

  const JsonTree* tree_;
  std::size_t at_;
};

class JsonTree {
 public:
  // returns  nothing where the text is no JSON, numbers no double can hold included
  // costs    O(text), no recursion
  static std::optional<JsonTree> parse(std::string_view text);

  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonTreeReader;

  struct Value {
    JsonKind kind;
    // of texts_; no_text: no member of an object
    std::size_t key;
    // a number's, a text's place in texts_, a container's first place in items_
    std::uint64_t bits;
    // of a container
    std::size_t size;
  };
  static constexpr std::size_t no_text = SIZE_MAX;

  // in the order in which they begin
  std::vector<Value> values_;
  std::vector<std::size_t> items_;
  std::vector<std::string> texts_;
};

}  // namespace gantry
