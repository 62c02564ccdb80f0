// SPDX-License-Identifier: Apache-2.0
//
// Checks YAML maps against a description of their keys. Used for manifests, drop-ins, the runtime's
// configuration and recipes.
//
//     constexpr YamlField kThreads[] = {
//         {.name = "count", .type = YamlType::integer, .required = true, .min = 1, .max = 1024},
//         {.name = "policy", .type = YamlType::choice, .choices = kPolicies},
//     };
//     constexpr YamlField kFields[] = {
//         {.name = "threads", .type = YamlType::record, .fields = kThreads},
//         {.name = "dirs", .type = YamlType::list, .items = YamlType::text},
//     };
//
//     GANTRY_TRY(const YamlDocument document, parse_yaml(text, "runtime.yaml"));
//     // All checks are here; the getters below cannot fail.
//     GANTRY_TRY(const YamlRecord config, read_record(document, kFields));
//     const std::int64_t count = config.record("threads").integer("count", 4);
//     for (const std::string& dir : config.texts("dirs")) ...
//
// An error states the file, line, column, key path, the expected and the found value, and often how
// to write it.
#pragma once

#include "core/base/yaml/yaml_scalar.hpp"
#include "core/base/yaml/yaml_text.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class YamlType {
  // a scalar in quotes, or one that no YAML reader takes for a number, a truth value or null; y and n
  // are texts
  text,
  // a scalar in quotes; for versions, where 1.10 must not become 1.1
  quoted_text,
  // decimal, no leading zero, no quotes
  integer,
  // decimal, with an optional fraction and exponent
  number,
  // true or false
  boolean,
  // one of `choices`
  choice,
  // any scalar; YamlField::check may restrict it
  scalar,
  // a list of values of type `items`
  list,
  // a map with the keys of `fields`
  record,
  // a map with any keys and values of type `items`
  map,
  // any value; not checked
  any,
};

// One key of a map.
struct YamlField {
  std::string_view name;
  YamlType type = YamlType::text;
  bool required = false;
  YamlType items = YamlType::text;
  // integer: range of the value
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  // maximum size. text: bytes; list and map: items
  std::size_t longest = std::numeric_limits<std::size_t>::max();
  std::span<const std::string_view> choices = {};
  // keys of the record, or of items that are records
  std::span<const YamlField> fields = {};
  // Additional check, called after all others. Returns an empty text if the value is valid, else
  // the expectation for the error "expected <text>, found ...".
  std::string (*check)(const YamlValue& value) = nullptr;
  // list: the same for each item; an error has the location of the item
  std::string (*check_item)(const YamlValue& item) = nullptr;
};

// Treatment of keys that no field describes.
struct YamlUnknown {
  // ignore keys that begin with `x-`, which are reserved for other tools
  bool skip_x_keys = false;
  // where a text for each unknown key is added; NULL: unknown keys are errors
  std::vector<Message>* warnings = nullptr;
};

// A checked map, or an absent one, for which every getter returns its fallback. Borrows the
// document. Precondition of the getters: a field describes the key and has the getter's type.
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

  // An error at the location of `key`, or of the record if the key is absent. Precondition: the
  // record is not absent.
  template <class... Parts>
  Failure error(std::string_view key, const Parts&... parts) const {
    const YamlValue* at = find(key);
    return yaml_error(document_->file, at ? at->location : value_->location, path_of(key),
                      parts...);
  }
  // The same at an item of the list `key`. Precondition: the item exists.
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

// Checks the whole document against the fields, depth first, in file order. Required keys of a map
// are checked after its entries.
//
// document [in]   must outlive the record
// returns  malformed as parse_yaml(), with reason YAML_TYPE (wrong type), YAML_RANGE,
//          YAML_UNKNOWN_KEY (with similar names) or YAML_MISSING_KEY
// costs    O(document)
Result<YamlRecord> read_record(const YamlDocument& document, std::span<const YamlField> fields,
                               const YamlUnknown& unknown = {});
Result<YamlRecord> read_record(YamlDocument&&, std::span<const YamlField>,
                               const YamlUnknown& = {}) = delete;

}  // namespace gantry
