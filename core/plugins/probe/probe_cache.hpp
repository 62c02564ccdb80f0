// SPDX-License-Identifier: Apache-2.0
//
// The verdicts of probes, kept in files (gantry/disk_cache.hpp) with what they depend on.
#pragma once

#include "core/base/log.hpp"
#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/probe/probe_end.hpp"

#include <gantry/disk_cache.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A file on which the verdict of a probe depends, identified without reading it.
struct ProbedFile {
  // or the name of a library that is not found
  std::string path;
  // all 0 if there is no such file
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0;

  bool operator==(const ProbedFile&) const = default;
};

// costs    one system call
ProbedFile probed_file(std::string path);

// Returns the files of a plugin: manifest and drop-ins; its library and the libraries that it
// needs, directly or not; the driver libraries and files that it requires; the linker's cache.
//
// costs    one mapping of each library
std::vector<ProbedFile> probed_files(const Candidate& plugin);

// True if each file is as it was.
//
// costs    one system call for each
bool are_unchanged(const std::vector<ProbedFile>& files);

// The cached verdict of a probe, and what it depends on.
struct ProbeEntry {
  // of the core, the kernel, the plugin's options and the environment
  std::string host;
  // of the start of the system
  std::string boot;
  std::vector<ProbedFile> files;
  ProbeEnd end;
  // harmful ends since the last change of the above
  std::uint32_t strikes = 0;
  // when the probe ended, in seconds since 1970
  std::int64_t time_s = 0;
};

// Harmful ends after which a plugin is not probed again.
constexpr std::uint32_t kMaxStrikes = 3;

// How long a harmful verdict is valid after that number of strikes; nullopt: until something of its
// key changes.
constexpr std::optional<std::int64_t> lifetime_s(std::uint32_t strikes) {
  if (strikes >= kMaxStrikes) return std::nullopt;
  return strikes == 2 ? 300 : 60;
}

std::string to_bytes(const ProbeEntry& entry);
// returns  malformed; the bytes may be any
Result<ProbeEntry> read_probe_entry(std::span<const std::uint8_t> bytes);

// Verdicts in files; what cannot be written is kept in memory.
class ProbeCache {
 public:
  // directory  [in]  of all caches; the files are in its "probe". Empty: memory only
  // log        [in]  borrowed; NULL: nothing is logged
  ProbeCache(const std::string& directory, const Log* log);

  // Returns the entry of a library; nullopt if there is none or it is damaged, which is logged.
  //
  // costs    one read of a file
  std::optional<ProbeEntry> load(std::string_view library);
  // costs    one write and fsync
  void store(std::string_view library, const ProbeEntry& entry);
  // returns  true if there was an entry
  bool remove(std::string_view library);

  // The file of a library, whether it exists or not.
  std::string path_of(std::string_view library) const { return disk_.path_of(key_of(library)); }

 private:
  static std::string key_of(std::string_view library) {
    return DiskCache::key({"gantry probe 2", library});
  }

  const Log* log_;
  DiskCache disk_;
  std::mutex mutex_;
  // by library, entries that are not on the disk
  std::map<std::string, ProbeEntry, std::less<>> memory_;
};

}  // namespace gantry
