// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/artifact.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/json.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/host/library.hpp"
#include "core/plugin/explain.hpp"
#include "core/runtime/state.hpp"

#include <gantry/quoted.hpp>

#include <unistd.h>

#include <algorithm>
#include <optional>

namespace gantry::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> keys;
  std::string artifact;
  bool json = false;
};

std::string reason_text(const Reason& reason) { return reason ? name_of(reason) : std::string(); }

std::string joined_keys(const Manifest& manifest) {
  std::string text;
  const auto add = [&](const std::string& key) {
    text += (text.empty() ? "" : ", ") + escaped(key);
  };
  for (const ManifestKey& key : manifest.keys) {
    add(key.key);
    for (const std::string& alias : key.aliases) add(alias);
  }
  for (const ManifestDevice& device : manifest.devices) {
    text += concat(text.empty() ? "" : ", ", "device ", escaped(device.name));
  }
  return text;
}

std::string list_text(const std::vector<Candidate>& candidates) {
  TextTable table({{"id"}, {"version"}, {"state"}, {"serves"}, {"manifest"}});
  for (const Candidate& candidate : candidates) {
    const auto& manifest = candidate.manifest;
    const Tone tone = candidate.stopped() ? Tone::warning : Tone::good;
    table.add({manifest ? escaped(manifest->id) : "-", manifest ? manifest->version.text : "-",
               TextTable::Cell(candidate.stopped() ? std::string(candidate.reason.tag)
                                                   : std::string(name_of(candidate.state)),
                               tone),
               manifest ? joined_keys(*manifest) : "", escaped(candidate.file)});
  }
  return table.empty() ? "no plugin is installed\n" : table.text(terminal_of(STDOUT_FILENO), 0);
}

Json list_json(const std::vector<Candidate>& candidates) {
  Json list = Json::array();
  for (const Candidate& candidate : candidates) {
    const auto& manifest = candidate.manifest;
    Json one;
    one["id"] = manifest ? Json(json_text(manifest->id)) : Json();
    one["version"] = manifest ? Json(json_text(manifest->version.text)) : Json();
    one["state"] = name_of(candidate.state);
    one["reason"] = candidate.stopped() ? Json(reason_text(candidate.reason)) : Json();
    one["text"] = json_text(candidate.text);
    one["keys"] = Json::array();
    one["aliases"] = Json::array();
    one["devices"] = Json::array();
    if (manifest) {
      for (const ManifestKey& key : manifest->keys) {
        one["keys"].push_back(json_text(key.key));
        for (const std::string& alias : key.aliases) one["aliases"].push_back(json_text(alias));
      }
      for (const ManifestDevice& device : manifest->devices) {
        one["devices"].push_back(json_text(device.name));
      }
    }
    one["library"] = manifest ? Json(json_text(manifest->library_path)) : Json();
    one["manifest"] = json_text(candidate.file);
    list.push_back(std::move(one));
  }
  Json json;
  json["plugins"] = std::move(list);
  return json;
}

int list(const Globals& globals, bool json) {
  auto runtime = open_runtime(globals);
  if (!runtime.ok()) return report(runtime.error());
  const std::vector<Candidate> candidates = runtime->state().plugins->candidates();
  print(json ? document_text(list_json(candidates)) : list_text(candidates));
  return kDone;
}

// The type keys of an artifact, each with the modules that want it: "model.so[cuda#2]".
std::vector<Wish> wishes_of(const Artifact& artifact) {
  std::vector<Wish> wishes;
  const std::string name = artifact.file->path().filename().string();
  for (std::size_t i = 0; i < artifact.container.entries.size(); ++i) {
    const Entry& entry = artifact.container.entries[i];
    if (entry.is_library() || entry.type_key.empty()) continue;
    const std::string key(entry.type_key);
    auto at =
        std::find_if(wishes.begin(), wishes.end(), [&](const Wish& w) { return w.what == key; });
    if (at == wishes.end()) at = wishes.insert(at, Wish{key, false, {}});
    at->wanted_by.push_back(concat(name, "[", key, "#", i, "]"));
  }
  return wishes;
}

Json candidate_json(const ExplainedCandidate& candidate) {
  Json json;
  json["verdict"] = name_of(candidate.verdict);
  json["id"] = json_text(candidate.id);
  json["version"] = json_text(candidate.version);
  json["manifest"] = json_text(candidate.file);
  json["tier"] = candidate.tier;
  json["priority"] = candidate.priority;
  json["state"] = name_of(candidate.state);
  json["reason"] = candidate.reason ? Json(reason_text(candidate.reason)) : Json();
  json["text"] = json_text(candidate.text);
  json["support"] = json_text(candidate.support);
  return json;
}

template <class Items>
Json texts_json(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_text(item));
  return list;
}

// The code of the artifact itself, which no plugin serves.
struct HostCode {
  std::string file;  // its name alone
  std::string machine;
  std::string dialect;
  Status runs;  // on this host
};

struct Diagnosis {
  Explanation plugins;
  std::optional<HostCode> host_code;  // where an artifact was asked about

  bool good() const { return plugins.all_served() && (!host_code || host_code->runs.ok()); }
};

