// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/driver_guard.hpp"

#include "tools/gantry/common/isolated_calls.hpp"
#include "tools/gantry/pack_programs.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/payload_check.hpp"
#include "core/engine/runtime/plugin_generators.hpp"
#include "core/plugins/probe/prober.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

namespace gantry::cli {
namespace {

// Returns the error that reports it.
Error exclude(PluginSet& plugins, std::size_t candidate, const Message& why,
              const Reason& because = reason::driver_ended) {
  const std::string title = plugins.candidate(candidate).title();
  plugins.exclude(candidate, because, why);
  return unavailable("plugin ", title, " is not used: ", why).with_reason(because.tag);
}

std::optional<std::size_t> candidate_of(const PluginSet& plugins, const std::string& manifest) {
  const std::vector<Candidate> all = plugins.candidates();
  const auto found = std::ranges::find(all, manifest, &Candidate::file);
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

// Makes the calls for the items that are left, in child processes, until none fails.
//
// on_failure  [in]   called with the items and the one that fails; returns those that are left
// returns     the failures of run_isolated()
template <class OnFailure>
Status exclude_failing(const PluginSet& plugins, IsolatedCommand command,
                       std::chrono::milliseconds limit, std::string_view subject,
                       OnFailure on_failure) {
  while (!command.items.empty()) {
    command.excluded = excluded_manifests(plugins);
    GANTRY_TRY(const ProgramStart program, start_of(command));
    GANTRY_TRY(const auto failure, run_isolated(program, command.items.size(), limit, subject));
    if (!failure) break;
    command.items = on_failure(command.items, *failure);
  }
  return {};
}

// The items after the one that fails.
std::vector<std::string> behind(const std::vector<std::string>& items,
                                const IsolatedFailure& failure) {
  return {items.begin() + static_cast<std::ptrdiff_t>(failure.item) + 1, items.end()};
}

}  // namespace

bool can_be_probed(const Candidate& candidate) {
  return !candidate.stopped() && candidate.manifest && !candidate.manifest->library_path.empty();
}

Result<std::vector<Error>> probe_all(RuntimeState& runtime) {
  PluginSet& plugins = *runtime.plugins;
  Prober& prober = *runtime.prober;
  std::vector<Error> excluded;
  // Returns the version that takes the place of a refused one.
  const auto probe = [&](std::size_t index) -> Result<std::optional<std::size_t>> {
    const Candidate candidate = plugins.candidate(index);
    if (!can_be_probed(candidate)) return std::optional<std::size_t>();
    const Result<ProbeNote> verdict = prober.probe(candidate);
    if (!verdict.ok() && prober.options().program.path.empty()) return verdict.error();
    plugins.set_probe(index, verdict);
    if (verdict.ok()) return std::optional<std::size_t>();
    const auto next = plugins.next_version(index, Depth::dependencies);
    // The command may open one that returned an error: another plugin may have the same devices, or
    // it has none.
    if (is_probe_error(verdict.error())) {
      excluded.push_back(
          exclude(plugins, index, verdict.error().message, reason_of(verdict.error())));
    }
    return next;
  };
  const std::size_t count = plugins.candidates().size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::optional<std::size_t> at = i; at;) {
      GANTRY_TRY(at, probe(*at));
    }
  }
  return excluded;
}

Result<std::vector<Error>> exclude_failing_drivers(PluginSet& plugins, const Globals& globals,
                                                   std::chrono::milliseconds limit) {
  IsolatedCommand command{.work = "devices", .globals = globals};
  for (const Candidate& candidate : plugins.candidates()) {
    if (!candidate.stopped() && candidate.manifest && !candidate.manifest->devices.empty())
      command.items.push_back(candidate.file);
  }
  std::vector<Error> excluded;
  GANTRY_CHECK(
      exclude_failing(plugins, std::move(command), limit, "the driver",
                      [&](const std::vector<std::string>& items, const IsolatedFailure& failure) {
                        const auto candidate = candidate_of(plugins, items[failure.item]);
                        if (candidate)
                          excluded.push_back(exclude(plugins, *candidate, failure.text));
                        return behind(items, failure);
                      }));
  return excluded;
}

