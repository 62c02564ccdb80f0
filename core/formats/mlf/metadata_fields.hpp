// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON objects by tables of their keys. Part of metadata.cpp.
#pragma once

#include "core/formats/mlf/findings.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry {

// The path of a value in metadata.json, for findings.
std::string metadata_path(std::string_view around, std::string_view key);

// The same while metadata.json is read: the text is made for findings only. Refers to the path and the
// key of which it consists.
class MetadataPath {
 public:
  // of the whole file
  MetadataPath() = default;
  MetadataPath(const MetadataPath& around, std::string_view key) : around_(&around), key_(key) {}
  MetadataPath(const MetadataPath& around, std::size_t index) : around_(&around), index_(index) {}
  MetadataPath(const MetadataPath&) = delete;
  MetadataPath& operator=(const MetadataPath&) = delete;

  // Empty for the whole file.
  std::string text() const;

 private:
  // NULL: the whole file
  const MetadataPath* around_ = nullptr;
  std::string_view key_;
  // of an item of a list
  std::optional<std::size_t> index_;
};

template <class T>
struct MetadataField {
  // reads a value of the kind `kind`
  using Read = void (*)(JsonValue value, const MetadataPath& path, T& to, Findings& findings);

  std::string_view name;
  std::variant<std::string T::*, std::uint64_t T::*, std::int64_t T::*, Read> to;
  bool required = true;
  // for Read
  JsonKind kind = JsonKind::array;
  // versions that have the key, and versions that must have it if it is required
  std::uint64_t first = 1, last = 7;
};

// Reports a value of another kind than `kind`.
void report_kind(JsonValue value, const MetadataPath& path, std::string_view expected,
                 Findings& findings);

std::optional<std::uint64_t> read_metadata_count(JsonValue value, const MetadataPath& path,
                                                 Findings& findings);
std::optional<std::int64_t> read_metadata_integer(JsonValue value, const MetadataPath& path,
                                                  Findings& findings);
std::optional<std::string> read_metadata_text(JsonValue value, const MetadataPath& path,
                                              Findings& findings);
std::vector<std::string> read_metadata_texts(JsonValue list, const MetadataPath& path,
                                             Findings& findings);

// Reads one value to where the field stores it.
template <class T>
void read_metadata_field(JsonValue value, const MetadataPath& path, const MetadataField<T>& field,
                         T& to, Findings& findings) {
  const auto store = [&](auto member, auto read) {
    if (auto found = read(value, path, findings)) to.*member = std::move(*found);
  };
  if (const auto* text = std::get_if<std::string T::*>(&field.to)) {
    store(*text, read_metadata_text);
  } else if (const auto* count = std::get_if<std::uint64_t T::*>(&field.to)) {
    store(*count, read_metadata_count);
  } else if (const auto* integer = std::get_if<std::int64_t T::*>(&field.to)) {
    store(*integer, read_metadata_integer);
  } else if (value.is(field.kind)) {
    std::get<typename MetadataField<T>::Read>(field.to)(value, path, to, findings);
  } else {
    report_kind(value, path, name_of(field.kind), findings);
  }
}

// Reads an object. Unknown keys are warnings, unless they begin with "x_".
//
// path     [in]   of the object
template <class T>
void read_metadata_object(JsonValue object, const MetadataPath& path, std::uint64_t version,
                          std::span<const MetadataField<T>> fields, T& to, Findings& findings) {
  std::vector<bool> found(fields.size());
  for (const JsonValue value : object) {
    const std::string_view key = value.key();
    const MetadataPath here(path, key);
    std::size_t known = fields.size();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name != key) continue;
      known = i;
      // a key may have one row for some versions and one for the others
      if (fields[i].first <= version && version <= fields[i].last) break;
    }
    if (known == fields.size()) {
      if (!key.starts_with("x_")) findings.warning(here.text(), "is an unknown key");
    } else if (version < fields[known].first || version > fields[known].last) {
      findings.warning(here.text(), "is a key of versions ", fields[known].first, " to ",
                       fields[known].last, ", the archive has version ", version);
    } else if (found[known]) {
      findings.error(here.text(), "is given twice");
    } else {
      found[known] = true;
      read_metadata_field(value, here, fields[known], to, findings);
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const MetadataField<T>& field = fields[i];
    if (found[i] || !field.required || version < field.first || version > field.last) continue;
    findings.error(MetadataPath(path, field.name).text(), "is missing");
  }
}

// Reads a list of objects, or an object whose values are objects if `key` receives their keys. Items
// with errors are left out.
template <class T>
std::vector<T> read_metadata_objects(JsonValue list, const MetadataPath& path,
                                     std::uint64_t version,
                                     std::span<const MetadataField<T>> fields, Findings& findings,
                                     std::string T::*key = nullptr) {
  std::vector<T> all;
  std::size_t index = 0;
  for (const JsonValue item : list) {
    const MetadataPath named(path, item.key()), numbered(path, index);
    const MetadataPath& here = key != nullptr ? named : numbered;
    ++index;
    if (!item.is(JsonKind::object)) {
      report_kind(item, here, name_of(JsonKind::object), findings);
      continue;
    }
    T one;
    if (key != nullptr) one.*key = item.key();
    const std::size_t errors = findings.errors();
    read_metadata_object(item, here, version, fields, one, findings);
    if (findings.errors() == errors) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace gantry