std::string host_code_text(const HostCode& code) {
  const std::string title = concat("\nhost code ", code.file, "\n");
  if (code.runs.ok()) {
    return concat(title, "  RUNS     ", code.machine, ", ", code.dialect, " dialect\n");
  }
  const Error& why = code.runs.error();
  return concat(title, "  REFUSED  ", why.reason, "  ", why.message, "\n  => loading would FAIL\n");
}

Json host_code_json(const HostCode& code) {
  Json json;
  json["machine"] = json_text(code.machine);
  json["dialect"] = json_text(code.dialect);
  json["runs"] = code.runs.ok();
  json["reason"] = code.runs.ok() ? Json() : Json(json_text(code.runs.error().reason));
  json["text"] = code.runs.ok() ? "" : json_text(code.runs.error().message);
  return json;
}

Json doctor_json(const Diagnosis& diagnosis) {
  const Explanation& explanation = diagnosis.plugins;
  Json json;
  json["core"] = explanation.core;
  json["search"] = Json::array();
  for (const SearchPlace& place : explanation.places) {
    Json one;
    one["tier"] = place.tier;
    one["place"] = json_text(place.name);
    one["text"] = json_text(describe(place));
    one["files"] = texts_json(place.files);
    json["search"].push_back(std::move(one));
  }
  json["host_code"] = diagnosis.host_code ? host_code_json(*diagnosis.host_code) : Json();
  json["wishes"] = Json::array();
  for (const ExplainedWish& wish : explanation.wishes) {
    Json one;
    one["what"] = json_text(wish.wish.what);
    one["kind"] = wish.wish.device ? "device" : "key";
    one["wanted_by"] = texts_json(wish.wish.wanted_by);
    one["served"] = wish.served;
    one["pin"] = wish.pin.empty() ? Json() : Json(json_text(wish.pin));
    one["candidates"] = Json::array();
    for (const ExplainedCandidate& candidate : wish.candidates) {
      one["candidates"].push_back(candidate_json(candidate));
    }
    one["near"] = texts_json(wish.near);
    one["advice"] = json_text(wish.advice);
    one["tie"] = json_text(wish.tie);
    json["wishes"].push_back(std::move(one));
  }
  json["unreadable"] = Json::array();
  for (const ExplainedCandidate& candidate : explanation.unreadable) {
    json["unreadable"].push_back(candidate_json(candidate));
  }
  json["warnings"] = texts_json(explanation.warnings);
  return json;
}

// All that was asked for; without a question, all that is offered.
Result<Diagnosis> examine(const DoctorOptions& options, const Globals& globals) {
  GANTRY_TRY(Runtime runtime, open_runtime(globals));
  Diagnosis diagnosis;
  std::vector<Wish> wanted;
  if (!options.artifact.empty()) {
    auto artifact = read_artifact(options.artifact, runtime.state().layouts);
    if (!artifact.ok()) return std::move(artifact).error().at("in ", quoted(options.artifact));
    wanted = wishes_of(artifact.value());
    const auto runs = check_host_code(artifact->elf, "it");
    diagnosis.host_code = {artifact->file->path().filename().string(),
                           std::string(name_of(artifact->elf.machine())),
                           std::string(name_of(artifact->container.dialect)),
                           runs.ok() ? Status() : Status(runs.error())};
  }
  for (const std::string& key : options.keys) wanted.push_back({key, false, {"--key"}});
  PluginSet& plugins = *runtime.state().plugins;
  plugins.inspect_all();
  const bool asked = !options.keys.empty() || !options.artifact.empty();
  diagnosis.plugins = explain(plugins, asked ? wanted : all_wishes(plugins, wanted));
  return diagnosis;
}

int doctor(const DoctorOptions& options, const Globals& globals) {
  const auto diagnosis = examine(options, globals);
  if (!diagnosis.ok()) return report(diagnosis.error());
  if (options.json) {
    print(document_text(doctor_json(diagnosis.value())));
  } else {
    std::string text = to_text(diagnosis->plugins);
    if (diagnosis->host_code) text += host_code_text(*diagnosis->host_code);
    print(escaped_lines(text));  // names in it come from files
  }
  return diagnosis->good() ? kDone : kFailed;
}

void add_list(CLI::App& plugins, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = plugins.add_subcommand("list", "manifests found, and what became of each");
  command->add_flag("--json", *json, "print one JSON document");
  command->footer("Example:\n  gantry plugins list");
  command->callback([json, &invocation] {
    invocation.action = [json, &invocation] { return list(invocation.globals, *json); };
  });
}

void add_doctor(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      plugins.add_subcommand("doctor", "who would serve what, who would not, and why");
  add_repeatable(*command, "--key", options->keys, "only this type key; may be repeated")
      ->type_name("KEY")
      ->check(not_empty());
  command->add_option("--artifact", options->artifact, "only what this file wants")
      ->type_name("FILE")
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Ends with 1 where something wanted is not served, or this host cannot run the file's own "
      "code.\n\n"
      "Example:\n  gantry plugins doctor --artifact model.so");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] { return doctor(*options, invocation.globals); };
  });
}

}  // namespace

void add_plugins(CLI::App& app, Invocation& invocation) {
  CLI::App* plugins = app.add_subcommand("plugins", "what is installed and what would be chosen");
  plugins->require_subcommand(1);
  plugins->fallthrough();
  plugins->footer("Example:\n  gantry plugins doctor");
  add_list(*plugins, invocation);
  add_doctor(*plugins, invocation);
}

}  // namespace gantry::cli
