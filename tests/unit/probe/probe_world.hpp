// SPDX-License-Identifier: Apache-2.0
//
// Fake plugins, and the gantry-probe of this build.
#pragma once

#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/manifest/config_values.hpp"
#include "core/plugins/probe/prober.hpp"
#include "core/plugins/probe/run_probe.hpp"
#include "tests/unit/library/world.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

inline std::string built_probe() { return (build_tree() / "libexec/gantry/gantry-probe").string(); }

// The reason of an error, or "passed".
inline std::string reason_of_probe(const Result<ProbeNote>& verdict) {
  return verdict.ok() ? "passed" : verdict.error().reason;
}
// True for a verdict of an earlier probe that is not a quarantine.
inline bool is_cached(const Result<ProbeNote>& verdict) {
  return verdict.ok() ? verdict->age_s.has_value()
                      : verdict.error().message.text().find(" s ago\n") != std::string::npos;
}

// Room for the libraries of a fake plugin.
constexpr std::uint64_t kProbeMemory = 64 << 20;

// A world with the plugin "fake", its cache, and a clock that stands still.
struct ProbeWorld {
  explicit ProbeWorld(std::string_view variant, ManifestBuilder manifest = fake_manifest())
      : log(LogLevel::info, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }) {
    if (manifest.text().find("\nprobe: ") == std::string::npos) manifest.line("probe: auto");
    world.add("fake", variant, manifest);
  }

  // required_files  [in]  replaces `requires.files` of its manifest
  Candidate candidate(const std::vector<std::string>& required_files = {}) const {
    Candidate found;
    found.file = (world.path() / "fake/fake.yaml").string();
    Manifest manifest = world.manifest("fake");
    if (!required_files.empty()) manifest.needs.files = required_files;
    found.manifest = std::make_shared<const Manifest>(std::move(manifest));
    found.passed = Step::resolved;
    return found;
  }
  std::filesystem::path library_directory() const { return world.path() / "fake"; }
  // Writes a program that runs shell commands and then becomes gantry-probe. In the commands `$1` is
  // the path of the manifest.
  std::string probe_after(std::string_view commands) const {
    const std::filesystem::path program = cache / "probe_after";
    test::write_file(program,
                     concat("#!/bin/sh\n", commands, "\nexec ", built_probe(), " \"$@\"\n"));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program.string();
  }
  // Replaces the library by another variant, as a package does.
  void replace_by(std::string_view variant) const {
    std::filesystem::remove(world.library("fake"));
    std::filesystem::copy_file(fake_library(variant), world.library("fake"));
  }

  // Sets the option "level" in this process and in a configuration, whose path is returned.
  std::string set_level(std::int64_t level) {
    plugin_options = {{"level", level, "", false}};
    const std::filesystem::path file = cache / "runtime.yaml";
    test::write_file(file, concat("backends: {test.fake: {config: {level: ", level, "}}}\n"));
    return file.string();
  }

  ProbeCommand command(std::uint32_t limit_ms = 20'000) const {
    ProbeCommand all;
    all.helper = built_probe();
    all.manifest = candidate().file;
    all.memory_bytes = kProbeMemory;
    all.limit_ms = limit_ms;
    all.options = digest_of(plugin_options);
    all.environment = {"LC_ALL=C"};
    return all;
  }
  ProberOptions options() {
    ProberOptions all;
    all.program = {built_probe(), {built_probe()}};
    all.cache_directory = (cache / "gantry").string();
    all.memory_bytes = kProbeMemory;
    all.core = core_info();
    all.environment = [this](const Manifest&) { return environment; };
    all.plugin_options = [this](const Manifest&) { return digest_of(plugin_options); };
    all.now = [this] { return now_s; };
    all.log = &log;
    return all;
  }

  World world;
  TempDir cache;
  ProbeEnvironment environment{{"LC_ALL=C"}, {}};
  // of the plugin in this process; gantry-probe reads its own
  std::vector<ConfigValue> plugin_options;
  std::int64_t now_s = 1'000'000;
  std::vector<std::string> lines;
  Log log;
};

}  // namespace gantry::test
