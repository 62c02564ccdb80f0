// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_weights.hpp"

#include "core/base/mapped_file.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "tools/gantry/common/model_metadata.hpp"

#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

namespace gantry::cli {
namespace {

// without parameters; returns JSON text
constexpr char metadata_function[] = "_metadata";

// The text that describes the model's weights, see common/model_metadata.hpp; nullopt if the model
// has none.
Result<std::optional<std::string>> metadata_of(const Model& model) {
  GANTRY_TRY(const std::vector<std::string> functions, model.functions());
  if (!std::ranges::binary_search(functions, metadata_function))
    return std::optional<std::string>();
  GANTRY_TRY(const ModelFunction metadata, model.function(metadata_function));
  GANTRY_TRY(const std::vector<ParameterInfo> inputs, metadata.inputs());
  if (!inputs.empty()) return std::optional<std::string>();
  GANTRY_TRY(const std::vector<NamedValue> results, metadata.run({}));
  auto text = results.size() == 1 ? results.front().value.text() : Any().text();
  if (!text.ok()) return std::move(text).failure().at("in function ", quoted(metadata_function));
  return std::optional(std::move(*text));
}

// The weights that are the value of an input.
struct InputWeights {
  // empty: the input has another value
  std::vector<std::string> names;
  bool is_tuple = false;
};

Result<std::vector<std::string>> weights_of_tuple(const Session& model, const ParameterInfo& input,
                                                  const WeightNames& names) {
  GANTRY_TRY(const std::optional<std::string> metadata, metadata_of(model.function().model()));
  if (metadata) {
    GANTRY_TRY(const std::vector<ModelParam> params, parse_model_metadata(*metadata));
    if (!params.empty()) return names.of_params(params);
  }
  std::vector<std::string> numbered = names.numbered();
  if (!numbered.empty()) return numbered;
  return invalid("the order of the weights in the tuple ", quoted(input.name), " is unknown: ",
                 metadata ? "the model's metadata list none" : "the model has no metadata",
                 ", and the ", names.place(), " has ", names.text(),
                 ", none of them param_0; --script passes them by name");
}

Result<std::vector<InputWeights>> weights_of(const Session& model, const WeightNames& names) {
  std::vector<InputWeights> all;
  bool has_weights = false;
  const auto is_weight = [](const ParameterInfo& input) {
    return (input.flags & GANTRY_PARAMETER_WEIGHT) != 0;
  };
  // What the model states is preferred to names and kinds.
  const bool are_stated = std::ranges::any_of(model.inputs(), is_weight);
  for (const ParameterInfo& input : model.inputs()) {
    InputWeights weights{.names = {}, .is_tuple = input.is_tuple()};
    if (are_stated && !is_weight(input)) {
      weights.is_tuple = false;
    } else if (input.is_tuple()) {
      GANTRY_TRY(weights.names, weights_of_tuple(model, input, names));
    } else {
      GANTRY_TRY(std::string name, names.of_input(input.name, input.type, input.type_text));
      if (!name.empty()) weights.names.push_back(std::move(name));
    }
    has_weights = has_weights || !weights.names.empty();
    all.push_back(std::move(weights));
  }
  if (has_weights) return all;
  return invalid("no input of ", model.subject(),
                 " is a tuple or has the name of a weight: ", names.text());
}

using WeightOf = std::function<Result<Any>(const std::string& name)>;

Result<InputValues> values_of(const Runtime& runtime, std::span<const InputWeights> weights,
                              const WeightOf& weight_of) {
  InputValues values;
  for (const InputWeights& one : weights) {
    std::vector<Any> items;
    for (const std::string& name : one.names) {
      GANTRY_TRY(Any item, weight_of(name));
      items.push_back(std::move(item));
    }
    Any value;
    if (one.is_tuple) {
      GANTRY_TRY(value, runtime.array(items));
    } else if (!items.empty()) {
      value = std::move(items.front());
    }
    values.push_back(std::move(value));
  }
  return values;
}

Result<InputValues> load_directory(const Runtime& runtime, const std::string& path,
                                   gantry_device_id device, std::span<const InputWeights> weights) {
  GANTRY_TRY(const Function load, runtime.function("vm.builtin.tensor_cache.load"));
  auto loaded = load(path, device.type, device.index);
  if (!loaded.ok()) return std::move(loaded).failure().at("while loading ", quoted(path));
  GANTRY_TRY(const Function get, runtime.function("vm.builtin.tensor_cache.get"));
  auto values = values_of(runtime, weights, [&](const std::string& name) { return get(name); });
  // The values hold the weights that are used. Tensors in the cache may keep the runtime alive.
  GANTRY_TRY(const Function clear, runtime.function("vm.builtin.tensor_cache.clear"));
  GANTRY_CHECK(clear());
  return values;
}

Result<InputValues> load_file(const Runtime& runtime, const std::string& path,
                              const std::string& device, gantry_device_id id,
                              std::span<const InputWeights> weights) {
  GANTRY_TRY(auto arrays, runtime.read_tensors(path));
  std::map<std::string, Tensor, std::less<>> tensors;
  for (auto& [name, tensor] : arrays) tensors.insert_or_assign(std::move(name), std::move(tensor));
  return values_of(runtime, weights, [&](const std::string& name) -> Result<Any> {
    const auto found = tensors.find(name);
    if (found == tensors.end())
      return not_found(quoted(path), " has been replaced and has no weight ", quoted(name));
    const Tensor& on_cpu = found->second;
    if (id.type == cpu_device_type) return Any(on_cpu);
    GANTRY_TRY(const Tensor moved, runtime.tensor(on_cpu.shape(), on_cpu.dtype(), device));
    GANTRY_CHECK(runtime.copy(on_cpu, moved));
    return Any(moved);
  });
}

}  // namespace

Result<ModelWeights> ModelWeights::open(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) {
    GANTRY_TRY(WeightDirectory directory, WeightDirectory::open(path));
    WeightNames names(directory);
    return ModelWeights(path, std::move(names), std::move(directory));
  }
  GANTRY_TRY(const auto file, MappedFile::open(path));
  const auto read_names = [&]() -> Result<WeightNames> {
    GANTRY_TRY(const ArrayFile arrays, ArrayFile::parse(file->bytes()));
    return WeightNames::of_file(path, arrays);
  };
  auto names = read_names();
  if (!names.ok()) return std::move(names).failure().at("while reading weights of ", quoted(path));
  return ModelWeights(path, std::move(*names), std::nullopt);
}

Result<InputValues> ModelWeights::load(const Runtime& runtime, const Session& model,
                                       const std::string& device) const {
  // before the data are read
  auto weights = weights_of(model, names_);
  if (!weights.ok() && weights.error().code == Code::invalid) {
    return std::move(weights).failure().at("inputs of ", model.subject(), ": ",
                                           inputs_text(model.inputs()));
  }
  if (!weights.ok()) return std::move(weights).failure();
  GANTRY_TRY(const gantry_device_id id, runtime.device(device));
  return directory_ ? load_directory(runtime, path_, id, *weights)
                    : load_file(runtime, path_, device, id, *weights);
}

std::vector<std::filesystem::path> ModelWeights::files() const {
  if (!directory_) return {path_};
  std::vector<std::filesystem::path> files{directory_->path / directory_->index_name};
  for (const WeightShard& shard : directory_->index.shards)
    files.push_back(directory_->path / shard.path);
  return files;
}

}  // namespace gantry::cli
