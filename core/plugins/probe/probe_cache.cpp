// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_cache.hpp"

namespace gantry {
namespace {

// An entry has a few kilobytes: the paths of its libraries.
constexpr std::uint64_t kMaxEntryBytes = 256 << 10;
constexpr std::uint64_t kMaxCacheBytes = 2 << 20;

}  // namespace

ProbeCache::ProbeCache(const std::string& directory, const Log* log)
    : log_(log),
      disk_({.directory = directory.empty() ? std::string() : directory + "/probe",
             .max_file_bytes = kMaxEntryBytes,
             .max_bytes = kMaxCacheBytes,
             .log = [log](const Message& text) {
               if (log != nullptr) log->warning(text);
             }}) {}

std::optional<ProbeEntry> ProbeCache::load(std::string_view library) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = memory_.find(library); at != memory_.end()) return at->second;
  }
  const auto bytes = disk_.load(key_of(library));
  if (!bytes) return std::nullopt;
  auto entry = read_probe_entry(*bytes);
  if (entry.ok()) return *std::move(entry);
  if (log_ != nullptr) {
    log_->warning(Message("cache file ", path_of(library), " is ignored: ", entry.error().message));
  }
  return std::nullopt;
}

void ProbeCache::store(std::string_view library, const ProbeEntry& entry) {
  const std::string text = to_bytes(entry);
  const bool stored = disk_.store(
      key_of(library), {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  const std::lock_guard lock(mutex_);
  if (stored) {
    if (const auto at = memory_.find(library); at != memory_.end()) memory_.erase(at);
  } else {
    memory_.insert_or_assign(std::string(library), entry);
  }
}

bool ProbeCache::remove(std::string_view library) {
  std::error_code ignored;
  bool removed = !disk_.directory().empty() && std::filesystem::exists(path_of(library), ignored);
  disk_.remove(key_of(library));
  const std::lock_guard lock(mutex_);
  if (const auto at = memory_.find(library); at != memory_.end()) {
    memory_.erase(at);
    removed = true;
  }
  return removed;
}

}  // namespace gantry
