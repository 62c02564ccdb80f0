// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/metadata.hpp"

#include "core/base/json_writer.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Keys are written in bytewise order, as json.dumps(sort_keys=True) of Python writes them.

void write_tensors(std::string_view key, const std::optional<std::vector<MlfTensor>>& tensors,
                   JsonWriter& json) {
  if (!tensors) return;
  std::vector<const MlfTensor*> sorted;
  for (const MlfTensor& tensor : *tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, {}, [](const MlfTensor* tensor) { return tensor->name; });
  json.begin_object(key);
  for (const MlfTensor* tensor : sorted) {
    json.begin_object(tensor->name);
    json.field("dtype", tensor->dtype);
    json.field("size", tensor->size);
    json.end();
  }
  json.end();
}

void write_main(const MlfMain& main, JsonWriter& json) {
  json.begin_object();
  json.field("constants_size_bytes", main.constants_size_bytes);
  json.field("device", main.device);
  write_tensors("inputs", main.inputs, json);
  json.field("io_size_bytes", main.io_size_bytes);
  write_tensors("outputs", main.outputs, json);
  json.field("workspace_size_bytes", main.workspace_size_bytes);
  json.end();
}

void write_function(const MlfFunction& function, JsonWriter& json) {
  json.begin_object();
  json.field("function_name", function.function_name);
  json.begin_list("workspace");
  for (const MlfWorkspace& workspace : function.workspace) {
    json.begin_object();
    json.field("device", workspace.device);
    json.field("workspace_size_bytes", workspace.workspace_size_bytes);
    json.end();
  }
  json.end();
  json.end();
}

void write_argument(const MlfArgument& argument, JsonWriter& json) {
  json.begin_object();
  json.field("dtype", argument.dtype);
  if (!argument.input_binding.empty()) json.field("input_binding", argument.input_binding);
  json.field("shape", argument.shape);
  json.field("size_bytes", argument.size_bytes);
  json.end();
}

void write_operators(const std::vector<MlfOperator>& operators, JsonWriter& json) {
  for (const MlfOperator& one : operators) {
    json.begin_list(one.function_name);
    for (const MlfArgument& argument : one.arguments) write_argument(argument, json);
    json.end();
  }
}

void write_memory(const MlfModel& model, JsonWriter& json) {
  json.begin_object("memory");
  if (model.is_operator()) {
    write_operators(model.operators, json);
    return json.end();
  }
  json.begin_object("functions");
  json.begin_list("main");
  for (const MlfMain& main : model.main) write_main(main, json);
  json.end();
  json.begin_list("operator_functions");
  for (const MlfFunction& function : model.functions) write_function(function, json);
  json.end();
  json.end();
  if (model.sids) {
    json.begin_list("sids");
    for (const MlfStorage& storage : *model.sids) {
      json.begin_object();
      if (!storage.input_binding.empty()) json.field("input_binding", storage.input_binding);
      json.field("size_bytes", storage.size_bytes);
      json.field("storage_id", storage.storage_id);
      json.end();
    }
    json.end();
  }
  json.end();
}

void write_dependencies(const MlfModel& model, JsonWriter& json) {
  if (model.dependencies.empty()) return;
  json.begin_list("external_dependencies");
  for (const MlfDependency& dependency : model.dependencies) {
    json.begin_object();
    json.field("short_name", dependency.short_name);
    json.field("url", dependency.url);
    json.field("url_type", dependency.url_type);
    if (!dependency.version_spec.empty()) json.field("version_spec", dependency.version_spec);
    json.end();
  }
  json.end();
}

// The key of a target in version 5: its device type, which later versions store only for the main
// function. nullopt: unknown.
std::optional<std::string> device_key(const MlfModel& model, std::size_t target) {
  if (!model.targets[target].device_type.empty()) return model.targets[target].device_type;
  if (model.targets.size() != 1) return std::nullopt;
  constexpr std::int64_t cpu = 1;
  return std::to_string(model.main.empty() ? cpu : model.main.front().device);
}

Status check_flat_targets(const MlfModel& model) {
  for (std::size_t i = 0; i < model.targets.size(); ++i) {
    if (device_key(model, i)) continue;
    return invalid("target ", i, " ", quoted(model.targets[i].text),
                   " has no device type, which version 5 requires; write version 7");
  }
  return {};
}

void write_targets(const MlfModel& model, std::uint64_t version, JsonWriter& json) {
  if (version >= 6) {
    json.begin_list("target");
    for (const MlfTarget& target : model.targets) json.value(target.text);
  } else {
    json.begin_object("target");
    for (std::size_t i = 0; i < model.targets.size(); ++i) {
      json.field(*device_key(model, i), model.targets[i].text);
    }
  }
  json.end();
}

void write_files(const MlfModel& model, JsonWriter& json) {
  if (!model.blobs.empty()) {
    json.begin_list("x_blobs");
    for (const MlfFile& blob : model.blobs) {
      json.begin_object();
      json.field("path", blob.path);
      json.field("sha256", blob.sha256);
      json.field("type_key", blob.type_key);
      json.end();
    }
    json.end();
  }
  if (model.library) {
    json.begin_object("x_library");
    json.field("path", model.library->path);
    json.field("sha256", model.library->sha256);
    json.end();
  }
}

// Writes the members of a model's object. In version 5 they surround the key "version".
void write_model(const MlfModel& model, std::uint64_t version, bool is_flat, JsonWriter& json) {
  json.field("executors", model.executors);
  json.field("export_datetime", model.export_datetime);
  write_dependencies(model, json);
  write_memory(model, json);
  json.field("model_name", model.model_name);
  json.field("style", model.style);
  write_targets(model, version, json);
  if (is_flat) json.field("version", version);
  write_files(model, json);
}

}  // namespace

Result<std::string> write_mlf_metadata(const MlfMetadata& metadata, std::uint64_t version) {
  if (version != 5 && version != 7) {
    return invalid("version is ", version, ", this version writes 5 and 7");
  }
  if (version == 5 && metadata.models.size() != 1) {
    return invalid("archive has ", metadata.models.size(), " models, version 5 has one");
  }
  const auto operators = std::ranges::find_if(metadata.models, &MlfModel::is_operator);
  if (operators != metadata.models.end() && metadata.models.size() != 1) {
    return invalid("archive has ", metadata.models.size(), " models, and model ",
                   quoted(operators->name),
                   " has the style \"operator\"; an archive of operators has one model");
  }
  if (version == 5) GANTRY_CHECK(check_flat_targets(metadata.models.front()));
  // an operator is flat in every version
  const bool is_flat = version == 5 || metadata.models.front().is_operator();
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; }, {.lines = true, .ascii = true});
  json.begin_object();
  if (is_flat) {
    write_model(metadata.models.front(), version, true, json);
  } else {
    std::vector<const MlfModel*> sorted;
    for (const MlfModel& model : metadata.models) sorted.push_back(&model);
    std::ranges::sort(sorted, {}, [](const MlfModel* model) { return model->name; });
    json.begin_object("modules");
    for (const MlfModel* model : sorted) {
      json.begin_object(model->name);
      write_model(*model, version, false, json);
      json.end();
    }
    json.end();
    json.field("version", version);
  }
  json.end();
  return text;
}

}  // namespace gantry
