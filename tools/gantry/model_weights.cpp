// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_weights.hpp"

#include "core/base/near_name.hpp"
#include "core/format/weight_directory.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

class WeightNames {
 public:
  explicit WeightNames(const WeightIndex& index) {
    for (const WeightShard& shard : index.shards) {
      for (const WeightRecord& record : shard.records) {
        if (names_.insert(record.name).second)
          by_variable_.emplace(variable_name(record.name), record.name);
      }
    }
  }

  // Returns the weight of an input; empty if there is none.
  //
  // returns  invalid  several weights have the input's name as their variable
  Result<std::string> of_input(const std::string& input) const {
    if (names_.contains(input)) return input;
    const auto [first, end] = by_variable_.equal_range(input);
    if (first == end) return std::string();
    if (std::next(first) == end) return first->second;
    return invalid("input ", quoted(input), " is any of ", std::distance(first, end),
                   " weights: ", quoted(first->second), ", ", quoted(std::next(first)->second));
  }

  // `"fc1.bias", "fc1.weight" and 7 more`, or "none".
  std::string text() const {
    const std::string text = join(names_, ", ", in_quotes, max_listed_names);
    return text.empty() ? "none" : text;
  }

 private:
  std::set<std::string> names_;
  std::multimap<std::string, std::string> by_variable_;
};

// The weights param_0, param_1 and so on as an array.
Result<Any> numbered_weights(const Runtime& runtime, const InputInfo& input,
                             const WeightNames& names) {
  GANTRY_TRY(const Function array, runtime.function("vm.builtin.param_array_from_cache"));
  GANTRY_TRY(Any params, array("param", -1));
  GANTRY_TRY(const std::vector<Any> items, params.items());
  if (!items.empty()) return params;
  return invalid("input ", quoted(input.name),
                 " is a tuple, whose items are weights with the names param_0, param_1 and so on; "
                 "the directory has ",
                 names.text(), ", whose order it does not contain: --script passes them by name");
}

Result<std::vector<bool>> set_all(Runtime& runtime, ModelFunction& model,
                                  const WeightNames& names) {
  const std::span<const InputInfo> inputs = model.inputs();
  GANTRY_TRY(const Function get, runtime.function("vm.builtin.tensor_cache.get"));
  std::vector<bool> is_set(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    GANTRY_TRY(const std::string weight, names.of_input(inputs[i].name));
    if (weight.empty() && !inputs[i].is_tuple) continue;
    GANTRY_TRY(const Any value,
               weight.empty() ? numbered_weights(runtime, inputs[i], names) : get(weight));
    GANTRY_CHECK(model.set_value(i, value));
    is_set[i] = true;
  }
  if (std::ranges::find(is_set, true) != is_set.end()) return is_set;
  return invalid("no input of ", model.subject(),
                 " is a tuple or has the name of a weight: ", names.text());
}

}  // namespace

Result<std::vector<bool>> set_weights(Runtime& runtime, ModelFunction& model,
                                      const std::string& directory, const std::string& device) {
  GANTRY_TRY(const WeightDirectory weights, WeightDirectory::open(directory));
  GANTRY_TRY(const gantry_device_id id, runtime.device(device));
  GANTRY_TRY(const Function load, runtime.function("vm.builtin.tensor_cache.load"));
  auto loaded = load(directory, id.type, id.index);
  if (!loaded.ok()) return std::move(loaded).failure().at("while loading ", quoted(directory));
  auto is_set = set_all(runtime, model, WeightNames(weights.index));
  // The model holds the weights that it uses. Tensors in the cache may keep the runtime alive.
  GANTRY_TRY(const Function clear, runtime.function("vm.builtin.tensor_cache.clear"));
  GANTRY_CHECK(clear());
  if (!is_set.ok() && is_set.error().code == Code::invalid) {
    return std::move(is_set).failure().at("inputs of ", model.subject(), ": ",
                                          described(model.inputs()));
  }
  return is_set;
}

Result<std::vector<std::filesystem::path>> weight_files(const std::string& directory) {
  GANTRY_TRY(const WeightDirectory weights, WeightDirectory::open(directory));
  std::vector<std::filesystem::path> files{weights.path / weights.index_name};
  for (const WeightShard& shard : weights.index.shards) files.push_back(weights.path / shard.path);
  return files;
}

}  // namespace gantry::cli
