// SPDX-License-Identifier: Apache-2.0
//
// Reads the values of a JSON document that others have written, with errors that name the value:
// "call script: calls[3].args[0].shape is 7, expected a list".
#pragma once

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// A value of a document, and where it is: "calls[3].args[0].shape". It refers to the value around it,
// which outlives it: the text is made for errors alone.
class JsonField {
 public:
  // name     [in]   of the document in messages: "call script"
  // reason   [in]   of all errors
  // lifetime both are valid as long as the fields
  JsonField(JsonValue document, std::string_view name, std::string_view reason)
      : value_(document), name_(name), reason_(reason) {}
  // A member of an object.
  JsonField(JsonValue value, const JsonField& around, std::string_view key)
      : value_(value), name_(around.name_), reason_(around.reason_), around_(&around), key_(key) {}
  // An item of a list.
  JsonField(JsonValue value, const JsonField& around, std::size_t index)
      : value_(value),
        name_(around.name_),
        reason_(around.reason_),
        around_(&around),
        index_(index) {}

  const JsonValue& value() const { return value_; }

  Failure wrong(std::string_view expected) const {
    return refuse(path(), " is ", found(), ", expected ", expected);
  }
  template <class... Parts>
  Failure refuse(const Parts&... parts) const {
    return malformed(value_.offset(), name_, ": ", parts...).with_reason(reason_);
  }
  // A long key is shortened.
  std::string path() const {
    constexpr std::size_t max_key = 64;
    std::vector<std::string> parts;
    for (const JsonField* field = this; field->around_ != nullptr; field = field->around_) {
      if (field->key_.data() == nullptr) {
        parts.push_back(concat("[", field->index_, "]"));
      } else {
        const bool is_first = field->around_->around_ == nullptr;
        parts.push_back(concat(is_first ? "" : ".", field->key_.substr(0, max_key),
                               field->key_.size() > max_key ? "..." : ""));
      }
    }
    std::string text;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) text += *part;
    return text;
  }

  std::optional<JsonField> find(std::string_view key) const {
    const auto member = value_.find(key);
    if (!member) return std::nullopt;
    return JsonField(*member, *this, key);
  }
  Result<JsonField> at(std::string_view key) const {
    if (auto member = find(key)) return std::move(*member);
    return refuse(around_ == nullptr ? "the document" : path(), " has no ", quoted(key));
  }
  JsonField item(JsonValue value, std::size_t index) const { return {value, *this, index}; }

  Status is_object() const {
    if (!value_.is(JsonKind::object)) return wrong("an object");
    return {};
  }
  Status is_list() const {
    if (!value_.is(JsonKind::array)) return wrong("a list");
    return {};
  }
  Result<std::string> text() const {
    if (!value_.is(JsonKind::text)) return wrong("a string");
    return std::string(value_.text());
  }
  Result<std::string> name() const {
    GANTRY_TRY(std::string text, text());
    if (text.empty() || text.find('\0') != std::string::npos) return wrong("a name");
    return text;
  }
  Result<bool> truth() const {
    if (!value_.is(JsonKind::boolean)) return wrong("true or false");
    return value_.truth();
  }
  Result<std::int64_t> integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const {
    const bool fits = value_.is(JsonKind::negative) ||
                      (value_.is(JsonKind::count) && value_.count() <= INT64_MAX);
    if (!fits || value_.integer() < min || value_.integer() > max)
      return min == INT64_MIN ? wrong("a 64-bit integer")
                              : wrong(concat("an integer from ", min, " to ", max));
    return value_.integer();
  }
  // JSON has no number for infinity and NaN.
  Result<double> real() const {
    if (value_.is(JsonKind::fraction)) return value_.fraction();
    if (value_.is(JsonKind::negative)) return static_cast<double>(value_.integer());
    if (value_.is(JsonKind::count)) return static_cast<double>(value_.count());
    if (value_.is(JsonKind::text)) {
      if (value_.text() == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (value_.text() == "inf") return std::numeric_limits<double>::infinity();
      if (value_.text() == "-inf") return -std::numeric_limits<double>::infinity();
    }
    return wrong("a number, \"nan\", \"inf\" or \"-inf\"");
  }
  // Reads a list with a function that takes the JsonField of an item.
  template <class T, class Read>
  Result<std::vector<T>> list(Read&& read) const {
    GANTRY_CHECK(is_list());
    std::vector<T> all;
    for (const JsonValue value : value_) {
      GANTRY_TRY(T one, read(item(value, all.size())));
      all.push_back(std::move(one));
    }
    return all;
  }
  Result<std::vector<std::int64_t>> integers(std::int64_t min) const {
    return list<std::int64_t>([min](const JsonField& one) { return one.integer(min); });
  }

 private:
  std::string found() const {
    switch (value_.kind()) {
      case JsonKind::text:
        return quoted(value_.text());
      case JsonKind::negative:
        return concat(value_.integer());
      case JsonKind::count:
        return concat(value_.count());
      case JsonKind::fraction:
        return concat(value_.fraction());
      case JsonKind::boolean:
        return value_.truth() ? "true" : "false";
      default:
        return std::string(name_of(value_.kind()));
    }
  }

  JsonValue value_;
  std::string_view name_, reason_;
  // NULL: the document
  const JsonField* around_ = nullptr;
  // Without an address: an item.
  std::string_view key_;
  std::size_t index_ = 0;
};

}  // namespace gantry::cli
