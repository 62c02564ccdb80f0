// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/prober.hpp"

#include "core/base/text_file.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/probe/run_probe.hpp"

#include <gantry/join.hpp>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace gantry {
namespace {

constexpr std::string_view kOwnIds = "gantry.";

std::string boot_id() {
  auto text = read_text_file("/proc/sys/kernel/random/boot_id");
  return text.ok() ? *std::move(text) : "";
}

// left_s   [in]   until the verdict expires; nullopt: never
Error with_remedy(Error error, const Manifest& manifest, std::optional<std::int64_t> left_s) {
  error.at("it is probed again ", left_s ? concat("in ", *left_s, " s, or at once ") : "",
           "when one of its files changes or after `gantry plugins clear ", manifest.id, "`");
  return error;
}

}  // namespace

ProbeProgram find_probe(const std::string& library_directory) {
  namespace fs = std::filesystem;
  ProbeProgram found;
  if (library_directory.empty()) return found;
  for (const char* const up : {"..", "../.."}) {
    const fs::path path =
        (fs::path(library_directory) / up / "libexec/gantry/gantry-probe").lexically_normal();
    std::error_code ignored;
    if (found.path.empty() && fs::is_regular_file(path, ignored) &&
        ::access(path.c_str(), X_OK) == 0) {
      found.path = path.string();
    }
    found.searched.push_back(path.string());
  }
  return found;
}

std::uint64_t ProberOptions::default_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(std::uint64_t{4} << 30, pages * page / 2);
}

Prober::Prober(ProberOptions options)
    : options_(std::move(options)), cache_(options_.cache_directory, options_.log) {}

bool Prober::is_subject(const Manifest& manifest) {
  if (manifest.probe == Probe::always) return true;
  return manifest.probe == Probe::automatic && !manifest.id.starts_with(kOwnIds);
}

