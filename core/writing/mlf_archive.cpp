// SPDX-License-Identifier: Apache-2.0
#include "core/writing/mlf_archive.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/array_list.hpp"
#include "core/formats/arrays/params.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/graph_json.hpp"
#include "core/formats/mlf/memory_map.hpp"
#include "core/formats/mlf/model_library.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/graph_requirements.hpp"
#include "core/writing/pieces.hpp"
#include "core/writing/tar_archive.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/param_names.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// A graph with its parameters, from the factory in a container or from an archive.
struct MlfGraph {
  // of the file's bytes
  std::string_view text;
  Graph graph;
  // without fillers; views of the file's bytes
  std::vector<Param> parameters;
  std::string module_name;
};

// Reads the first graph factory of a container.
//
// returns  not_found  with the type keys of the modules
Result<MlfGraph> read_factory(const Container& container) {
  const auto found = std::ranges::find_if(container.entries, [](const Entry& entry) {
    return entry.type_key == graph_factory_key || entry.type_key == old_graph_factory_key;
  });
  if (found == container.entries.end()) {
    return not_found(
        "no module is a graph (", graph_factory_key, "), the modules are ",
        join(
            container.entries, ", ", [](const Entry& entry) { return quoted(entry.type_key); },
            max_listed_names));
  }
  ByteReader in(found->payload, found->at);
  GANTRY_TRY(ArrayList factory, read_array_list(in, *array_list_form(found->type_key)));
  std::erase_if(factory.arrays, [](const Param& each) { return is_filler(each.name); });
  MlfGraph graph;
  graph.text = factory.graph_json;
  GANTRY_TRY(graph.graph, read_graph_json(graph.text, found->at + sizeof(std::uint64_t)));
  graph.parameters = std::move(factory.arrays);
  graph.module_name = factory.module_name;
  return graph;
}

// Precondition: the model has a graph.
Result<MlfGraph> read_archived_graph(const ModelLibrary& archive, std::size_t model) {
  const MlfModelFiles& files = archive.model_files[model];
  MlfGraph graph;
  graph.text = as_text(archive.files.find(files.graph)->content);
  auto read = read_graph_json(graph.text, 0);
  if (!read.ok()) return std::move(read).error().at("in ", files.graph);
  graph.graph = std::move(*read);
  const ArchiveMember* parameters = archive.files.find(files.parameters);
  if (parameters == nullptr) return graph;
  auto arrays = read_params(parameters->content);
  if (!arrays.ok()) return std::move(arrays).error().at("in ", files.parameters);
  graph.parameters = std::move(*arrays);
  return graph;
}

// Returns a parameter file. The data stay in `file`, whose bytes they view.
//
// source   sdk/cxx/gantry/param_names.hpp
Pieces params_of(const std::shared_ptr<const MappedFile>& file,
                 const std::vector<Param>& parameters) {
  Pieces out;
  out.Write<std::uint64_t>(params_magic);
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(parameters.size());
  for (const Param& parameter : parameters) out.write_text(parameter.name);
  out.Write<std::uint64_t>(parameters.size());
  for (const Param& parameter : parameters) {
    const std::span<const std::uint8_t> data = parameter.array.data;
    write_record_header(out, parameter.array.dtype, parameter.array.shape, data.size());
    out.append(FileRange{file, static_cast<std::uint64_t>(data.data() - file->bytes().data()),
                         data.size()});
  }
  return out;
}

constexpr std::string_view readme_file = "README.md";
constexpr std::string_view first_time = "1970-01-01 00:00:00Z";
// Type keys that are also kinds of targets.
constexpr std::string_view target_keys[] = {"cuda", "opencl", "vulkan", "metal"};

// view     [in]   of the file's bytes
Pieces pieces_of_file(const std::shared_ptr<const MappedFile>& file,
                      std::span<const std::uint8_t> view) {
  Pieces pieces;
  pieces.append(
      FileRange{file, static_cast<std::uint64_t>(view.data() - file->bytes().data()), view.size()});
  return pieces;
}

Status check_model_name(std::string_view name) {
  if (is_model_name(name)) return {};
  return invalid("name of the model is ", quoted(name),
                 ", expected letters, digits, \"_\", \"-\" and \".\"");
}

// Replaces what cannot be part of a file name.
std::string directory_of(std::string_view type_key) {
  std::string name(type_key);
  for (char& c : name) c = is_identifier_character(c) ? c : '_';
  return name;
}

// What `gantry run` does with the archive: core/engine/runtime/load_archive.hpp.
std::string_view readme_run(const std::vector<MlfModel>& models) {
  if (models.size() != 1) return "`gantry run --function` runs one of them, ";
  if (models.front().is_operator()) return "`gantry run --function` calls its functions, ";
  return "`gantry run` runs this archive, ";
}

