// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/metadata_fields.hpp"

#include "core/formats/mlf/metadata.hpp"

#include <gantry/concat.hpp>

namespace gantry {

std::string metadata_path(std::string_view around, std::string_view key) {
  constexpr std::size_t max_key = 128;
  const std::string shown = quoted(key.substr(0, max_key), max_key);
  // without the quotes
  const std::string_view plain = std::string_view(shown).substr(1, shown.size() - 2);
  return around.empty() ? concat(metadata_file, ": ", plain) : concat(around, ".", plain);
}

std::string MetadataPath::text() const {
  if (around_ == nullptr) return {};
  if (index_) return concat(around_->text(), "[", *index_, "]");
  return metadata_path(around_->text(), key_);
}

void report_kind(JsonValue value, const MetadataPath& path, std::string_view expected,
                 Findings& findings) {
  findings.error(path.text(), "is ", name_of(value.kind()), ", expected ", expected);
}

std::optional<std::uint64_t> read_metadata_count(JsonValue value, const MetadataPath& path,
                                                 Findings& findings) {
  if (value.is(JsonKind::count)) return value.count();
  if (value.is(JsonKind::negative)) {
    findings.error(path.text(), "is ", value.integer(), ", expected a whole number, 0 or more");
  } else {
    report_kind(value, path, "a whole number, 0 or more", findings);
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_metadata_integer(JsonValue value, const MetadataPath& path,
                                                  Findings& findings) {
  if (value.is(JsonKind::negative)) return value.integer();
  if (value.is(JsonKind::count) && value.count() <= INT64_MAX) return value.integer();
  report_kind(value, path, "a whole number of 64 bits", findings);
  return std::nullopt;
}

std::optional<std::string> read_metadata_text(JsonValue value, const MetadataPath& path,
                                              Findings& findings) {
  if (value.is(JsonKind::text)) return std::string(value.text());
  report_kind(value, path, "a string", findings);
  return std::nullopt;
}

std::vector<std::string> read_metadata_texts(JsonValue list, const MetadataPath& path,
                                             Findings& findings) {
  std::vector<std::string> texts;
  std::size_t index = 0;
  for (const JsonValue item : list) {
    auto text = read_metadata_text(item, MetadataPath(path, index), findings);
    if (text) texts.push_back(std::move(*text));
    ++index;
  }
  return texts;
}

}  // namespace gantry
