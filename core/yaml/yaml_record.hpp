// SPDX-License-Identifier: Apache-2.0
//
// Maps with known keys, described as data: one mechanism for manifests, the runtime's configuration
// and recipes.
//
//     constexpr YamlField kThreads[] = {
//         {.name = "count", .type = YamlType::integer, .required = true, .least = 1, .most = 1024},
//         {.name = "policy", .type = YamlType::choice, .choices = kPolicies},
//     };
//     constexpr YamlField kFields[] = {
//         {.name = "threads", .type = YamlType::record, .fields = kThreads},
//         {.name = "dirs", .type = YamlType::list, .items = YamlType::text},
//     };
//
//     GANTRY_TRY(const YamlDocument document, parse_yaml(text, "runtime.yaml"));
//     GANTRY_TRY(const YamlRecord config, read_record(document, kFields));   // everything is
//     checked here config.record("threads").integer("count", 4);                         // getters
//     cannot fail for (const std::string& dir : config.texts("dirs")) ...
//
// A refusal says file, line, column, key path, what was expected, what was found, and how to write
// it.
#pragma once

#include "core/yaml/yaml_scalar.hpp"
#include "core/yaml/yaml_text.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class YamlType {
  // any scalar that cannot be mistaken for a number, a truth value or nothing; else in quotes
  text,
  // a scalar in quotes: versions, where 1.10 must not become 1.1
  quoted_text,
  // decimal, no leading zero, no quotes
  integer,
  // decimal, with or without a fraction and an exponent
  number,
  // true or false
  boolean,
  // one of `choices`
  choice,
  // text, number, boolean as written; the caller decides: see YamlField::check
  scalar,
  // of `items`
  list,
  // a map with the keys of `fields`
  record,
  // a map with any keys and values of type `items`; of records where items is record
  map,
  // not looked at
  any,
};

// One key of a map. `check` is for what a type cannot say; it is asked last.
struct YamlField {
  std::string_view name;
  YamlType type = YamlType::text;
  bool required = false;
  YamlType items = YamlType::text;
  // integer: the value
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  // text: bytes; list and map: items
  std::size_t longest = std::numeric_limits<std::size_t>::max();
  std::span<const std::string_view> choices = {};
  // of the record, or of the items that are records
  std::span<const YamlField> fields = {};
  // returns  empty: fine; else what is expected: "expected <this>, found ..."
  std::string (*check)(const YamlValue& value) = nullptr;
  // list: the same for each item, which is told of at its own place
  std::string (*check_item)(const YamlValue& item) = nullptr;
};

// What to do with keys that no field describes. Keys `x-...` are skipped where the schema lets
// tools keep notes.
struct YamlUnknown {
  bool skip_x_keys = false;
  // NULL: unknown keys are refused
  std::vector<std::string>* warnings = nullptr;
};

// A map that passed the check, or an absent one: then every getter gives its fallback. Borrows the
// document. Asking for a key that no field describes, or with another type than the field's, is a
// defect of the caller.
class YamlRecord {
 public:
  YamlRecord() = default;
  YamlRecord(const YamlDocument& document, const YamlValue& value, std::string path)
      : document_(&document), value_(&value), path_(std::move(path)) {}

  explicit operator bool() const { return value_ != nullptr; }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  std::string text(std::string_view key, std::string_view fallback = "") const;
  std::int64_t integer(std::string_view key, std::int64_t fallback = 0) const;
  double number(std::string_view key, double fallback = 0) const;
  bool boolean(std::string_view key, bool fallback = false) const;
  // a list of scalars
  std::vector<std::string> texts(std::string_view key) const;
  // absent: an empty one
  YamlRecord record(std::string_view key) const;
  // a list of records
  std::vector<YamlRecord> records(std::string_view key) const;
  // a map, in file order
  const std::vector<YamlEntry>& entries(std::string_view key) const;

  // The value as written, or NULL.
  const YamlValue* find(std::string_view key) const { return value_ ? value_->find(key) : nullptr; }
  std::string path_of(std::string_view key) const { return yaml_path(path_, key); }
  const YamlValue* value() const { return value_; }

  // A refusal in our file at `key`, or at the record where the key is absent. Precondition: not the
  // empty record.
  template <class... Parts>
  Failure error(std::string_view key, const Parts&... parts) const {
    const YamlValue* at = find(key);
    return yaml_error(document_->file, at ? at->location : value_->location, path_of(key),
                      parts...);
  }
  // The same at an item of the list `key`. Precondition: the list has it.
  template <class... Parts>
  Failure item_error(std::string_view key, std::size_t index, const Parts&... parts) const {
    return yaml_error(document_->file, find(key)->items[index].location,
                      yaml_path(path_of(key), index), parts...);
  }

 private:
  const YamlDocument* document_ = nullptr;
  const YamlValue* value_ = nullptr;
  std::string path_;
};

// Checks the whole document against the fields, depth first, in file order; required keys last.
//
// document [in]   must outlive the record
// returns  malformed as parse_yaml, with YAML_TYPE (wrong type, with the hint how to write it),
// YAML_RANGE,
//          YAML_UNKNOWN_KEY (with near names) or YAML_MISSING_KEY
// costs    O(document)
Result<YamlRecord> read_record(const YamlDocument& document, std::span<const YamlField> fields,
                               const YamlUnknown& unknown = {});
Result<YamlRecord> read_record(YamlDocument&&, std::span<const YamlField>,
                               const YamlUnknown& = {}) = delete;

}  // namespace gantry
