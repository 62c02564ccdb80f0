// SPDX-License-Identifier: Apache-2.0
//
// Verdicts of probes in files, see gantry/disk_cache.hpp; what cannot be written is kept in memory.
#pragma once

#include "core/base/log.hpp"
#include "core/plugins/probe/probe_entry.hpp"

#include <gantry/disk_cache.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

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