// The second line of a README.md of ours, without the version.
constexpr std::string_view readme_begin = "Model Library Format, version ";
constexpr std::string_view readme_end = ", written by gantry.\n";

std::string readme_text(const std::vector<MlfModel>& models, std::uint64_t version,
                        const TarContents& contents) {
  std::string text = concat(
      "# ",
      join(
          models, ", ", [](const MlfModel& model) { return model.name; }, max_listed_names),
      "\n\n", readme_begin, version, readme_end, "\n`metadata.json` describes the model",
      models.size() == 1 ? "" : "s", ". ", readme_run(models), "`gantry mlf show` lists it.\n\n");
  for (const auto& [name, content] : contents) {
    text += concat("- `", name, "`, ", content.size(), " bytes\n");
  }
  return text;
}

// True for a README.md of an earlier export, which lists other members.
bool is_our_readme(std::string_view text) {
  const std::size_t line = text.find("\n\n");
  if (!text.starts_with("# ") || line == text.npos) return false;
  text.remove_prefix(line + 2);
  if (!text.starts_with(readme_begin)) return false;
  return text.substr(0, text.find('\n') + 1).ends_with(readme_end);
}

// The targets that a library shows: its compiler and the device code that it carries.
std::vector<MlfTarget> targets_of(const Container& container, bool is_llvm) {
  std::vector<MlfTarget> targets = {{concat(cpu_device_type), is_llvm ? "llvm" : "c"}};
  std::set<std::string_view> keys;
  for (const Entry& entry : container.entries) keys.insert(entry.type_key);
  for (const std::string_view key : target_keys) {
    if (keys.contains(key)) targets.push_back({concat(dlpack_number(key)), std::string(key)});
  }
  return targets;
}

// Sets what the graph determines.
void describe_graph(const MlfGraph& graph, MlfModel& model) {
  std::set<std::string> parameters;
  for (const Param& parameter : graph.parameters) parameters.emplace(parameter.name);
  model.sids = storage_of(graph.graph);
  if (model.main.empty()) model.main = main_memory_of(graph.graph, parameters);
  if (!model.functions.empty()) return;
  for (std::string& function : called_functions(graph.graph)) {
    model.functions.push_back({std::move(function), {}});
  }
}

Result<Pieces> finish(MlfMetadata& metadata, std::uint64_t version, TarContents& contents) {
  GANTRY_TRY(const std::string text, write_mlf_metadata(metadata, version));
  contents[std::string(metadata_file)] = pieces_of(text);
  if (!contents.contains(std::string(readme_file))) {
    contents[std::string(readme_file)] = pieces_of(readme_text(metadata.models, version, contents));
  }
  return write_tar(std::move(contents));
}

// Moves members to the names that the version gives them.
class RenamedMembers {
 public:
  RenamedMembers(const std::shared_ptr<const MappedFile>& file, const TarFiles& files)
      : file_(file), files_(files) {}

  // No effect if the archive has no such member.
  Status move(const std::string& from, std::string to) {
    const ArchiveMember* member = from.empty() ? nullptr : files_.find(from);
    if (member == nullptr) return {};
    moved_.insert(from);
    return add(std::move(to), *member);
  }

  // Adds the other members under their names.
  Result<TarContents> finish() && {
    for (const auto& [name, member] : files_.all()) {
      if (!moved_.contains(name) && name != metadata_file) GANTRY_CHECK(add(name, member));
    }
    return std::move(contents_);
  }

 private:
  Status add(std::string name, const ArchiveMember& member) {
    const auto [at, is_new] =
        contents_.try_emplace(std::move(name), pieces_of_file(file_, member.content));
    if (is_new) return {};
    return invalid("members ", quoted(member.name), " and another would both be ",
                   quoted(at->first));
  }

  const std::shared_ptr<const MappedFile>& file_;
  const TarFiles& files_;
  TarContents contents_;
  std::set<std::string, std::less<>> moved_;
};

Status rename_model(const std::string& name, MlfModel& model) {
  if (name != model.name && model.has_executor("aot")) {
    return invalid("model ", quoted(model.name), " cannot be renamed to ", quoted(name),
                   ": it is compiled ahead of time, its functions are named tvmgen_", model.name,
                   "_*; omit the name");
  }
  model.name = model.model_name = name;
  return {};
}

