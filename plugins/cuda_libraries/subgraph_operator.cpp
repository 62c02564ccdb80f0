// SPDX-License-Identifier: Apache-2.0
#include "subgraph_operator.hpp"

#include <gantry/join.hpp>
#include <gantry/word_list.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace gantry::cuda_libraries {
namespace {

// Attributes that exporters write and that no operator requires.
constexpr std::string_view ignored =
    "channels kernel_size units out_dtype astype_dtype PartitionedFromPattern "
    "auto_scheduler_rewritten_layout meta_schedule_original_shape";

std::array<std::span<const OperatorRow>, 3> operator_tables() {
  return {attention_operators(), convolution_operators(), product_operators()};
}

Status check_attributes(const OperatorRow& row, const SubgraphNode& node) {
  for (const SubgraphAttribute& attribute : node.attributes) {
    if (has_word(row.attributes, attribute.name) || has_word(ignored, attribute.name)) continue;
    return SubgraphAttributes(node).refuse_support(
        attribute.name, " is not supported, supported attributes are ",
        row.attributes.empty() ? "none" : row.attributes);
  }
  return {};
}

// Removes "_<word>" from the beginning of a text.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with('_') || !text.substr(1).starts_with(word)) return false;
  const std::string_view rest = text.substr(1 + word.size());
  if (!rest.empty() && rest.front() != '_') return false;
  text = rest;
  return true;
}

// returns  nullopt if the row does not have what the name has behind its own
std::optional<Fusions> read_fusions(const OperatorRow& row, std::string_view name) {
  if (!name.starts_with(row.name)) return {};
  std::string_view rest = name.substr(row.name.size());
  Fusions found;
  for (std::string_view words = row.fusions; !words.empty() && !rest.empty();) {
    const std::string_view word = take_word(words, ' ');
    if (word == "bias") {
      found.has_bias = take(rest, word);
    } else if (found.activation.empty() && take(rest, word)) {
      found.activation = word;
    }
  }
  return rest.empty() ? std::optional(found) : std::nullopt;
}

}  // namespace

const FunctionRow& function_named(std::string_view name) {
  for (const auto rows : function_tables()) {
    const auto found = std::ranges::find(rows, name, &FunctionRow::name);
    if (found != rows.end()) return *found;
  }
  assert(false);
  std::abort();
}

Status call_function(const FunctionRow& function, const OperatorCall& call,
                     std::span<const gantry_value> args) {
  GANTRY_CHECK(function.run(call.services, {function.usage, call.env, args}));
  return {};
}

Result<std::unique_ptr<const Operator>> read_operator(std::string_view key,
                                                      const SubgraphNode& node) {
  std::vector<std::string> known;
  for (const auto rows : operator_tables()) {
    for (const OperatorRow& row : rows) {
      if (row.key != key) continue;
      known.emplace_back(row.name);
      const auto fusions = read_fusions(row, node.name);
      if (!fusions) continue;
      const std::size_t bias = fusions->has_bias ? 1 : 0;
      const std::size_t min = row.min_inputs + bias, max = row.max_inputs + bias;
      if (node.output_count != 1 || node.inputs.size() < min || node.inputs.size() > max) {
        return malformed(node.at, "operator ", quoted(node.name), " has ", node.inputs.size(),
                         " inputs and ", node.output_count, " outputs, expected ", min,
                         min == max ? std::string() : concat(" to ", max), " and 1")
            .with_reason("SUBGRAPH");
      }
      GANTRY_CHECK(check_attributes(row, node));
      return row.make(node, *fusions);
    }
  }
  return unsupported("operator ", quoted(node.name), " is not supported for ", quoted(key),
                     " on a GPU, supported are ", join(known, ", "))
      .with_reason("SUBGRAPH_OPERATOR");
}

}  // namespace gantry::cuda_libraries
