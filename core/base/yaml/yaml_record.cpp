// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_record.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

namespace gantry {
namespace {

std::string names_of(std::span<const std::string_view> choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text.append(i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ").append(choices[i]);
  }
  return text;
}

std::string_view name_of(YamlType type) {
  switch (type) {
    case YamlType::text:
      return "text";
    case YamlType::quoted_text:
      return "text in quotes";
    case YamlType::integer:
      return "integer";
    case YamlType::number:
      return "number";
    case YamlType::boolean:
      return "true or false";
    case YamlType::choice:
    case YamlType::scalar:
      return "a single value";
    case YamlType::list:
      return "a list";
    case YamlType::record:
    case YamlType::map:
      return "a map";
    case YamlType::any:
      break;
  }
  return "anything";
}

// Advice for a value of the wrong type, appended to the error; empty if there is none.
std::string hint_for(YamlType type, const YamlValue& value) {
  if (value.kind == YamlKind::nothing) return ": give it a value or remove the key";
  if (value.kind != YamlKind::scalar) return "";
  YamlValue plain = value;
  plain.quoted = false;
  double number = 0;
  bool truth = false;
  switch (type) {
    case YamlType::text:
    case YamlType::quoted_text:
      return concat(": write it in quotes, \"", value.text, "\"");
    case YamlType::integer:
    case YamlType::number: {
      if (!yaml_number(plain, number)) return "";
      if (value.quoted) return ": write it without quotes";
      const bool padded = value.text[0] == '0' && value.text[1] != '.';
      return padded ? ": a decimal number has no leading zero" : "";
    }
    case YamlType::boolean:
      return value.quoted && yaml_boolean(plain, truth) ? ": write it without quotes" : "";
    default:
      return "";
  }
}

// Where a value is. The text is for errors only.
class Path {
 public:
  Path() = default;
  Path(const Path& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Path(const Path& parent, std::size_t index) : parent_(&parent), index_(index) {}

  bool is_root() const { return parent_ == nullptr; }
  std::string text() const {
    if (is_root()) return {};
    return index_ ? yaml_path(parent_->text(), *index_) : yaml_path(parent_->text(), key_);
  }

 private:
  // NULL: the root
  const Path* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;
};

// Checks values against their fields. The recursion depth is the nesting depth, which parse_yaml
// limits.
class Checker {
 public:
  Checker(const YamlDocument& document, const YamlUnknown& unknown)
      : document_(document), unknown_(unknown) {}

  Status check_record(const YamlValue& value, std::span<const YamlField> fields, const Path& path) {
    const bool empty_document = path.is_root() && value.kind == YamlKind::nothing;
    if (value.kind != YamlKind::map && !empty_document) {
      return wrong_type(YamlType::record, value, path);
    }
    for (const YamlEntry& entry : value.entries) {
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const YamlField& f) { return f.name == entry.key; });
      if (field == fields.end()) {
        GANTRY_CHECK(check_unknown(entry, fields, path));
      } else {
        GANTRY_CHECK(check_field(entry.value, *field, Path(path, field->name)));
      }
    }
    for (const YamlField& field : fields) {
      if (field.required && !value.find(field.name)) {
        return yaml_error(document_.file, value.location, Path(path, field.name).text(),
                          "required key is missing")
            .with_reason(reason::yaml_missing_key.tag);
      }
    }
    return {};
  }

 private:
  Status check_unknown(const YamlEntry& entry, std::span<const YamlField> fields,
                       const Path& path) {
    if (unknown_.skip_x_keys && entry.key.starts_with("x-")) return {};
    std::vector<std::string_view> names;
    for (const YamlField& field : fields) names.push_back(field.name);
    std::string near = did_you_mean(entry.key, names);
    if (near.empty()) {
      std::sort(names.begin(), names.end());
      near = concat(", known keys are ", names_of(names));
    }
    Error error = yaml_error(document_.file, entry.location, Path(path, entry.key).text(),
                             "unknown key", near)
                      .with_reason(reason::yaml_unknown_key.tag);
    if (!unknown_.warnings) return error;
    unknown_.warnings->push_back(std::move(error.message));
    return {};
  }

  Status check_field(const YamlValue& value, const YamlField& field, const Path& path) {
    GANTRY_CHECK(check_type(value, field.type, field, path));
    return run_check(field.check, value, path);
  }

  Status run_check(decltype(YamlField::check) check, const YamlValue& value, const Path& path) {
    const std::string expected = check ? check(value) : "";
    if (expected.empty()) return {};
    return yaml_error(document_.file, value.location, path.text(), yaml_expected(expected, value))
        .with_reason(reason::yaml_type.tag);
  }

  Status check_type(const YamlValue& value, YamlType type, const YamlField& field,
                    const Path& path) {
    switch (type) {
      case YamlType::any:
        return {};
      case YamlType::record:
        return check_record(value, field.fields, path);
      case YamlType::list:
        return check_list(value, field, path);
      case YamlType::map:
        return check_map(value, field, path);
      default:
        return check_scalar(value, type, field, path);
    }
  }

