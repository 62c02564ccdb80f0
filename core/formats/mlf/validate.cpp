// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/model_library.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/arrays/params.hpp"
#include "core/formats/mlf/function_names.hpp"
#include "core/formats/mlf/memory_check.hpp"
#include "core/formats/mlf/memory_map.hpp"
#include "core/formats/mlf/metadata_fields.hpp"
#include "core/formats/target/target_form.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace gantry {
namespace {

constexpr std::string_view known_executors[] = {"graph", "aot"};
constexpr std::string_view known_styles[] = {full_model_style, operator_style};
// Suggestions of a file; each takes time for every known name.
constexpr std::size_t max_suggestions = 4;
// "2026-11-20 13:35:47Z"
constexpr std::string_view time_form = "dddd-dd-dd dd:dd:ddZ";

bool is_time(std::string_view text) {
  return std::ranges::equal(text, time_form, [](char c, char form) {
    return form == 'd' ? c >= '0' && c <= '9' : c == form;
  });
}

// Facts about members, which several models can name.
struct MemberFacts {
  MlfFunctions functions;
  // whose bytes the members are; NULL: they are in memory
  const MappedFile* file = nullptr;
  // hex digits, by name of the member
  std::map<std::string_view, std::string> digests;

  const std::string& digest_of(const ArchiveMember& member) {
    std::string& digest = digests[member.name];
    if (digest.empty()) {
      digest = hex_text(file == nullptr ? sha256(member.content) : sha256(*file, member.content));
    }
    return digest;
  }
};

// Checks one model of an archive.
class ModelValidator {
 public:
  ModelValidator(const ModelLibrary& archive, std::size_t index, MemberFacts& facts,
                 Findings& findings)
      : archive_(archive),
        index_(index),
        facts_(facts),
        model_(archive.metadata.models[index]),
        files_(archive.model_files[index]),
        findings_(findings) {}

  void run() {
    check_words();
    check_files();
    check_extension();
    if (model_.is_operator()) return check_operators();
    if (model_.has_executor("aot")) check_entry();
    if (!model_.has_executor("graph")) return;
    const std::optional<Graph> graph = read_graph();
    if (!graph) return;
    const std::optional<std::set<std::string>> parameters = check_parameters(*graph);
    check_storage(*graph);
    // Version 1 has no memory of functions.
    if (parameters && archive_.metadata.version > 1) {
      const std::string functions = metadata_path(key("memory"), "functions");
      check_main_memory(model_, *graph, *parameters, metadata_path(functions, "main"), findings_);
    }
    check_functions(called_by(*graph), files_.graph);
  }

 private:
  std::string key(std::string_view name) const { return metadata_path(model_.path, name); }
  const ArchiveMember* find(const std::string& name) const { return archive_.files.find(name); }
  static std::set<std::string> called_by(const Graph& graph);

  void check_words();
  void check_files();
  void check_extension();
  void check_file(const MlfFile& file, const std::string& path);
  void check_operators();
  void check_entry();
  std::optional<Graph> read_graph();
  // Returns their names; nullopt: they cannot be read.
  std::optional<std::set<std::string>> check_parameters(const Graph& graph);
  void check_storage(const Graph& graph);
  void check_functions(const std::set<std::string>& called, const std::string& path);

