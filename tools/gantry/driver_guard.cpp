// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/driver_guard.hpp"

#include "tools/gantry/common/forked_work.hpp"

#include "core/manifest/reason.hpp"
#include "core/probe/prober.hpp"

#include <algorithm>

namespace gantry::cli {
namespace {

// Returns the text that reports it.
Message exclude(PluginSet& plugins, std::size_t candidate, const Message& why,
                const Reason& because = reason::driver_ended) {
  const std::string title = plugins.candidate(candidate).title();
  plugins.exclude(candidate, because, why);
  return Message("plugin ", title, " is not used: ", why);
}

}  // namespace

bool can_be_probed(const Candidate& candidate) {
  return !candidate.stopped() && candidate.manifest && !candidate.manifest->library_path.empty();
}

Result<std::vector<Message>> probe_all(const InstalledPlugins& installed) {
  PluginSet& plugins = installed.set();
  const std::vector<Candidate> all = plugins.candidates();
  std::vector<Message> excluded;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!can_be_probed(all[i])) continue;
    const Result<ProbeNote> verdict = installed.prober().probe(all[i]);
    if (verdict.ok()) {
      plugins.set_probe(i, verdict);
    } else if (installed.prober().options().program.path.empty()) {
      return verdict.error();
    } else if (is_probe_error(verdict.error())) {
      excluded.push_back(exclude(plugins, i, verdict.error().message, reason_of(verdict.error())));
    } else {
      // The command may not open it: another plugin may have the same devices, or it has none.
      plugins.set_probe(i, verdict);
    }
  }
  return excluded;
}

Result<std::vector<Message>> exclude_failing_drivers(const InstalledPlugins& installed,
                                                     std::chrono::milliseconds limit) {
  PluginSet& plugins = installed.set();
  const std::vector<Candidate> all = plugins.candidates();
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].stopped() && all[i].manifest && !all[i].manifest->devices.empty())
      left.push_back(i);
  }
  const auto list_devices = [&](std::size_t i) {
    // Errors are reported when the command opens the plugin.
    std::vector<Message> problems;
    if (!plugins.open(Choice{left[i]}).ok()) return;
    for (const ManifestDevice& device : all[left[i]].manifest->devices)
      installed.devices(device.name, problems);
  };
  std::vector<Message> excluded;
  for (;;) {
    GANTRY_TRY(const auto failure, run_forked(left.size(), limit, list_devices));
    if (!failure) return excluded;
    const auto next = left.begin() + static_cast<std::ptrdiff_t>(failure->item);
    excluded.push_back(exclude(plugins, *next, failure->text));
    left.erase(left.begin(), next + 1);
  }
}

Result<std::vector<Message>> exclude_failing_generators(const InstalledPlugins& installed,
                                                        const Generators& generators,
                                                        std::chrono::milliseconds limit) {
  const TargetKinds kinds = installed.target_kinds();
  std::vector<KnownTargetKind> left;
  for (const KnownTargetKind& known : kinds.all()) {
    if (!plugin_generators(known).empty()) left.push_back(known);
  }
  const auto check = [&](std::size_t i) {
    for (const GeneratorEntry& entry : plugin_generators(left[i])) {
      // The command reports errors.
      (void)check_generator(entry, left[i], generators).ok();
    }
  };
  PluginSet& plugins = installed.set();
  std::vector<Message> excluded;
  for (;;) {
    GANTRY_TRY(const auto failure, run_forked(left.size(), limit, check, "the code generator"));
    if (!failure) return excluded;
    const auto next = left.begin() + static_cast<std::ptrdiff_t>(failure->item);
    const std::vector<Candidate> all = plugins.candidates();
    const auto is_its = [&](const Candidate& candidate) {
      return !candidate.stopped() && candidate.manifest && candidate.manifest->id == next->plugin;
    };
    const auto candidate = std::ranges::find_if(all, is_its);
    if (candidate != all.end()) {
      const auto index = static_cast<std::size_t>(candidate - all.begin());
      excluded.push_back(exclude(plugins, index, failure->text));
    }
    left.erase(left.begin(), next + 1);
  }
}

Result<std::vector<Message>> exclude_failing_checks(const InstalledPlugins& installed,
                                                    const Artifact& artifact,
                                                    std::chrono::milliseconds limit) {
  PluginSet& plugins = installed.set();
  std::vector<Message> excluded;
  for (;;) {
    const std::vector<std::size_t> entries = installed.served_payloads(artifact);
    GANTRY_TRY(const auto failure, run_forked(entries.size(), limit, [&](std::size_t i) {
                 installed.check_payload(artifact, entries[i]);
               }));
    if (!failure) return excluded;
    const Entry& entry = artifact.container.entries[entries[failure->item]];
    const std::vector<Choice> choices = plugins.choices_for_key(entry.type_key);
    excluded.push_back(exclude(plugins, choices.front().candidate, failure->text));
  }
}

}  // namespace gantry::cli
