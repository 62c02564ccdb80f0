// SPDX-License-Identifier: Apache-2.0
#include "row_check.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/subgraph_attributes.hpp>
#include <gantry/word_list.hpp>

#include <algorithm>

namespace gantry::dnnl_plugin {
namespace {

// "16i4o": numbers and small letters of the dimensions.
bool are_blocks(std::string_view text, std::string_view dimensions) {
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits == text.size()) return false;
    const char capital = static_cast<char>(text[digits] - 'a' + 'A');
    if (dimensions.find(capital) == dimensions.npos) return false;
    text.remove_prefix(digits + 1);
  }
  return true;
}

// "NCHW**" in words.
std::string pattern_text(std::string_view pattern) {
  const std::size_t stars = pattern.size() - std::min(pattern.find('*'), pattern.size());
  constexpr std::string_view orders[] = {"", " in any order", " in any order with blocks"};
  return concat(pattern.substr(0, pattern.size() - stars), orders[stars]);
}

// Returns the word of a row for an attribute: "axis", "axis=1/3"; empty if it has none.
std::string_view word_for(const OperatorRow& row, std::string_view attribute) {
  for (std::string_view words = row.attributes; !words.empty();) {
    const std::string_view word = take_word(words, ' ');
    if (word.substr(0, word.find('=')) == attribute) return word;
  }
  return {};
}

// The names of a row's attributes, without their values.
std::string names_of(const OperatorRow& row) {
  std::string names;
  for (std::string_view words = row.attributes; !words.empty();) {
    const std::string_view word = take_word(words, ' ');
    append(names, {TextPiece(names.empty() ? "" : " "), TextPiece(word.substr(0, word.find('=')))});
  }
  return names.empty() ? "none" : names;
}

bool is_ignored(const OperatorMatch& match, std::string_view attribute) {
  return std::ranges::any_of(ignored_attributes(), [&](const IgnoredAttributes& ignored) {
    return (ignored.operators.empty() || has_word(ignored.operators, match.base)) &&
           has_word(ignored.names, attribute);
  });
}

Status check_value(const SubgraphAttributes& attributes, std::string_view name,
                   const std::string& value, std::string_view alternatives) {
  for (std::string_view rest = alternatives; !rest.empty();) {
    if (matches_layout(value, take_word(rest, '/'))) return {};
  }
  std::string supported;
  while (!alternatives.empty()) {
    append(supported, {TextPiece(supported.empty() ? "" : ", "),
                       TextPiece(pattern_text(take_word(alternatives, '/')))});
  }
  return attributes.refuse_support(name, " is ", quoted(value), ", supported are ", supported);
}

Status check_attributes(const OperatorMatch& match, const SubgraphNode& node) {
  const SubgraphAttributes attributes(node);
  for (const SubgraphAttribute& attribute : node.attributes) {
    const std::string_view word = word_for(*match.row, attribute.name);
    if (word.empty()) {
      if (is_ignored(match, attribute.name)) continue;
      const auto value_of = [](const std::string& value) { return quoted(value); };
      return attributes.refuse_support(
          attribute.name, " with the value ", join(attribute.values, ", ", value_of, 8),
          " is not supported, supported attributes are ", names_of(*match.row));
    }
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;
    for (const std::string& value : attribute.values) {
      // An empty value is that of an absent attribute.
      if (!value.empty())
        GANTRY_CHECK(check_value(attributes, attribute.name, value, word.substr(equals + 1)));
    }
  }
  return {};
}

Status check_tensor(const OperatorMatch& match, const SubgraphNode& node, const TensorType& type,
                    std::string_view role, std::size_t i) {
  const auto refuse = [&](const auto&... parts) {
    return unsupported("operator ", quoted(node.name), ": ", role, " ", i, " is ",
                       type_text(type.dtype, type.shape), parts...)
        .with_reason("SUBGRAPH_OPERATOR");
  };
  if (!has_word(match.row->types, dtype_text(type.dtype)))
    return refuse(", supported types are ", match.row->types);
  return {};
}

// Memory that the library of an exporter works in, of any type.
bool is_workspace(const OperatorRow& row, std::size_t i) {
  // A row has few words; an operator of "name..." has any number of inputs.
  std::string_view words = row.inputs;
  for (std::size_t n = 0; !words.empty(); ++n) {
    const std::string_view word = take_word(words, ' ');
    if (n == i) return word == "[workspace]";
  }
  return false;
}

// "data weight [bias] [sum]": an input in brackets is there if the operator's name has its word; if
// the row has no such word, it may be absent. "name..." stands for any number.
Status check_input_count(const OperatorMatch& match, const SubgraphNode& node) {
  std::size_t min = 0, max = 0;
  bool has_more = false;
  for (std::string_view words = match.row->inputs; !words.empty();) {
    std::string_view word = take_word(words, ' ');
    if (word.ends_with("...")) {
      has_more = true;
      if (max == 0) min = 1;
      continue;
    }
    const bool is_optional = word.front() == '[';
    if (is_optional) word = word.substr(1, word.size() - 2);
    const bool is_fused = has_word(match.row->fusions, word);
    const bool is_named = std::ranges::find(match.fusions, word) != match.fusions.end();
    if (!is_optional || is_named) ++min;
    if (!is_optional || is_named || !is_fused) ++max;
  }
  const std::size_t count = node.inputs.size();
  if (count >= min && (has_more || count <= max)) return {};
  return malformed(node.at, "operator ", quoted(node.name), " has ", count, " inputs, expected ",
                   quoted(match.row->inputs))
      .with_reason("SUBGRAPH");
}

}  // namespace

bool matches_layout(std::string_view layout, std::string_view pattern) {
  const std::size_t letters = std::min(pattern.find('*'), pattern.size());
  const std::size_t stars = pattern.size() - letters;
  const std::string_view dimensions = pattern.substr(0, letters);
  if (stars == 0) return layout == pattern;
  if (layout.size() < letters ||
      !std::ranges::is_permutation(layout.substr(0, letters), dimensions))
    return false;
  return layout.size() == letters || (stars == 2 && are_blocks(layout.substr(letters), dimensions));
}

Status check_row(const OperatorMatch& match, const Subgraph& graph, const SubgraphNode& node) {
  GANTRY_CHECK(check_input_count(match, node));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_workspace(*match.row, i)) continue;
    GANTRY_CHECK(check_tensor(match, node, graph.entries[node.inputs[i]], "input", i));
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    GANTRY_CHECK(check_tensor(match, node, graph.entries[node.first_entry + i], "output", i));
  return check_attributes(match, node);
}

}  // namespace gantry::dnnl_plugin