  Status check_list(const YamlValue& value, const YamlField& field, const Path& path) {
    if (value.kind != YamlKind::list) return wrong_type(YamlType::list, value, path);
    GANTRY_CHECK(check_count(value.items.size(), "items", value, field, path));
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const Path here(path, i);
      GANTRY_CHECK(check_type(value.items[i], field.items, field, here));
      GANTRY_CHECK(run_check(field.check_item, value.items[i], here));
    }
    return {};
  }

  Status check_map(const YamlValue& value, const YamlField& field, const Path& path) {
    if (value.kind != YamlKind::map) return wrong_type(YamlType::map, value, path);
    GANTRY_CHECK(check_count(value.entries.size(), "keys", value, field, path));
    for (const YamlEntry& entry : value.entries) {
      GANTRY_CHECK(check_type(entry.value, field.items, field, Path(path, entry.key)));
    }
    return {};
  }

  Status check_scalar(const YamlValue& value, YamlType type, const YamlField& field,
                      const Path& path) {
    if (value.kind != YamlKind::scalar) return wrong_type(type, value, path);
    switch (type) {
      case YamlType::text:
      case YamlType::quoted_text:
        if (type == YamlType::quoted_text ? !value.quoted : !yaml_text(value)) {
          return wrong_type(type, value, path);
        }
        return check_count(value.text.size(), "bytes", value, field, path);
      case YamlType::integer: {
        std::int64_t number = 0;
        if (!yaml_integer(value, number)) return wrong_type(type, value, path);
        if (number < field.min || number > field.max) {
          return yaml_error(document_.file, value.location, path.text(), "expected integer ",
                            field.min, " to ", field.max, ", found ", number)
              .with_reason(reason::yaml_range.tag);
        }
        return {};
      }
      case YamlType::number: {
        double number = 0;
        return yaml_number(value, number) ? Status() : wrong_type(type, value, path);
      }
      case YamlType::boolean: {
        bool truth = false;
        return yaml_boolean(value, truth) ? Status() : wrong_type(type, value, path);
      }
      case YamlType::choice:
        if (std::find(field.choices.begin(), field.choices.end(), value.text) !=
            field.choices.end())
          return {};
        return yaml_error(document_.file, value.location, path.text(), "expected ",
                          names_of(field.choices), ", found ", yaml_found(value),
                          did_you_mean(value.text, {field.choices.begin(), field.choices.end()}))
            .with_reason(reason::yaml_range.tag);
      default:
        return {};
    }
  }

  Status check_count(std::size_t count, std::string_view unit, const YamlValue& value,
                     const YamlField& field, const Path& path) {
    if (count <= field.longest) return {};
    return yaml_error(document_.file, value.location, path.text(), count, " ", unit, ", limit is ",
                      field.longest)
        .with_reason(reason::yaml_range.tag);
  }

  Failure wrong_type(YamlType type, const YamlValue& value, const Path& path) const {
    return yaml_error(document_.file, value.location, path.text(), "expected ", name_of(type),
                      ", found ", yaml_found(value), hint_for(type, value))
        .with_reason(reason::yaml_type.tag);
  }

  const YamlDocument& document_;
  const YamlUnknown& unknown_;
};

}  // namespace

std::string YamlRecord::text(std::string_view key, std::string_view fallback) const {
  const YamlValue* value = find(key);
  return value ? value->text : std::string(fallback);
}

std::int64_t YamlRecord::integer(std::string_view key, std::int64_t fallback) const {
  const YamlValue* value = find(key);
  std::int64_t number = fallback;
  [[maybe_unused]] const bool read = value && yaml_integer(*value, number);
  assert(!value || read);
  return number;
}

double YamlRecord::number(std::string_view key, double fallback) const {
  const YamlValue* value = find(key);
  double number = fallback;
  [[maybe_unused]] const bool read = value && yaml_number(*value, number);
  assert(!value || read);
  return number;
}

bool YamlRecord::boolean(std::string_view key, bool fallback) const {
  const YamlValue* value = find(key);
  bool truth = fallback;
  [[maybe_unused]] const bool read = value && yaml_boolean(*value, truth);
  assert(!value || read);
  return truth;
}

std::vector<std::string> YamlRecord::texts(std::string_view key) const {
  std::vector<std::string> all;
  if (const YamlValue* value = find(key)) {
    for (const YamlValue& item : value->items) all.push_back(item.text);
  }
  return all;
}

YamlRecord YamlRecord::record(std::string_view key) const {
  const YamlValue* value = find(key);
  return value ? YamlRecord(*document_, *value, path_of(key)) : YamlRecord();
}

std::vector<YamlRecord> YamlRecord::records(std::string_view key) const {
  std::vector<YamlRecord> all;
  if (const YamlValue* value = find(key)) {
    for (std::size_t i = 0; i < value->items.size(); ++i) {
      all.emplace_back(*document_, value->items[i], yaml_path(path_of(key), i));
    }
  }
  return all;
}

const std::vector<YamlEntry>& YamlRecord::entries(std::string_view key) const {
  static const std::vector<YamlEntry> none;
  const YamlValue* value = find(key);
  return value ? value->entries : none;
}

Result<YamlRecord> read_record(const YamlDocument& document, std::span<const YamlField> fields,
                               const YamlUnknown& unknown) {
  GANTRY_CHECK(Checker(document, unknown).check_record(document.root, fields, Path()));
  return YamlRecord(document, document.root, "");
}

}  // namespace gantry
