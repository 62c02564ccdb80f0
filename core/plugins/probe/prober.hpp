// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a plugin may be opened in this process, by opening it in a child process first.
//
//     manifest's `probe` -> cached verdict -> run_probe() -> cached
//
// A verdict is valid as long as the files of the plugin, the kernel, the core, the plugin's options
// and the variables that it may read are the same. A harmful one is valid for a minute, then for five
// minutes; after the third the plugin is quarantined until something of these changes or the system
// is restarted. A refusal, an error that the plugin returned, is not cached.
#pragma once

#include "core/base/log.hpp"
#include "core/base/process.hpp"
#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/probe/probe_cache.hpp"
#include "core/plugins/probe/probe_environment.hpp"

#include <gantry/plugin.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

// The program gantry-probe. PATH is not searched: the program belongs to this core.
struct ProbeProgram {
  // absolute path; empty: not found
  std::string path;
  // where it was searched
  std::vector<std::string> searched;
};

// Searches libexec/gantry beside the directory of the core's library, which is bin, lib or tests of a
// prefix, a build tree or the Python package, and beside its parent, which is lib where libraries are in
// lib/<architecture>.
//
// library_directory  [in]  empty: nothing is searched
ProbeProgram find_probe(const std::string& library_directory);

struct ProberOptions {
  ProbeProgram program;
  // of the runtime; empty: defaults
  std::string config_file;
  // empty: verdicts are kept in memory
  std::string cache_directory;
  // that a plugin may allocate during a probe
  std::uint64_t memory_bytes = default_memory_bytes();
  // its texts must outlive the prober
  gantry_host_info core{};
  std::function<ProbeEnvironment(const Manifest& manifest)> environment;
  // digest_of() the plugin's options in this process
  std::function<std::uint64_t(const Manifest& manifest)> plugin_options;
  // seconds since 1970; empty: the system's clock
  std::function<std::int64_t()> now;
  // borrowed; NULL: nothing is logged
  const Log* log = nullptr;

  // 4 GiB, or half of the host's memory if that is less.
  static std::uint64_t default_memory_bytes();
};

class Prober {
 public:
  explicit Prober(ProberOptions options);

  // True if a plugin is probed before it is opened. `auto` exempts the plugins of this project,
  // whose ids begin with "gantry.".
  static bool is_subject(const Manifest& manifest);

  // Probes a plugin if its manifest requires it.
  //
  // returns  nullopt: not probed; the errors of probe_error(); unavailable with reason QUARANTINED,
  //          PROBE_FAILED if run_probe() fails, or PROBE_MISSING if the program is not found and the
  //          manifest has `probe: always`. With `auto` the plugin then passes, which is logged once
  // thread   any
  // costs    a cached verdict: one read and a stat for each file
  Result<std::optional<ProbeNote>> check(const Candidate& plugin);
  // Probes any plugin unless a verdict is cached.
  Result<ProbeNote> probe(const Candidate& plugin);
  // Returns the cached verdict of a plugin; nullopt if it would be probed.
  std::optional<Result<ProbeNote>> cached(const Candidate& plugin);
  // Removes the verdict of a plugin.
  //
  // returns  true if there was one
  bool forget(const Candidate& plugin);

  const ProberOptions& options() const { return options_; }

 private:
  std::string host_of(const Manifest& manifest) const;
  std::int64_t now() const;
  std::optional<ProbeEntry> find(const Candidate& plugin);
  std::optional<Result<ProbeNote>> verdict_of(const ProbeEntry& entry,
                                              const Candidate& plugin) const;
  Result<ProbeEnd> run(const Candidate& plugin);

  ProberOptions options_;
  ProbeCache cache_;
  KilledChildren killed_;
  std::atomic<bool> missing_logged_{false};
};

// True if the error is one of a probe, after which the plugin must not be opened: D510 to D541.
bool is_probe_error(const Error& error);

}  // namespace gantry
