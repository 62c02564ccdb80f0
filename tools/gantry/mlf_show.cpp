// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.hpp"
#include "core/formats/arrays/params.hpp"
#include "core/formats/mlf/model_library.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/mlf_file.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>

#include <unistd.h>

namespace gantry::cli {
namespace {

struct ShownModel {
  const MlfModel& model;
  const MlfModelFiles& files;
  std::vector<Param> parameters;
};

struct ShownArchive {
  const std::string& file;
  const ModelLibrary& archive;
  std::vector<ShownModel> models;
};

Result<ShownArchive> describe_archive(const std::string& file, const ModelLibrary& archive) {
  ShownArchive shown{file, archive, {}};
  for (std::size_t i = 0; i < archive.metadata.models.size(); ++i) {
    ShownModel model{archive.metadata.models[i], archive.model_files[i], {}};
    if (const ArchiveMember* member = archive.files.find(model.files.parameters)) {
      auto parameters = read_params(member->content);
      if (!parameters.ok()) return std::move(parameters).error().at("in ", member->name);
      model.parameters = std::move(*parameters);
    }
    shown.models.push_back(std::move(model));
  }
  return shown;
}

std::string name_of_device(std::int64_t device) {
  const std::string_view name =
      device >= 0 && device <= INT32_MAX ? dlpack_name(static_cast<std::int32_t>(device)) : "";
  return name.empty() ? concat("device ", device) : std::string(name);
}

class ArchiveText {
 public:
  explicit ArchiveText(const Terminal& terminal) : terminal_(terminal) {}

  void write(const ShownArchive& shown) {
    print(terminal_.paint(escaped(shown.file), Tone::heading) + "\n");
    field("format", concat("Model Library Format, version ", shown.archive.metadata.version));
    field("models", concat(shown.models.size()));
    for (const ShownModel& model : shown.models) write_model(model);
    write_members(shown.archive.files);
  }

 private:
  void section(const Message& title) { print("\n" + terminal_.paint(title, Tone::heading) + "\n"); }
  void field(std::string_view name, std::string_view value) {
    print(text_line("  ", name, std::string(12 - name.size(), ' '), value));
  }

  void write_model(const ShownModel& shown) {
    const MlfModel& model = shown.model;
    section({"model ", escaped(model.name)});
    field("style", escaped(model.style));
    field("executor", model.executors.empty() ? "none" : join(model.executors, ", ", escaped));
    field("exported", escaped(model.export_datetime));
    for (const MlfTarget& target : model.targets) field("target", escaped(target.text));
    for (const MlfMain& main : model.main) write_main(main);
    if (model.library) field("library", escaped(model.library->path));
    for (const MlfFile& blob : model.blobs) {
      field("payload", concat(escaped(blob.path), "  ", escaped(blob.type_key)));
    }
    for (const auto* code : {&shown.files.objects, &shown.files.sources}) {
      for (const std::string& name : *code) field("code", escaped(name));
    }
    if (model.sids) write_storage(*model.sids);
    if (!shown.parameters.empty()) write_parameters(shown.parameters);
    write_functions(model);
  }

  void write_main(const MlfMain& main) {
    field("memory", concat(name_of_device(main.device), ": ", human_size(main.constants_size_bytes),
                           " parameters, ", human_size(main.io_size_bytes), " inputs and outputs, ",
                           human_size(main.workspace_size_bytes), " workspace"));
    write_tensors("input", main.inputs);
    write_tensors("output", main.outputs);
  }
  void write_tensors(std::string_view name, const std::optional<std::vector<MlfTensor>>& tensors) {
    if (!tensors) return;
    for (const MlfTensor& tensor : *tensors) {
      field(name, concat(escaped(tensor.name), "  ", escaped(tensor.dtype), ", ",
                         human_size(tensor.size)));
    }
  }

  void write_storage(const std::vector<MlfStorage>& storage) {
    section({"storage (", storage.size(), ")"});
    write_table(
        {{"id", Align::right}, {"bytes", Align::right}, {"input"}}, storage.size(),
        [&](std::size_t i) -> TableRow {
          return {concat(storage[i].storage_id), concat(storage[i].size_bytes),
                  escaped(storage[i].input_binding)};
        },
        terminal_, print);
  }

  void write_parameters(const std::vector<Param>& parameters) {
    section({"parameters (", parameters.size(), ")"});
    for (const Param& parameter : parameters) {
      print(text_line("  ", escaped(parameter.name), "  ",
                      type_text(parameter.array.dtype, parameter.array.shape), ", ",
                      human_size(parameter.array.data.size())));
    }
  }