Result<IsolatedCall> list_devices_isolated(const IsolatedCommand& command, const Runtime& handle) {
  return [&command, runtime = state_of(handle.get())](std::size_t item) {
    PluginSet& plugins = *runtime->plugins;
    const auto candidate = candidate_of(plugins, command.items[item]);
    // Errors are reported when the command opens the plugin.
    std::vector<Error> problems;
    if (!candidate || !plugins.open(*candidate).ok()) return std::string();
    const Candidate opened = plugins.candidate(*candidate);
    for (const ManifestDevice& device : opened.manifest->devices)
      list_devices(*runtime, device.name, problems);
    return std::string();
  };
}

CpuGenerators::CpuGenerators(std::shared_ptr<RuntimeState> runtime)
    : runtime_(std::move(runtime)), kinds_(target_kinds(*runtime_->plugins)) {
  generators_.tools.programs = options_of_environment().programs;
  generators_.kinds = &kinds_;
  generators_.open_plugin = [this](std::string_view plugin) {
    return plugin_generator(*runtime_, plugin);
  };
}

Result<std::vector<Error>> exclude_failing_generators(PluginSet& plugins, const Globals& globals,
                                                      std::chrono::milliseconds limit) {
  const TargetKinds kinds = target_kinds(plugins);
  IsolatedCommand command{.work = "generators", .globals = globals};
  for (const KnownTargetKind& known : kinds.all()) {
    if (!plugin_generators(known).empty()) command.items.push_back(known.kind.name);
  }
  std::vector<Error> excluded;
  GANTRY_CHECK(
      exclude_failing(plugins, std::move(command), limit, "the code generator",
                      [&](const std::vector<std::string>& items, const IsolatedFailure& failure) {
                        const KnownTargetKind* const kind = kinds.find(items[failure.item]);
                        const std::vector<Candidate> all = plugins.candidates();
                        const auto is_its = [&](const Candidate& candidate) {
                          return !candidate.stopped() && candidate.manifest &&
                                 candidate.manifest->id == kind->plugin;
                        };
                        const auto candidate = std::ranges::find_if(all, is_its);
                        if (candidate != all.end()) {
                          const auto index = static_cast<std::size_t>(candidate - all.begin());
                          excluded.push_back(exclude(plugins, index, failure.text));
                        }
                        return behind(items, failure);
                      }));
  return excluded;
}

Result<IsolatedCall> check_generators_isolated(const IsolatedCommand& command,
                                               const Runtime& runtime) {
  return [&command,
          host = std::make_shared<CpuGenerators>(state_of(runtime.get()))](std::size_t item) {
    const KnownTargetKind* const kind = host->kinds().find(command.items[item]);
    if (kind == nullptr) return std::string();
    for (const GeneratorEntry& entry : plugin_generators(*kind)) {
      // The command reports errors.
      (void)check_generator(entry, *kind, host->generators()).ok();
    }
    return std::string();
  };
}

Result<std::vector<Error>> exclude_failing_checks(RuntimeState& runtime, const Globals& globals,
                                                  const std::string& path, const Artifact& artifact,
                                                  std::chrono::milliseconds limit) {
  PluginSet& plugins = *runtime.plugins;
  // A name of a descriptor of this process names another file in the child.
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(path, failed);
  IsolatedCommand command{
      .work = "payloads", .globals = globals, .file = failed ? path : file.string()};
  const auto served = [&] {
    std::vector<std::string> entries;
    for (const std::size_t entry : served_payloads(runtime, artifact))
      entries.push_back(concat(entry));
    return entries;
  };
  command.items = served();
  std::vector<Error> excluded;
  GANTRY_CHECK(
      exclude_failing(plugins, std::move(command), limit, "the driver",
                      [&](const std::vector<std::string>& items, const IsolatedFailure& failure) {
                        const auto entry = parse_number<std::size_t>(items[failure.item]).value();
                        const std::vector<std::size_t> choices =
                            plugins.choices_for_key(artifact.container.entries[entry].type_key);
                        excluded.push_back(exclude(plugins, choices.front(), failure.text));
                        return served();
                      }));
  return excluded;
}

Result<IsolatedCall> check_payloads_isolated(const IsolatedCommand& command,
                                             const Runtime& handle) {
  const std::shared_ptr<RuntimeState>& runtime = state_of(handle.get());
  GANTRY_TRY(auto artifact, read_artifact(*runtime, command.file));
  return [&command, runtime, artifact = std::move(artifact)](std::size_t item) {
    const auto entry = parse_number<std::size_t>(command.items[item]);
    if (entry && *entry < artifact->container.entries.size())
      check_payload(*runtime, *artifact, *entry);
    return std::string();
  };
}

}  // namespace gantry::cli
