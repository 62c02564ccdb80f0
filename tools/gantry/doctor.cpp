// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/payload_report.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/cpu_instructions.hpp"
#include "tools/gantry/driver_guard.hpp"
#include "tools/gantry/explanation_json.hpp"
#include "tools/gantry/looked_up.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/plugin_report.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/text.hpp"
#include "core/engine/native/library.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/cpu_requirement.hpp"
#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/offered_by.hpp"
#include "core/engine/runtime/payload_check.hpp"
#include "core/engine/runtime/served_keys.hpp"
#include "core/plugins/choice/unclaimed.hpp"
#include "core/plugins/probe/prober.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace gantry::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> keys;
  std::string artifact;
  bool probe = false;
  int timeout_seconds = default_driver_seconds;
  bool json = false;
};

// The type keys of an artifact, each with the modules that require it.
std::vector<Requirement> requirements_of(const Artifact& artifact) {
  std::vector<Requirement> requirements;
  const ServedKeys keys(artifact);
  for (const ServedKey& key : keys.all()) {
    if (key.name.empty() || key.name == library_key) continue;
    requirements.push_back(requirement_of(key, artifact.name));
  }
  return requirements;
}

// The devices of all plugins after they were opened. Drivers that plugins open at run time are
// checked only by this probe.
struct Probe {
  // "opencl:0"
  std::vector<std::string> devices;
  std::vector<Error> problems;
};

// One id, and the static cases of the manifest that takes precedence.
struct DiagnosedPlugin {
  PluginReport report;
  std::optional<PluginCheck> check;
};

struct Diagnosis {
  Explanation plugins;
  // by id; only for --json
  std::vector<DiagnosedPlugin> details;
  std::vector<UnclaimedLibrary> unclaimed;
  std::optional<Probe> probe;
  // NULL: no file is examined
  std::shared_ptr<const Artifact> artifact;
  // whether this host can run the artifact's CPU code, which requires no plugin
  Status cpu_code;
  // instruction sets that this CPU lacks
  std::optional<CpuRequirement> unmet;
  // that they are unknown, and why; empty: they are known
  std::string unchecked;
  // that the artifact looks up by name; those that nothing has first, unless the program adds them
  std::vector<RequiredFunction> looked_up;
  // with an artifact and --probe
  std::optional<std::vector<PayloadCheck>> payloads;

  bool good() const {
    return plugins.all_served() && cpu_code.ok() && !unmet && (!payloads || all_run(*payloads));
  }
  // Of an artifact. Without a probe, nothing has opened the plugins that serve it, nor their drivers.
  std::string_view summary() const {
    if (!good()) return "does not run";
    return probe ? "runs" : "drivers not opened";
  }
};

// An object is linked first; what the library then imports is checked when it is loaded.
Status cpu_code_status(const Artifact& artifact) {
  if (artifact.elf == nullptr) return {};
  if (artifact.elf->type() == ElfType::relocatable) return check_machine(*artifact.elf, "it");
  const auto runs = check_cpu_code(*artifact.elf, artifact.container.facts, "it");
  return runs.ok() ? check_stack(*artifact.elf, "it") : Status(runs.error());
}

void check_instructions(const ElfFile& elf, Diagnosis& diagnosis) {
  diagnosis.unmet = unmet_cpu_requirement(elf);
  if (diagnosis.unmet) return;
  auto found = unmet_by_instructions(elf);
  if (found.ok()) {
    diagnosis.unmet = *std::move(found);
  } else {
    diagnosis.unchecked = concat("instruction sets not checked: ", found.error().message);
  }
}

