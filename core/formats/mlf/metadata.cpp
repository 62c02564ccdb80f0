// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/metadata.hpp"

#include "core/formats/mlf/metadata_fields.hpp"

#include <gantry/json_tree.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace gantry {
namespace {

// Each takes several hundred bytes of memory.
constexpr std::size_t max_models = 1024;

// A list of records that one member of T receives.
template <class T, class Record, auto Member, const auto& Fields>
void read_records(JsonValue list, const MetadataPath& path, T& to, Findings& findings) {
  to.*Member = read_metadata_objects<Record>(list, path, max_mlf_version, Fields, findings);
}
// The same for an object whose keys are names.
template <class T, class Record, auto Member, const auto& Fields>
void read_named(JsonValue object, const MetadataPath& path, T& to, Findings& findings) {
  to.*Member =
      read_metadata_objects<Record>(object, path, max_mlf_version, Fields, findings, &Record::name);
}

constexpr MetadataField<MlfStorage> storage_fields[] = {
    {"storage_id", &MlfStorage::storage_id},
    {"size_bytes", &MlfStorage::size_bytes},
    {"input_binding", &MlfStorage::input_binding, false},
};

constexpr MetadataField<MlfTensor> tensor_fields[] = {
    {"size", &MlfTensor::size},
    {"dtype", &MlfTensor::dtype},
};

constexpr MetadataField<MlfMain> main_fields[] = {
    {"device", &MlfMain::device},
    {"workspace_size_bytes", &MlfMain::workspace_size_bytes},
    {"constants_size_bytes", &MlfMain::constants_size_bytes, false},
    {"io_size_bytes", &MlfMain::io_size_bytes},
    {"inputs", read_named<MlfMain, MlfTensor, &MlfMain::inputs, tensor_fields>, false,
     JsonKind::object},
    {"outputs", read_named<MlfMain, MlfTensor, &MlfMain::outputs, tensor_fields>, false,
     JsonKind::object},
};

constexpr MetadataField<MlfWorkspace> workspace_fields[] = {
    {"device", &MlfWorkspace::device},
    {"workspace_size_bytes", &MlfWorkspace::workspace_size_bytes},
};

constexpr MetadataField<MlfFunction> function_fields[] = {
    {"function_name", &MlfFunction::function_name},
    {"workspace",
     read_records<MlfFunction, MlfWorkspace, &MlfFunction::workspace, workspace_fields>, true},
};

constexpr MetadataField<MlfModel> functions_fields[] = {
    {"main", read_records<MlfModel, MlfMain, &MlfModel::main, main_fields>},
    {"operator_functions",
     read_records<MlfModel, MlfFunction, &MlfModel::functions, function_fields>},
};

void read_functions(JsonValue object, const MetadataPath& path, MlfModel& model,
                    Findings& findings) {
  read_metadata_object<MlfModel>(object, path, max_mlf_version, functions_fields, model, findings);
}

constexpr MetadataField<MlfModel> memory_fields[] = {
    {"sids", read_records<MlfModel, MlfStorage, &MlfModel::sids, storage_fields>, false},
    {"functions", read_functions, true, JsonKind::object},
};

void read_extents(JsonValue list, const MetadataPath& path, MlfArgument& argument,
                  Findings& findings) {
  std::size_t index = 0;
  for (const JsonValue item : list) {
    const auto extent = read_metadata_integer(item, MetadataPath(path, index), findings);
    if (extent) argument.shape.push_back(*extent);
    ++index;
  }
}

constexpr MetadataField<MlfArgument> argument_fields[] = {
    {"size_bytes", &MlfArgument::size_bytes},
    {"shape", read_extents},
    {"dtype", &MlfArgument::dtype},
    {"input_binding", &MlfArgument::input_binding, false},
};

// {"add": [{"size_bytes": ...}, ...]}
void read_operators(JsonValue object, const MetadataPath& path, MlfModel& model,
                    Findings& findings) {
  for (const JsonValue list : object) {
    const MetadataPath here(path, list.key());
    if (!list.is(JsonKind::array)) {
      report_kind(list, here, name_of(JsonKind::array), findings);
      continue;
    }
    model.operators.push_back(
        {std::string(list.key()), read_metadata_objects<MlfArgument>(list, here, max_mlf_version,
                                                                     argument_fields, findings)});
  }
}

constexpr MetadataField<MlfDependency> dependency_fields[] = {
    {"short_name", &MlfDependency::short_name},
    {"url", &MlfDependency::url},
    {"url_type", &MlfDependency::url_type},
    {"version_spec", &MlfDependency::version_spec, false},
};

constexpr MetadataField<MlfFile> library_fields[] = {
    {"path", &MlfFile::path},
    {"sha256", &MlfFile::sha256},
};
constexpr MetadataField<MlfFile> blob_fields[] = {
    {"path", &MlfFile::path},
    {"type_key", &MlfFile::type_key},
    {"sha256", &MlfFile::sha256},
};

// A model whose memory is read when its style is known.
struct RawModel : MlfModel {
  std::optional<JsonValue> memory;
};

void keep_memory(JsonValue value, const MetadataPath&, RawModel& model, Findings&) {
  model.memory = value;
}

void read_target_map(JsonValue object, const MetadataPath& path, RawModel& model,
                     Findings& findings) {
  for (const JsonValue item : object) {
    const auto text = read_metadata_text(item, MetadataPath(path, item.key()), findings);
    if (text) model.targets.push_back({std::string(item.key()), *text});
  }
}

void read_target_list(JsonValue list, const MetadataPath& path, RawModel& model,
                      Findings& findings) {
  for (std::string& text : read_metadata_texts(list, path, findings)) {
    model.targets.push_back({"", std::move(text)});
  }
}

void read_executors(JsonValue list, const MetadataPath& path, RawModel& model, Findings& findings) {
  model.executors = read_metadata_texts(list, path, findings);
}

void read_dependencies(JsonValue list, const MetadataPath& path, RawModel& model,
                       Findings& findings) {
  model.dependencies = read_metadata_objects<MlfDependency>(list, path, max_mlf_version,
                                                            dependency_fields, findings);
}

void read_library(JsonValue object, const MetadataPath& path, RawModel& model, Findings& findings) {
  model.library.emplace();
  read_metadata_object<MlfFile>(object, path, max_mlf_version, library_fields, *model.library,
                                findings);
}

void read_blobs(JsonValue list, const MetadataPath& path, RawModel& model, Findings& findings) {
  model.blobs = read_metadata_objects<MlfFile>(list, path, max_mlf_version, blob_fields, findings);
}

void ignore(JsonValue, const MetadataPath&, RawModel&, Findings&) {}

constexpr MetadataField<RawModel> model_fields[] = {
    {"model_name", &RawModel::model_name},
    {"export_datetime", &RawModel::export_datetime},
    {"memory", keep_memory, true, JsonKind::array, 1, 1},
    {"memory", keep_memory, true, JsonKind::object, 2, 7},
    {"target", read_target_map, true, JsonKind::object, 1, 5},
    {"target", read_target_list, true, JsonKind::array, 6, 7},
    {"runtimes", read_executors, true, JsonKind::array, 1, 4},
    {"executors", read_executors, true, JsonKind::array, 5, 7},
    {"style", &RawModel::style, true, JsonKind::text, 4, 7},
    {"external_dependencies", read_dependencies, false, JsonKind::array, 5, 7},
    {"x_library", read_library, false, JsonKind::object},
    {"x_blobs", read_blobs, false, JsonKind::array},
    // of the whole file, if it has one model; last
    {"version", ignore, false, JsonKind::count},
};
constexpr std::span<const MetadataField<RawModel>> flat_fields = model_fields;
constexpr auto module_fields = flat_fields.first(flat_fields.size() - 1);

// path     [in]   of the model's object
MlfModel read_model(JsonValue object, const MetadataPath& path, std::uint64_t version,
                    std::span<const MetadataField<RawModel>> fields, Findings& findings) {
  RawModel model;
  read_metadata_object<RawModel>(object, path, version, fields, model, findings);
  if (model.memory) {
    const MetadataPath here(path, "memory");
    if (version == 1) {
      model.sids =
          read_metadata_objects<MlfStorage>(*model.memory, here, version, storage_fields, findings);
    } else if (model.is_operator()) {
      read_operators(*model.memory, here, model, findings);
    } else {
      read_metadata_object<MlfModel>(*model.memory, here, version, memory_fields, model, findings);
    }
  }
  model.path = path.text();
  return model;
}

Result<std::uint64_t> read_version(JsonValue root) {
  const auto version = root.find("version");
  if (!version) return malformed(root.offset(), metadata_file, " has no \"version\"");
  if (!version->is(JsonKind::count)) {
    return malformed(version->offset(), metadata_file, ": version is ", name_of(version->kind()),
                     ", expected a whole number");
  }
  if (version->count() < min_mlf_version || version->count() > max_mlf_version) {
    Error error = unsupported(metadata_file, ": version is ", version->count(),
                              ", this version reads ", min_mlf_version, " to ", max_mlf_version);
    error.offset = version->offset();
    return error;
  }
  return version->count();
}

}  // namespace