  void write_functions(const MlfModel& model) {
    if (!model.functions.empty()) section({"functions (", model.functions.size(), ")"});
    for (const MlfFunction& function : model.functions) {
      const std::string workspace = join(function.workspace, ", ", [](const MlfWorkspace& each) {
        return concat(human_size(each.workspace_size_bytes), " on ", name_of_device(each.device));
      });
      print(text_line("  ", escaped(function.function_name), workspace.empty() ? "" : "  ",
                      workspace));
    }
    if (!model.operators.empty()) section({"operators (", model.operators.size(), ")"});
    for (const MlfOperator& one : model.operators) {
      print(text_line("  ", escaped(one.function_name), "  ",
                      join(one.arguments, ", ", [](const MlfArgument& argument) {
                        return concat(escaped(argument.dtype), "[", join(argument.shape, ", "),
                                      "]");
                      })));
    }
  }

  void write_members(const TarFiles& files) {
    std::vector<const ArchiveMember*> members;
    for (const auto& [name, member] : files.all()) members.push_back(&member);
    section({"members (", members.size(), ")"});
    write_table(
        {{"bytes", Align::right}, {"name"}}, members.size(),
        [&](std::size_t i) -> TableRow {
          return {concat(members[i]->size), escaped(members[i]->name)};
        },
        terminal_, print);
  }

  const Terminal& terminal_;
};

void write_tensors_json(std::string_view key, const std::optional<std::vector<MlfTensor>>& tensors,
                        JsonWriter& json) {
  if (!tensors) return;
  write_objects(key, *tensors, json, [](const MlfTensor& tensor, JsonWriter& to) {
    to.field("name", json_text(tensor.name));
    to.field("dtype", json_text(tensor.dtype));
    to.field("bytes", tensor.size);
  });
}

void write_main_json(const MlfMain& main, JsonWriter& json) {
  json.field("device", main.device);
  json.field("constants", main.constants_size_bytes);
  json.field("io", main.io_size_bytes);
  json.field("workspace", main.workspace_size_bytes);
  write_tensors_json("inputs", main.inputs, json);
  write_tensors_json("outputs", main.outputs, json);
}

void write_model_json(const ShownModel& shown, JsonWriter& json) {
  const MlfModel& model = shown.model;
  json.field("name", json_text(model.name));
  json.field("style", text_or_null(model.style));
  write_texts("executors", model.executors, json);
  json.field("export_datetime", text_or_null(model.export_datetime));
  json.begin_list("targets");
  for (const MlfTarget& target : model.targets) json.value(json_text(target.text));
  json.end();
  write_objects("memory", model.main, json, write_main_json);
  write_objects("storage", model.sids.value_or(std::vector<MlfStorage>()), json,
                [](const MlfStorage& storage, JsonWriter& to) {
                  to.field("id", storage.storage_id);
                  to.field("bytes", storage.size_bytes);
                  to.field("input", text_or_null(storage.input_binding));
                });
  write_objects("parameters", shown.parameters, json, [](const Param& parameter, JsonWriter& to) {
    to.field("name", json_text(parameter.name));
    to.field("dtype", dtype_text(parameter.array.dtype));
    to.field("shape", parameter.array.shape);
    to.field("bytes", parameter.array.data.size());
  });
  json.begin_list("functions");
  for (const MlfFunction& function : model.functions) json.value(json_text(function.function_name));
  for (const MlfOperator& one : model.operators) json.value(json_text(one.function_name));
  json.end();
  write_texts("objects", shown.files.objects, json);
  write_texts("sources", shown.files.sources, json);
  json.field("library", model.library ? text_or_null(model.library->path) : std::nullopt);
  write_objects("payloads", model.blobs, json, [](const MlfFile& blob, JsonWriter& to) {
    to.field("type_key", json_text(blob.type_key));
    to.field("path", json_text(blob.path));
    to.field("sha256", text_or_null(blob.sha256));
  });
}

std::string archive_json(const ShownArchive& shown) {
  return json_document([&](JsonWriter& json) {
    json.field("file", json_text(shown.file));
    json.field("version", shown.archive.metadata.version);
    write_objects("models", shown.models, json, write_model_json);
    json.begin_list("members");
    for (const auto& [name, member] : shown.archive.files.all()) {
      json.begin_object();
      json.field("name", json_text(name));
      json.field("size", member.size);
      json.end();
    }
    json.end();
  });
}

Result<ExitStatus> show_archive(const MlfFileOptions& options, const Globals&) {
  GANTRY_TRY(const auto file, open_mlf_file(options.file));
  auto archive = open_model_library(file->bytes());
  if (!archive.ok()) return std::move(archive).error().at("in ", options.file);
  auto shown = describe_archive(options.file, *archive);
  if (!shown.ok()) return std::move(shown).error().at("in ", options.file);
  if (options.json) {
    print(archive_json(*shown));
  } else {
    ArchiveText(terminal_of(STDOUT_FILENO)).write(*shown);
  }
  return kDone;
}

}  // namespace

void add_mlf_show(CLI::App& mlf, Invocation& invocation) {
  auto options = std::make_shared<MlfFileOptions>();
  CLI::App* command = mlf.add_subcommand(
      "show", "list an archive: models, targets, memory, parameters, functions and members");
  add_mlf_file(*command, *options);
  command->footer("Example:\n  gantry mlf show digits.tar");
  set_action(*command, invocation, options, show_archive);
}

}  // namespace gantry::cli