std::string cpu_code_text(const Artifact& artifact, const Diagnosis& diagnosis) {
  const Status& runs = diagnosis.cpu_code;
  const std::string title = "\n" + text_line("CPU code ", artifact.name);
  if (artifact.elf == nullptr) {
    return title + "  ABSENT   the file is a container without it\n";
  }
  if (runs.ok() && diagnosis.unmet)
    return title + text_line("  LACKS    ", to_text(*diagnosis.unmet));
  if (runs.ok()) {
    return title + text_line("  RUNS     ", name_of(artifact.elf->machine()), ", ",
                             name_of(artifact.container.facts.dialect), " dialect",
                             diagnosis.unchecked.empty() ? "" : ", ", diagnosis.unchecked);
  }
  const Error& why = runs.error();
  return title + text_line("  REFUSED  ", why.reason, "  ", why.message) +
         text_line("  => loading would FAIL");
}

std::string summary_text(const Diagnosis& diagnosis) {
  if (diagnosis.artifact) {
    const bool is_open = diagnosis.good() && !diagnosis.probe;
    return text_line("summary: ", diagnosis.artifact->name, ": ", diagnosis.summary(),
                     is_open ? "; --probe opens them and checks the payloads" : "");
  }
  const auto& all = diagnosis.plugins.requirements;
  const auto served = std::ranges::count_if(all, &ExplainedRequirement::served);
  return text_line("summary: ", served, " of ", all.size(), " type keys and devices are served");
}

Probe probe_devices(RuntimeState& runtime, std::vector<Error> excluded) {
  Probe probe;
  probe.problems = std::move(excluded);
  for (const ListedDevice& device : list_devices(runtime, probe.problems))
    probe.devices.push_back(concat(device.name, ":", device.index));
  return probe;
}

