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

}  // namespace

WeightNames::WeightNames(const WeightDirectory& directory)
    : WeightNames(directory.path.native(), "directory") {
  for (const WeightShard& shard : directory.index.shards) {
    for (const WeightRecord& record : shard.records) add(record.name, {record.dtype, record.shape});
  }
}

Result<WeightNames> WeightNames::of_file(const std::string& path, const ArrayFile& file) {
  WeightNames names(path, "file");
  for (std::size_t i = 0; i < file.names().size(); ++i) {
    if (file.names()[i].empty()) {
      return invalid(quoted(path),
                     " has an array without a name, expected named weights; --input "
                     "NAME=FILE.npy passes one array");
    }
    GANTRY_TRY(ArrayHeader header, file.header(i));
    names.add(file.names()[i], {header.dtype, std::move(header.shape)});
  }
  return names;
}

void WeightNames::add(std::string_view name, TensorType type) {
  if (types_.insert_or_assign(std::string(name), std::move(type)).second)
    by_variable_.emplace(variable_name(name), name);
}

std::string WeightNames::advice() const {
  return concat(": select the ", place_, " of weights that was made for this model");
}

Result<std::string> WeightNames::find(std::string_view input) const {
  if (types_.contains(input)) return std::string(input);
  const auto [first, end] = by_variable_.equal_range(std::string(input));
  if (first == end) return std::string();
  if (std::next(first) == end) return std::string(first->second);
  return invalid("input ", quoted(input), " is any of ", std::distance(first, end),
                 " weights: ", quoted(first->second), ", ", quoted(std::next(first)->second));
}

Status WeightNames::check_type(std::string_view name, const TensorType& type,
                               std::string_view expected) const {
  const TensorType& own = types_.find(name)->second;
  if (has_type(own.dtype, own.shape, type)) return {};
  return invalid("weight ", quoted(name), " of ", quoted(path_), " is ",
                 type_text(own.dtype, own.shape), ", expected ", expected, advice());
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
    if (!types_.contains(param.name)) absent.push_back(param.name);
    names.push_back(param.name);
  }
  if (!absent.empty()) {
    return invalid(quoted(path_), " lacks ", absent.size(), " of the ", params.size(),
                   " weights in the model's metadata: ",
                   join(absent, ", ", in_quotes, max_listed_names), "; it has ", text(), advice());
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
    if (!types_.contains(name)) return names;
    names.push_back(std::move(name));
  }
}

std::string WeightNames::text() const {
  const std::string text = join(
      types_, ", ", [](const auto& record) { return quoted(record.first); }, max_listed_names);
  return text.empty() ? "none" : text;
}

}  // namespace gantry::cli
