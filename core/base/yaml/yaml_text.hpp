// SPDX-License-Identifier: Apache-2.0
//
// Parses strict YAML to a tree of values with their locations.
//
// Strict YAML is one document in UTF-8 without tabs in the indentation, anchors, aliases, merge
// keys, tags and duplicate keys, and with limits on size and depth. Only yaml_text.cpp uses
// yaml-cpp, and only its event interface: yaml-cpp's nodes keep duplicate keys and expand aliases
// without a limit.
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
  // nesting of lists and maps; the outermost one has depth 1
  std::size_t depth = 16;
};

// Lines and columns begin at 1; columns count characters, the offset counts bytes.
struct YamlLocation {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint64_t offset = 0;
};

enum class YamlKind { nothing, scalar, list, map };

struct YamlEntry;

// One value as written. A scalar is kept as text; the field that it belongs to determines its type.
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

  // The value of `key`; NULL if this is not a map or has no such key.
  const YamlValue* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  YamlLocation location;
  YamlValue value;
};

struct YamlDocument {
  // name for errors
  std::string file;
  // of kind `nothing` for an empty document
  YamlValue root;
};

// Parses one document.
//
// file     name of the text for errors; not opened
// returns  malformed with the offset of the error, a text of the form
//          "<file>:<line>:<column>: <key path>: <what>", and a reason: YAML_SYNTAX,
//          YAML_DUPLICATE_KEY, YAML_TOO_LARGE, YAML_NOT_UTF8, YAML_CONTROL_CHARACTER, YAML_TAB,
//          YAML_TOO_DEEP, YAML_ALIAS, YAML_TAG, YAML_SECOND_DOCUMENT
// costs    O(bytes); the recursion depth is at most limits.depth
Result<YamlDocument> parse_yaml(std::string_view text, std::string file,
                                const YamlLimits& limits = {});

// Key paths for errors: "targets.name" for key "name" of "targets", "targets[3]" for its item 3.
// The path of the root is empty.
std::string yaml_path(std::string_view parent, std::string_view key);
std::string yaml_path(std::string_view parent, std::size_t index);

// The error "<file>:<line>:<column>: <path>: <parts>"; an empty path is omitted.
template <class... Parts>
Failure yaml_error(std::string_view file, const YamlLocation& location, std::string_view path,
                   const Parts&... parts) {
  return malformed(location.offset, file, ":", location.line, ":", location.column, ": ", path,
                   path.empty() ? "" : ": ", parts...);
}

}  // namespace gantry