std::int64_t Prober::now() const {
  if (options_.now) return options_.now();
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Prober::host_of(const Manifest& manifest) const {
  utsname kernel{};
  ::uname(&kernel);
  const ProbedFile program = probed_file(options_.program.path);
  std::string host =
      concat("core ", options_.core.core_version ? options_.core.core_version : "", " abi ",
             describe(options_.core.abi), " kernel ", kernel.release, " program ", program.inode,
             " ", program.modified_ns, " memory ", options_.memory_bytes, " options ",
             Hex{options_.plugin_options(manifest)});
  for (const std::string& variable : options_.environment(manifest).decisive)
    host += concat(" ", Hex{DiskCache::digest(variable)});
  return host;
}

// Returns the entry of a plugin if its key has not changed.
std::optional<ProbeEntry> Prober::find(const Candidate& plugin) {
  std::optional<ProbeEntry> entry = cache_.load(plugin.manifest->library_path);
  if (!entry || entry->host != host_of(*plugin.manifest)) return std::nullopt;
  if (!entry->end.is_harmful()) {
    return are_unchanged(entry->files) ? std::move(entry) : std::nullopt;
  }
  // A library that was missing may be there now: the list is made again.
  const bool same = entry->boot == boot_id() && entry->files == probed_files(plugin);
  return same ? std::move(entry) : std::nullopt;
}

// Returns the verdict of an entry whose key has not changed; nullopt if it is too old.
std::optional<Result<ProbeNote>> Prober::verdict_of(const ProbeEntry& entry,
                                                    const Candidate& plugin) const {
  const Manifest& manifest = *plugin.manifest;
  const std::int64_t age = now() - entry.time_s;
  if (!entry.end.is_harmful()) {
    return Result<ProbeNote>(ProbeNote{entry.end.elapsed_ms,
                                       static_cast<std::uint64_t>(std::max<std::int64_t>(age, 0))});
  }
  Error error = probe_error(entry.end, plugin.title(), plugin.file);
  const std::optional<std::int64_t> lifetime = lifetime_s(entry.strikes);
  if (!lifetime) {
    Error quarantined = unavailable("plugin ", plugin.title(), " is quarantined: it has failed ",
                                    entry.strikes, " probes")
                            .with_reason(reason::quarantined.tag);
    quarantined.message.at(name_of(reason_of(error)), ": ", error.message);
    return Result<ProbeNote>(with_remedy(std::move(quarantined), manifest, std::nullopt));
  }
  // The clock may have been set back.
  if (age < 0 || age >= *lifetime) return std::nullopt;
  error.at("this was found ", age, " s ago");
  return Result<ProbeNote>(with_remedy(std::move(error), manifest, *lifetime - age));
}

std::optional<Result<ProbeNote>> Prober::cached(const Candidate& plugin) {
  const std::optional<ProbeEntry> entry = find(plugin);
  return entry ? verdict_of(*entry, plugin) : std::nullopt;
}

Result<ProbeEnd> Prober::run(const Candidate& plugin) {
  const Manifest& manifest = *plugin.manifest;
  ProbeCommand command;
  command.helper = options_.program.path;
  command.manifest = plugin.file;
  command.tier = plugin.tier;
  command.location = plugin.location_name;
  command.drop_ins = plugin.drop_ins;
  command.config_file = options_.config_file;
  command.options = options_.plugin_options(manifest);
  command.memory_bytes = options_.memory_bytes;
  command.limit_ms = static_cast<std::uint32_t>(manifest.probe_timeout_ms);
  command.environment = options_.environment(manifest).all;
  return run_probe(command, killed_);
}

Result<ProbeNote> Prober::probe(const Candidate& plugin) {
  const std::string& library = plugin.manifest->library_path;
  if (options_.program.path.empty()) {
    return unavailable("plugin ", plugin.title(),
                       " cannot be probed: the program gantry-probe is not found, searched ",
                       join(options_.program.searched))
        .with_reason(reason::probe_missing.tag);
  }
  const std::optional<ProbeEntry> before = find(plugin);
  if (before) {
    if (auto verdict = verdict_of(*before, plugin)) return *std::move(verdict);
  }
  // Before the run: a file that is replaced meanwhile is a change.
  ProbeEntry entry{host_of(*plugin.manifest), boot_id(), probed_files(plugin), {}, 0, 0};
  auto end = run(plugin);
  if (!end.ok()) {
    Error error = std::move(end).error();
    error.reason = reason::probe_failed.tag;
    error.at("while plugin ", plugin.title(), " is probed");
    return std::move(error.at("it is not opened without a probe: repair this and try again"));
  }
  entry.end = *std::move(end);
  // After the run, which may take longer than a verdict is valid.
  entry.time_s = now();
  if (entry.end.outcome == ProbeOutcome::refused) {
    Error error = probe_error(entry.end, plugin.title(), plugin.file);
    if (!reason_of(error)) error.reason = reason::create_failed.tag;
    return error;
  }
  if (entry.end.is_harmful()) entry.strikes = (before ? before->strikes : 0) + 1;
  cache_.store(library, entry);
  if (options_.log != nullptr && options_.log->is_enabled(LogLevel::info)) {
    options_.log->info(
        Message("plugin ", plugin.title(), " was probed in ", entry.end.elapsed_ms, " ms"));
  }
  if (!entry.end.is_harmful()) return ProbeNote{entry.end.elapsed_ms, std::nullopt};
  const std::optional<std::int64_t> lifetime = lifetime_s(entry.strikes);
  if (!lifetime) return *verdict_of(entry, plugin);
  return with_remedy(probe_error(entry.end, plugin.title(), plugin.file), *plugin.manifest,
                     lifetime);
}

Result<std::optional<ProbeNote>> Prober::check(const Candidate& plugin) {
  const Manifest& manifest = *plugin.manifest;
  if (!is_subject(manifest)) return std::optional<ProbeNote>();
  Result<ProbeNote> note = probe(plugin);
  if (note.ok()) return std::optional(*note);
  // Not by the reason of the error, which may be one of the plugin.
  const bool is_missing = options_.program.path.empty();
  if (!is_missing || manifest.probe == Probe::always) return std::move(note).failure();
  if (options_.log != nullptr && !missing_logged_.exchange(true))
    options_.log->warning(Message("plugins are opened without a probe: ", note.error().message));
  return std::optional<ProbeNote>();
}

bool Prober::forget(const Candidate& plugin) {
  return cache_.remove(plugin.manifest->library_path);
}

bool is_probe_error(const Error& error) {
  const std::uint16_t number = reason_of(error).number;
  return reason::is_of_probe(number);
}

}  // namespace gantry