  const ModelLibrary& archive_;
  std::size_t index_;
  MemberFacts& facts_;
  const MlfModel& model_;
  const MlfModelFiles& files_;
  Findings& findings_;
};

void ModelValidator::check_words() {
  if (std::ranges::find(known_styles, model_.style) == std::end(known_styles)) {
    findings_.error(key("style"), "is ", quoted(model_.style), ", known are ",
                    join(known_styles, ", ", in_quotes));
  }
  const std::string executors_key = key(archive_.metadata.version <= 4 ? "runtimes" : "executors");
  for (const std::string& executor : model_.executors) {
    if (std::ranges::find(known_executors, executor) != std::end(known_executors)) continue;
    findings_.error(executors_key, "has ", quoted(executor), ", known are ",
                    join(known_executors, ", ", in_quotes));
  }
  if (model_.executors.size() != (model_.is_operator() ? 0 : 1)) {
    findings_.warning(executors_key, "has ", model_.executors.size(), " items, expected ",
                      model_.is_operator() ? "none in an archive of operators" : "one");
  }
  if (model_.model_name != model_.name) {
    findings_.warning(key("model_name"), "is ", quoted(model_.model_name), ", its key is ",
                      quoted(model_.name));
  }
  if (!is_time(model_.export_datetime)) {
    findings_.warning(key("export_datetime"), "is ", quoted(model_.export_datetime),
                      ", expected a time such as \"2026-11-20 13:35:47Z\"");
  }
  if (model_.targets.empty()) findings_.warning(key("target"), "is empty");
  for (std::size_t i = 0; i < model_.targets.size(); ++i) {
    const MlfTarget& target = model_.targets[i];
    const std::string path = target.device_type.empty()
                                 ? concat(key("target"), "[", i, "]")
                                 : metadata_path(key("target"), target.device_type);
    if (const Status form = check_target_form(target.text); !form.ok()) {
      findings_.error(path, "is ", quoted(target.text), ": ", form.error().message);
    }
    if (!target.device_type.empty() && !parse_number<std::uint32_t>(target.device_type)) {
      findings_.error(path, "is the target of ", quoted(target.device_type),
                      ", expected the number of a device type");
    }
  }
}

void ModelValidator::check_files() {
  for (const std::string& name : {files_.graph, files_.parameters}) {
    if (!name.empty() && find(name) == nullptr) findings_.error(name, "is missing");
  }
  // A model that was exported from a library has no text.
  if (!files_.relay.empty() && find(files_.relay) == nullptr && !model_.library) {
    findings_.warning(files_.relay, "is missing");
  }
  if (files_.objects.empty() && files_.sources.empty() && !model_.library) {
    findings_.error("codegen/host", "has no code of model ", quoted(model_.name));
  }
  for (const MlfDependency& dependency : model_.dependencies) {
    if (dependency.url_type != "mlf_path") continue;
    std::string_view prefix = dependency.url;
    if (prefix.starts_with("./")) prefix.remove_prefix(2);
    if (!archive_.files.has_below(prefix)) {
      findings_.error(key("external_dependencies"), "has the path ", quoted(dependency.url),
                      ", which the archive does not contain");
    }
  }
}

void ModelValidator::check_file(const MlfFile& file, const std::string& path) {
  const ArchiveMember* member = find(file.path);
  if (member == nullptr) {
    findings_.error(path, "has the path ", quoted(file.path),
                    ", which the archive does not contain");
  } else if (const std::string& digest = facts_.digest_of(*member); digest != file.sha256) {
    findings_.error(file.path, "has the digest ", digest, ", ", path, " has ", quoted(file.sha256));
  }
}

void ModelValidator::check_extension() {
  if (model_.library) check_file(*model_.library, key("x_library"));
  for (std::size_t i = 0; i < model_.blobs.size(); ++i) {
    check_file(model_.blobs[i], concat(key("x_blobs"), "[", i, "]"));
  }
}

void ModelValidator::check_operators() {
  std::set<std::string> functions;
  for (const MlfOperator& one : model_.operators) functions.insert(one.function_name);
  if (functions.empty()) findings_.error(key("memory"), "names no function");
  check_functions(functions, key("memory"));
}

// The packed and the C interface of ahead-of-time compiled models have different entry functions.
void ModelValidator::check_entry() {
  const MlfFunctionNames names = facts_.functions.of(index_);
  const std::string packed = concat("tvmgen_", model_.name, "___tvm_main__");
  const std::string plain = concat("tvmgen_", model_.name, "_run");
  if (!names.is_complete || names.contains(packed) || names.contains(plain)) return;
  findings_.error("codegen/host", "defines neither ", packed, " nor ", plain);
}

std::optional<Graph> ModelValidator::read_graph() {
  const ArchiveMember* member = find(files_.graph);
  if (member == nullptr) return std::nullopt;
  Result<Graph> graph = read_graph_json(as_text(member->content), 0);
  if (!graph.ok()) {
    findings_.error(files_.graph, graph.error().message);
    return std::nullopt;
  }
  return std::move(*graph);
}

std::optional<std::set<std::string>> ModelValidator::check_parameters(const Graph& graph) {
  const ArchiveMember* member = find(files_.parameters);
  if (member == nullptr) return std::nullopt;
  const Result<std::vector<Param>> parameters = read_params(member->content);
  if (!parameters.ok()) {
    findings_.error(files_.parameters, parameters.error().message);
    return std::nullopt;
  }
  std::set<std::string> known;
  std::size_t unknown = 0;
  for (const Param& parameter : *parameters) {
    known.emplace(parameter.name);
    const auto input = graph.input_by_name.find(parameter.name);
    if (input == graph.input_by_name.end()) {
      std::vector<std::string_view> names;
      if (unknown++ < max_suggestions) {
        for (const auto& [name, index] : graph.input_by_name) names.push_back(name);
      }
      findings_.error(files_.parameters, "has a parameter ", quoted(parameter.name),
                      ", which is no input of the graph", did_you_mean(parameter.name, names));
      continue;
    }
    const GraphEntry& entry = graph.entries[graph.input_entry(input->second)];
    const std::string found = type_text(parameter.array.dtype, parameter.array.shape);
    if (const std::string required = type_text(entry); found != required) {
      findings_.error(files_.parameters, "has a parameter ", quoted(parameter.name), " of type ",
                      found, ", the graph requires ", required);
    }
  }
  return known;
}

// TVM computes this list wrongly for graphs in which storage ids and entries are not in step, so a
// difference is a warning.
void ModelValidator::check_storage(const Graph& graph) {
  const std::string path =
      archive_.metadata.version == 1 ? key("memory") : metadata_path(key("memory"), "sids");
  if (!model_.sids) {
    findings_.warning(path, "is missing");
    return;
  }
  std::map<std::int64_t, MlfStorage> listed;
  for (const MlfStorage& storage : *model_.sids) {
    if (!listed.try_emplace(storage.storage_id, storage).second) {
      findings_.warning(path, "has storage ", storage.storage_id, " twice");
    }
  }
  const auto words = [](const MlfStorage& storage) {
    return storage.input_binding.empty()
               ? concat(storage.size_bytes, " bytes")
               : concat(storage.size_bytes, " bytes for ", quoted(storage.input_binding));
  };
  for (const MlfStorage& required : storage_of(graph)) {
    const auto found = listed.find(required.storage_id);
    if (found == listed.end()) {
      findings_.warning(path, "has no storage ", required.storage_id, ", the graph requires ",
                        words(required));
      continue;
    }
    if (found->second != required) {
      findings_.warning(path, "has storage ", required.storage_id, " of ", words(found->second),
                        ", the graph requires ", words(required));
    }
    listed.erase(found);
  }
  for (const auto& [id, storage] : listed) {
    findings_.warning(path, "has storage ", id, ", which the graph does not use");
  }
}

std::set<std::string> ModelValidator::called_by(const Graph& graph) {
  std::set<std::string> functions;
  for (const GraphNode& node : graph.nodes) {
    if (node.kind == GraphNodeKind::call) functions.insert(node.function);
  }
  return functions;
}

void ModelValidator::check_functions(const std::set<std::string>& called, const std::string& path) {
  const MlfFunctionNames names = facts_.functions.of(index_);
  std::set<std::string_view> listed;
  for (const MlfFunction& function : model_.functions) listed.insert(function.function_name);
  std::vector<std::string_view> known;
  std::size_t missing = 0;
  for (const std::string& function : called) {
    if (names.contains(function) || listed.contains(function)) continue;
    // Source text is not searched, and archives of version 1 list no functions.
    if (!names.is_complete && listed.empty()) continue;
    if (missing == 0) {
      known = names.all();
      known.insert(known.end(), listed.begin(), listed.end());
    }
    if (missing++ == max_suggestions) known.clear();
    findings_.error(path, "calls ", quoted(function),
                    ", which is neither in the objects nor in operator_functions",
                    did_you_mean(function, known));
  }
}

}  // namespace

void validate(const ModelLibrary& archive, Findings& findings, const MappedFile* file) {
  MemberFacts facts{MlfFunctions(archive, findings), file, {}};
  for (std::size_t i = 0; i < archive.metadata.models.size(); ++i) {
    ModelValidator(archive, i, facts, findings).run();
  }
}

}  // namespace gantry
