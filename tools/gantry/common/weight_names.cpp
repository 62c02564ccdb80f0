// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/weight_names.hpp"

#include "core/base/near_name.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>

namespace gantry::cli {
namespace {

// The name of a variable that a compiler makes from the name of a parameter: "fc1_weight" from
// "fc1.weight".
std::string variable_name(std::string_view name) {
  std::string variable(name);
  const auto is_other = [](char c) {
    return c != '_' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
           !(c >= 'A' && c <= 'Z');
  };
  std::ranges::replace_if(variable, is_other, '_');
  return variable;
}

constexpr std::string_view other_directory =
    ": select the directory of weights that was made for this model";

}  // namespace

WeightNames::WeightNames(const WeightDirectory& directory) : directory_(directory) {
  for (const WeightShard& shard : directory.index.shards) {
    for (const WeightRecord& record : shard.records) {
      if (records_.insert_or_assign(record.name, &record).second)
        by_variable_.emplace(variable_name(record.name), record.name);
    }
  }
}

Result<std::string> WeightNames::find(std::string_view input) const {
  if (records_.contains(input)) return std::string(input);
  const auto [first, end] = by_variable_.equal_range(std::string(input));
  if (first == end) return std::string();
  if (std::next(first) == end) return std::string(first->second);
  return invalid("input ", quoted(input), " is any of ", std::distance(first, end),
                 " weights: ", quoted(first->second), ", ", quoted(std::next(first)->second));
}

Status WeightNames::check_type(std::string_view name, const TensorType& type,
                               std::string_view expected) const {
  const WeightRecord& record = *records_.at(name);
  if (has_type(record.dtype, record.shape, type)) return {};
  return invalid("weight ", quoted(name), " of ", quoted(directory_.path.native()), " is ",
                 type_text(record.dtype, record.shape), ", expected ", expected, other_directory);
}

Result<std::string> WeightNames::of_input(std::string_view input,
                                          const std::optional<TensorType>& type,
                                          std::string_view type_text) const {
  GANTRY_TRY(std::string name, find(input));
  if (!name.empty() && type)
    GANTRY_CHECK(check_type(name, *type, concat(type_text, " as input ", quoted(input))));
  return name;
}

Result<std::vector<std::string>> WeightNames::of_params(std::span<const ModelParam> params) const {
  std::vector<std::string> names;
  std::vector<std::string_view> absent;
  for (const ModelParam& param : params) {
    if (!records_.contains(param.name)) absent.push_back(param.name);
    names.push_back(param.name);
  }
  if (!absent.empty()) {
    return invalid(
        quoted(directory_.path.native()), " lacks ", absent.size(), " of the ", params.size(),
        " weights in the model's metadata: ", join(absent, ", ", in_quotes, max_listed_names),
        "; it has ", text(), other_directory);
  }
  for (const ModelParam& param : params)
    GANTRY_CHECK(
        check_type(param.name, param.type, concat(param.type_text, " in the model's metadata")));
  return names;
}

std::vector<std::string> WeightNames::numbered() const {
  std::vector<std::string> names;
  while (true) {
    std::string name = concat("param_", names.size());
    if (!records_.contains(name)) return names;
    names.push_back(std::move(name));
  }
}

std::string WeightNames::text() const {
  const std::string text = join(
      records_, ", ", [](const auto& record) { return quoted(record.first); }, max_listed_names);
  return text.empty() ? "none" : text;
}

}  // namespace gantry::cli