bool MlfModel::has_executor(std::string_view executor) const {
  return std::ranges::find(executors, executor) != executors.end();
}

Result<MlfMetadata> read_mlf_metadata(std::string_view text, Findings& findings) {
  const JsonOptions options{.name = metadata_file, .max_depth = 16};
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, options));
  const JsonValue root = tree.root();
  if (!root.is(JsonKind::object)) {
    return malformed(root.offset(), metadata_file, " is ", name_of(root.kind()),
                     ", expected an object");
  }
  MlfMetadata metadata;
  GANTRY_TRY(metadata.version, read_version(root));
  const auto modules = root.find("modules");
  if (!modules) {
    MlfModel model = read_model(root, MetadataPath(), metadata.version, flat_fields, findings);
    model.name = model.model_name;
    metadata.models.push_back(std::move(model));
    return metadata;
  }
  const MetadataPath file, modules_path(file, "modules");
  if (!modules->is(JsonKind::object) || modules->size() == 0) {
    return malformed(modules->offset(), modules_path.text(), " is ",
                     modules->is(JsonKind::object) ? "empty" : name_of(modules->kind()),
                     ", expected an object with a member for each model");
  }
  if (modules->size() > max_models) {
    return malformed(modules->offset(), modules_path.text(), " has ", modules->size(),
                     " models, limit is ", max_models);
  }
  if (metadata.version != max_mlf_version) {
    findings.warning(modules_path.text(), "is a key of version ", max_mlf_version,
                     ", the archive has version ", metadata.version);
    // Whoever uses the metadata finds the members under the names of version 7.
    metadata.version = max_mlf_version;
  }
  for (const JsonValue member : root) {
    if (member.key() != "modules" && member.key() != "version") {
      findings.warning(MetadataPath(file, member.key()).text(), "is an unknown key");
    }
  }
  std::set<std::string_view> names;
  for (const JsonValue member : *modules) {
    const MetadataPath path(modules_path, member.key());
    if (!member.is(JsonKind::object)) {
      report_kind(member, path, name_of(JsonKind::object), findings);
      continue;
    }
    if (!names.insert(member.key()).second) {
      findings.error(path.text(), "is given twice");
      continue;
    }
    MlfModel model = read_model(member, path, max_mlf_version, module_fields, findings);
    model.name = member.key();
    metadata.models.push_back(std::move(model));
  }
  if (metadata.models.empty()) {
    return malformed(modules->offset(), modules_path.text(), " has no member that is an object");
  }
  return metadata;
}

}  // namespace gantry
