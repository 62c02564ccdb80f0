// SPDX-License-Identifier: Apache-2.0
//
// Strict YAML text to a tree of values that remember their places.
//
// Strict means: one document, UTF-8, no tabs in front of a line, no anchors, aliases, merge keys or
// tags, every key of a map once, limits on size and depth. What is left is the part of YAML that
// two people read alike. This is the only room that sees yaml-cpp, and only its event handler: its
// own nodes keep duplicate keys silently and follow aliases without bound.
//
//     parse_yaml -> YamlDocument -> read_record (yaml_record.hpp) -> checked values
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct YamlLimits {
  std::size_t bytes = 64 * 1024;
  // lists and maps inside one another; the outermost counts 1
  std::size_t depth = 16;
};

// Line and column count from 1, columns in characters; offset in bytes.
struct YamlLocation {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint64_t offset = 0;
};

enum class YamlKind { nothing, scalar, list, map };

struct YamlEntry;

// One value as written. A scalar stays text: what it means depends on the field that it stands in.
struct YamlValue {
  YamlKind kind = YamlKind::nothing;
  YamlLocation location;
  // scalar: without its quotes
  std::string text;
  // scalar: '...', "...", or a block after | or >
  bool quoted = false;
  // list
  std::vector<YamlValue> items;
  // map, in file order, keys unique
  std::vector<YamlEntry> entries;

  // The value under `key`, or NULL where this is no map or has no such key.
  const YamlValue* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  YamlLocation location;
  YamlValue value;
};

struct YamlDocument {
  // as errors name it
  std::string file;
  // nothing for an empty document
  YamlValue root;
};

// Reads one document.
//
// file     how errors name the text; not opened
// returns  malformed with the offset of the place, "<file>:<line>:<column>: <key path>: <what>",
// and a reason:
//          YAML_SYNTAX, YAML_DUPLICATE_KEY, YAML_TOO_LARGE, YAML_NOT_UTF8, YAML_CONTROL_CHARACTER,
//          YAML_TAB, YAML_TOO_DEEP, YAML_ALIAS, YAML_TAG, YAML_SECOND_DOCUMENT
// costs    O(bytes); recursion is bounded by limits.depth
Result<YamlDocument> parse_yaml(std::string_view text, std::string file,
                                const YamlLimits& limits = {});

// "name" under "targets" is "targets.name", item 3 of it "targets[3]"; the outermost path is empty.
std::string yaml_path(std::string_view parent, std::string_view key);
std::string yaml_path(std::string_view parent, std::size_t index);

// "<file>:<line>:<column>: <path>: <parts>"; an empty path is left out.
template <class... Parts>
Failure yaml_error(std::string_view file, const YamlLocation& location, std::string_view path,
                   const Parts&... parts) {
  return malformed(location.offset, file, ":", location.line, ":", location.column, ": ", path,
                   path.empty() ? "" : ": ", parts...);
}

}  // namespace gantry
