// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/detail_text.hpp"

#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"

#include "core/base/text.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gantry::cli {
namespace {

bool is_leaf(const Detail& detail) {
  return detail.kind != Detail::Kind::list && detail.kind != Detail::Kind::record;
}

bool is_shallow(const Detail& detail) { return std::ranges::all_of(detail.children, is_leaf); }

bool is_plain(const Detail& detail) { return is_leaf(detail) && detail.name.empty(); }

std::string value_text(const Detail& detail) {
  const auto bytes = parse_number<std::uint64_t>(detail.value);
  return detail.kind == Detail::Kind::size && bytes ? human_size(*bytes) : escaped(detail.value);
}

}  // namespace

std::string inline_text(const Detail& detail) {
  if (is_leaf(detail)) return value_text(detail);
  if (const Detail* dtype = detail.find("dtype"), *shape = detail.find("shape"),
      *size = detail.find("size");
      detail.children.size() == 3 && dtype && shape && size) {
    return concat(value_text(*dtype), inline_text(*shape), ", ", value_text(*size));
  }
  const std::string text = join(detail.children, ", ", [](const Detail& child) {
    return (child.name.empty() ? "" : escaped(child.name) + " ") + inline_text(child);
  });
  return detail.kind == Detail::Kind::list ? "[" + text + "]" : text;
}

// The recursion is bounded by the nesting of payload layouts (core/formats/limits.hpp), which does
// not depend on the file.
void write_detail_text(const Detail& detail, std::size_t indent, const TextSink& sink) {
  const std::string name = detail.name.empty() ? std::string("-") : escaped(detail.name);
  const std::string margin(indent, ' ');
  const bool few = detail.children.size() <= 8;
  bool one_line = is_leaf(detail) || (is_shallow(detail) && few);
  // a record of short lists, for example a kernel
  if (!one_line && few && detail.kind == Detail::Kind::record)
    one_line = std::ranges::all_of(detail.children, is_shallow);
  if (one_line) {
    const std::string line = text_line(margin, name, "  ", inline_text(detail));
    if (is_leaf(detail) || line.size() <= max_columns + 1) return sink(line);
  }
  sink(text_line(margin, name, " (", detail.children.size(), ")"));
  if (detail.kind == Detail::Kind::list && std::ranges::all_of(detail.children, is_plain)) {
    std::vector<std::string> texts;
    for (const Detail& child : detail.children) texts.push_back(value_text(child));
    return write_list(texts, indent + 2, indent + 2, sink);
  }
  for (const Detail& child : detail.children) write_detail_text(child, indent + 2, sink);
}

void write_list(std::span<const std::string> texts, std::size_t indent, std::size_t further,
                const TextSink& sink) {
  std::string line;
  for (const std::string& text : texts) {
    if (!line.empty() && line.size() + 3 + text.size() > max_columns) {
      sink(text_line(line, ","));
      line = std::string(further, ' ');
    } else {
      line += line.empty() ? std::string(indent, ' ') : ", ";
    }
    line += text;
  }
  if (!line.empty()) sink(text_line(line));
}

}  // namespace gantry::cli