// Of the functions that nothing has. A program may add them, so that the artifact may run.
std::string look_ups_text(std::span<const RequiredFunction> functions) {
  if (functions.empty() || !functions.front().served_by.empty()) return "";
  std::string text = "\nfunctions that the artifact looks up\n";
  write_unavailable(functions, Terminal{}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string probe_text(const Probe& probe, bool details) {
  std::string text = "\nprobe\n";
  for (const std::string& device : probe.devices) text += text_line("  FOUND    ", device);
  for (const Message& problem : shown_texts(probe.problems, details))
    text += text_line("  FAILED   ", problem);
  return text;
}

void write_probe(const std::optional<Probe>& probe, JsonWriter& json) {
  if (!probe) return json.field("probe", nullptr);
  json.begin_object("probe");
  write_texts("devices", probe->devices, json);
  write_texts("problems", shown_texts(probe->problems, true), json);
  json.end();
}

void write_cpu_code(const Diagnosis& diagnosis, JsonWriter& json) {
  if (!diagnosis.artifact || diagnosis.artifact->elf == nullptr) {
    return json.field("host_code", nullptr);
  }
  const Artifact& artifact = *diagnosis.artifact;
  const Error lacking =
      diagnosis.unmet ? unavailable(to_text(*diagnosis.unmet)).with_reason("BLOB_ARCH") : Error();
  const Error* const why = !diagnosis.cpu_code.ok() ? &diagnosis.cpu_code.error()
                           : diagnosis.unmet        ? &lacking
                                                    : nullptr;
  json.begin_object("host_code");
  json.field("machine", name_of(artifact.elf->machine()));
  json.field("dialect", name_of(artifact.container.facts.dialect));
  json.field("runs", why == nullptr);
  json.field("reason", why != nullptr ? std::optional(json_text(why->reason)) : std::nullopt);
  json.field("text", text_or_null(why != nullptr ? why->message.text() : diagnosis.unchecked));
  json.end();
}

std::string unclaimed_text(const std::vector<UnclaimedLibrary>& libraries) {
  if (libraries.empty()) return "";
  std::string text = "\nunclaimed libraries\n";
  for (const UnclaimedLibrary& one : libraries) {
    text += text_line("  ", one.id, " ", one.version, "  ", one.path,
                      ": no manifest names this library; install its manifest or remove it");
  }
  return text;
}

void write_unclaimed(const UnclaimedLibrary& library, JsonWriter& json) {
  json.field("library", json_text(library.path));
  json.field("id", json_text(library.id));
  json.field("version", json_text(library.version));
}

void write_details(const DiagnosedPlugin& one, JsonWriter& json) {
  write_plugin(one.report, json);
  write_texts("warnings", one.report.warnings, json);
  write_objects("findings", one.check ? one.check->findings : std::vector<CheckFinding>(), json,
                write_finding);
}

std::string doctor_json(const Diagnosis& diagnosis) {
  const Explanation& explanation = diagnosis.plugins;
  return json_document([&](JsonWriter& json) {
    json.field("core", explanation.core);
    write_objects("search", explanation.locations, json, write_location);
    json.field("summary", diagnosis.artifact ? std::optional<std::string_view>(diagnosis.summary())
                                             : std::nullopt);
    write_cpu_code(diagnosis, json);
    write_payload_checks(diagnosis.payloads, json);
    write_objects("looked_up", diagnosis.looked_up, json, write_required_function);
    write_probe(diagnosis.probe, json);
    write_objects("requirements", explanation.requirements, json, write_requirement);
    write_objects("unreadable", explanation.unreadable, json, write_candidate);
    write_objects("unclaimed", diagnosis.unclaimed, json, write_unclaimed);
    write_texts("warnings", explanation.warnings, json);
    write_objects("plugins", diagnosis.details, json, write_details);
  });
}

// Of every id that a manifest has. A library that is not trusted is not read.
Result<std::vector<DiagnosedPlugin>> examine_all(const RuntimeState& runtime) {
  std::set<std::string> ids;
  for (const Candidate& candidate : runtime.plugins->candidates())
    if (candidate.manifest) ids.insert(candidate.manifest->id);
  std::vector<DiagnosedPlugin> all;
  for (const std::string& id : ids) {
    DiagnosedPlugin one;
    GANTRY_TRY(one.report, examine_plugin(runtime, id));
    const ExplainedPlugin& plugin = one.report.plugin;
    if (plugin.manifest && plugin.manifests[plugin.used].candidate.passed >= Step::trusted)
      one.check = check_plugin(plugin.manifest->file);
    all.push_back(std::move(one));
  }
  return all;
}

// Reads which functions the artifact looks up by name.
Status read_look_ups(const RuntimeState& runtime, const std::string& path, Diagnosis& diagnosis) {
  const ServingPlugins serving(*runtime.plugins);
  const InspectOptions how{
      .find_layouts = [&]() -> Result<const PayloadLayouts*> { return &runtime.layouts; },
      .served_by = [](std::string_view) { return std::nullopt; },
      .offered_by = [&](std::string_view name) { return offered_by(runtime, serving, name); }};
  GANTRY_TRY(const InspectReport report, inspect_file(path, how));
  diagnosis.looked_up = required_functions(report, how.offered_by);
  return {};
}

// Notes which kernels a load does not require, because the model states other devices.
void note_unused(const PluginSet& plugins, Diagnosis& diagnosis) {
  const UsedDevices used = read_used_devices(*diagnosis.artifact);
  for (ExplainedRequirement& entry : diagnosis.plugins.requirements) {
    if (!entry.served && used.exclude(entry.requirement.what, plugins))
      entry.unused = concat("the model runs on ", join(used.names));
  }
  if (!diagnosis.payloads) return;
  for (PayloadCheck& check : *diagnosis.payloads) {
    const Entry& entry = diagnosis.artifact->container.entries[check.entry];
    check.is_unused = used.exclude(entry.type_key, plugins);
  }
}

// Examines the type keys and the artifact of the options; without these, everything that plugins
// offer.
Result<Diagnosis> examine(const DoctorOptions& options, const Globals& globals) {
  GANTRY_TRY(const auto state, open_state(globals));
  RuntimeState& runtime = *state;
  Diagnosis diagnosis;
  std::vector<Requirement> required;
  if (!options.artifact.empty()) {
    auto read = read_artifact(runtime, options.artifact);
    if (!read.ok()) return std::move(read).error().at("in ", quoted(options.artifact));
    diagnosis.artifact = *std::move(read);
    const Artifact& artifact = *diagnosis.artifact;
    required = requirements_of(artifact);
    diagnosis.cpu_code = cpu_code_status(artifact);
    if (artifact.elf != nullptr) check_instructions(*artifact.elf, diagnosis);
    GANTRY_CHECK(read_look_ups(runtime, options.artifact, diagnosis));
  }
  for (const std::string& key : options.keys) required.push_back({key, false, {"--key"}});
  PluginSet& plugins = *runtime.plugins;
  plugins.inspect_all();
  if (!options.probe) plugins.note_probes();
  if (options.probe) {
    const auto limit = std::chrono::seconds(options.timeout_seconds);
    GANTRY_TRY(std::vector<Error> excluded, probe_all(runtime));
    if (diagnosis.artifact) {
      GANTRY_TRY(
          const std::vector<Error> more,
          exclude_failing_checks(runtime, globals, options.artifact, *diagnosis.artifact, limit));
      excluded.insert(excluded.end(), more.begin(), more.end());
    }
    diagnosis.probe = probe_devices(runtime, std::move(excluded));
  }
  if (options.probe && diagnosis.artifact) {
    diagnosis.payloads = check_payloads(runtime, *diagnosis.artifact);
  }
  const bool all = options.keys.empty() && !diagnosis.artifact;
  diagnosis.unclaimed = unclaimed_libraries(plugins.found().locations, plugins.candidates(),
                                            package_library_directories());
  diagnosis.plugins = explain(plugins, all ? all_requirements(plugins, {}) : required);
  if (diagnosis.artifact && !runtime.config.strict) note_unused(plugins, diagnosis);
  add_changes(plugins, diagnosis.plugins);
  if (options.json) {
    GANTRY_TRY(diagnosis.details, examine_all(runtime));
  }
  return diagnosis;
}

Result<ExitStatus> doctor(const DoctorOptions& options, const Globals& globals) {
  GANTRY_TRY(const Diagnosis diagnosis, examine(options, globals));
  if (options.json) {
    print(doctor_json(diagnosis));
  } else {
    std::string text =
        summary_text(diagnosis) + to_text(diagnosis.plugins) + unclaimed_text(diagnosis.unclaimed);
    if (diagnosis.artifact) text += cpu_code_text(*diagnosis.artifact, diagnosis);
    text += look_ups_text(diagnosis.looked_up);
    if (diagnosis.probe) text += probe_text(*diagnosis.probe, globals.verbose());
    if (diagnosis.payloads) text += payload_checks_text(*diagnosis.payloads);
    print(text);
  }
  return diagnosis.good() ? kDone : kFailed;
}

}  // namespace

void add_doctor(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      plugins.add_subcommand("doctor", "explain which plugin serves each type key and device");
  add_repeatable(*command, "--key", "KEY", options->keys,
                 "check only this type key; may be repeated");
  add_text(*command, "--artifact", "FILE", options->artifact,
           "check only the requirements of this file");
  command->add_flag("--probe", options->probe,
                    "also open every plugin, in a child process first, and list its devices");
  add_driver_timeout(*command, options->timeout_seconds)
      ->description(concat("time for a plugin to check a payload of FILE, default ",
                           options->timeout_seconds, "; a probe has the time of the manifest"));
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Exits with status 1 if a requirement is not served, or if this host cannot run the file's "
      "CPU code.\n"
      "Without --probe, no plugin nor driver is opened: a file whose drivers are missing passes.\n"
      "With --json, \"plugins\" has for each id: its manifests with drop-ins, its options with "
      "their\n"
      "sources, and the findings of `gantry plugins check`.\n\n"
      "Example:\n  gantry plugins doctor --artifact model.so");
  set_action(*command, invocation, options, doctor);
}

}  // namespace gantry::cli