// Adds the members of an artifact, and returns its model.
Result<MlfModel> add_artifact(const MlfArtifact& artifact, const MlfExportOptions& options,
                              TarContents& contents) {
  const auto& library = artifact.library;
  const Container& container = artifact.container;
  GANTRY_TRY(const MlfGraph graph, read_factory(container));
  MlfModel model;
  model.name = artifact.name.empty() ? graph.module_name : artifact.name;
  GANTRY_CHECK(check_model_name(model.name));
  model.model_name = model.name;
  model.export_datetime =
      options.export_datetime.empty() ? std::string(first_time) : options.export_datetime;
  model.executors = {"graph"};
  for (const std::string& text : options.targets) model.targets.push_back({"", text});
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(library));
  // compiler-rt, which LLVM adds
  const bool is_llvm = elf.find("__truncsfhf2") != nullptr;
  if (model.targets.empty()) model.targets = targets_of(container, is_llvm);
  describe_graph(graph, model);

  contents[graph_member(model.name, options.version)] = pieces_of_file(
      library, {reinterpret_cast<const std::uint8_t*>(graph.text.data()), graph.text.size()});
  contents[parameters_member(model.name)] = params_of(library, graph.parameters);
  model.library = MlfFile{concat("codegen/", model.name, ".so"), "",
                          hex_text(sha256(*library, library->bytes()))};
  contents[model.library->path] = pieces_of_file(library, library->bytes());
  for (const Entry& entry : container.entries) {
    const bool is_payload = !entry.is_library() && entry.boundary != Boundary::unknown &&
                            entry.type_key != graph_factory_key &&
                            entry.type_key != old_graph_factory_key;
    if (!is_payload) continue;
    const std::string path = concat("codegen/", directory_of(entry.type_key), "/", model.name, "_",
                                    model.blobs.size(), ".bin");
    model.blobs.push_back(
        {path, std::string(entry.type_key), hex_text(sha256(*library, entry.payload))});
    contents[path] = pieces_of_file(library, entry.payload);
  }
  return model;
}

}  // namespace

Result<Pieces> mlf_of_artifacts(std::span<const MlfArtifact> artifacts,
                                const MlfExportOptions& options) {
  MlfMetadata metadata;
  TarContents contents;
  for (const MlfArtifact& artifact : artifacts) {
    auto model = add_artifact(artifact, options, contents);
    if (!model.ok()) return std::move(model).error().at("in ", artifact.library->path().native());
    const auto same = std::ranges::find(metadata.models, model->name, &MlfModel::name);
    if (same != metadata.models.end()) {
      return invalid("two models have the name ", quoted(model->name), "; name each of the ",
                     artifacts.size());
    }
    metadata.models.push_back(std::move(*model));
  }
  // as metadata.json has them
  std::ranges::sort(metadata.models, {}, &MlfModel::name);
  return finish(metadata, options.version, contents);
}

Result<Pieces> mlf_of_archive(const std::shared_ptr<const MappedFile>& file,
                              const ModelLibrary& archive, const MlfExportOptions& options) {
  MlfMetadata metadata = archive.metadata;
  if (!options.name.empty() && metadata.models.size() != 1) {
    return invalid("archive has ", metadata.models.size(), " models, only one can be renamed");
  }
  // Refuses what the version cannot have before members are renamed.
  GANTRY_CHECK(write_mlf_metadata(metadata, options.version));
  RenamedMembers members(file, archive.files);
  for (std::size_t i = 0; i < metadata.models.size(); ++i) {
    MlfModel& model = metadata.models[i];
    const MlfModelFiles& files = archive.model_files[i];
    if (!options.name.empty()) GANTRY_CHECK(rename_model(options.name, model));
    GANTRY_CHECK(check_model_name(model.name));
    if (!options.export_datetime.empty()) model.export_datetime = options.export_datetime;
    if (!options.targets.empty()) model.targets.clear();
    for (const std::string& text : options.targets) model.targets.push_back({"", text});
    if (model.is_operator()) continue;
    GANTRY_CHECK(members.move(files.graph, graph_member(model.name, options.version)));
    GANTRY_CHECK(members.move(files.parameters, parameters_member(model.name)));
    GANTRY_CHECK(members.move(files.relay, relay_member(model.name, options.version)));
    for (const auto* code : {&files.objects, &files.sources}) {
      for (const std::string& name : *code) {
        GANTRY_CHECK(members.move(name, code_member(name, model.name)));
      }
    }
    if (archive.files.find(files.graph) == nullptr) continue;
    GANTRY_TRY(const MlfGraph graph, read_archived_graph(archive, i));
    describe_graph(graph, model);
  }
  GANTRY_TRY(TarContents contents, std::move(members).finish());
  const ArchiveMember* readme = archive.files.find(readme_file);
  if (readme != nullptr && is_our_readme(as_text(readme->content))) {
    contents.erase(std::string(readme_file));
  }
  return finish(metadata, options.version, contents);
}

}  // namespace gantry
