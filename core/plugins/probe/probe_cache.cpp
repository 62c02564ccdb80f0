// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_cache.hpp"

#include "core/base/byte_text.hpp"
#include "core/base/file_stamp.hpp"
#include "core/plugins/library/linker.hpp"

#include <gantry/byte_reader.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>

namespace gantry {
namespace {

// Max libraries of a plugin; real plugins need fewer than a hundred.
constexpr std::size_t kMaxProbedLibraries = 512;

// Lists the libraries that `path` needs, breadth first, each once. One that cannot be read needs
// nothing.
void add_libraries(const std::string& path, const Linker& linker, std::set<std::string>& names) {
  std::deque<std::string> queue{path};
  for (; !queue.empty() && names.size() < kMaxProbedLibraries; queue.pop_front()) {
    auto mapped = MappedFile::open(queue.front());
    if (!mapped.ok()) continue;
    const auto elf = ElfFile::parse(*std::move(mapped));
    if (!elf.ok()) continue;
    for (const std::string_view soname : elf->needed()) {
      const auto found = linker.find(soname, *elf, queue.front());
      // A library of this process without a path is its own.
      if (found && found->empty()) continue;
      if (names.insert(found ? *found : std::string(soname)).second && found)
        queue.push_back(*found);
    }
  }
}

// Path length and four numbers.
constexpr std::uint64_t kMinFileBytes = 40;

Result<ProbeEnd> read_end(ByteReader& in) {
  ProbeEnd end;
  GANTRY_TRY(const std::uint8_t outcome, in.read_u8("outcome"));
  GANTRY_TRY(const std::uint8_t stage, in.read_u8("stage"));
  if (outcome >= kProbeOutcomes || stage >= kProbeStages)
    return malformed(in.offset(), "outcome is ", outcome, ", stage is ", stage);
  end.outcome = static_cast<ProbeOutcome>(outcome);
  end.stage = static_cast<ProbeStage>(stage);
  // A refusal is never stored.
  if (end.outcome == ProbeOutcome::refused) return malformed(in.offset(), "it is a refusal");
  GANTRY_TRY(end.elapsed_ms, in.read_u32("elapsed"));
  GANTRY_TRY(end.limit_ms, in.read_u32("limit"));
  GANTRY_TRY(end.exit_status, in.read_i32("exit status"));
  GANTRY_TRY(end.signal, in.read_i32("signal"));
  GANTRY_TRY(const std::uint8_t has_address, in.read_u8("address"));
  GANTRY_TRY(const std::uint64_t address, in.read_u64("address"));
  if (has_address != 0) end.address = address;
  GANTRY_TRY(const std::uint8_t is_left, in.read_u8("left"));
  end.is_left = is_left != 0;
  GANTRY_TRY(const std::string_view lines, in.read_string("last lines"));
  end.last_lines = lines;
  return end;
}

Result<ProbedFile> read_file(ByteReader& in) {
  ProbedFile file;
  GANTRY_TRY(const std::string_view path, in.read_string("path"));
  file.path = path;
  GANTRY_TRY(file.device, in.read_u64("device"));
  GANTRY_TRY(file.inode, in.read_u64("inode"));
  GANTRY_TRY(file.size, in.read_u64("size"));
  GANTRY_TRY(file.modified_ns, in.read_i64("time"));
  return file;
}

// An entry has a few kilobytes: the paths of its libraries.
constexpr std::uint64_t kMaxEntryBytes = 256 << 10;
constexpr std::uint64_t kMaxCacheBytes = 2 << 20;

}  // namespace

ProbedFile probed_file(std::string path) {
  ProbedFile file{std::move(path)};
  struct stat is {};
  if (file.path.find('/') == std::string::npos || ::stat(file.path.c_str(), &is) != 0) return file;
  const FileStamp stamp = stamp_of(is);
  file.device = stamp.device;
  file.inode = stamp.inode;
  file.size = stamp.size;
  file.modified_ns = stamp.modified_ns;
  return file;
}

std::vector<ProbedFile> probed_files(const Candidate& plugin) {
  const Manifest& manifest = *plugin.manifest;
  const Linker linker;
  std::set<std::string> names{plugin.file, manifest.library_path, "/etc/ld.so.cache"};
  names.insert(plugin.drop_ins.begin(), plugin.drop_ins.end());
  names.insert(manifest.needs.files.begin(), manifest.needs.files.end());
  add_libraries(manifest.library_path, linker, names);
  for (const ManifestSoname& driver : manifest.needs.libraries) {
    const auto found = linker.find(driver.soname);
    names.insert(found && !found->empty() ? *found : driver.soname);
  }
  std::vector<ProbedFile> files;
  for (const std::string& name : names) files.push_back(probed_file(name));
  return files;
}

bool are_unchanged(const std::vector<ProbedFile>& files) {
  return std::all_of(files.begin(), files.end(),
                     [](const ProbedFile& file) { return probed_file(file.path) == file; });
}

std::string to_bytes(const ProbeEntry& entry) {
  ByteText out;
  out.text(entry.host).text(entry.boot);
  const ProbeEnd& end = entry.end;
  out.number(end.outcome).number(end.stage).number(end.elapsed_ms).number(end.limit_ms);
  out.number(end.exit_status).number(end.signal);
  out.number(std::uint8_t{end.address.has_value()}).number(end.address.value_or(0));
  out.number(std::uint8_t{end.is_left});
  out.text(end.last_lines).number(entry.strikes).number(entry.time_s);
  out.number(std::uint64_t{entry.files.size()});
  for (const ProbedFile& file : entry.files) {
    out.text(file.path).number(file.device).number(file.inode).number(file.size);
    out.number(file.modified_ns);
  }
  return out.bytes();
}

Result<ProbeEntry> read_probe_entry(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  ProbeEntry entry;
  GANTRY_TRY(const std::string_view host, in.read_string("host"));
  GANTRY_TRY(const std::string_view boot, in.read_string("boot"));
  entry.host = host;
  entry.boot = boot;
  GANTRY_TRY(entry.end, read_end(in));
  GANTRY_TRY(entry.strikes, in.read_u32("strikes"));
  GANTRY_TRY(entry.time_s, in.read_i64("time"));
  GANTRY_TRY(const std::uint64_t count, in.read_count(kMinFileBytes, "files"));
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(ProbedFile file, read_file(in));
    entry.files.push_back(std::move(file));
  }
  if (!in.at_end()) return malformed(in.offset(), in.left(), " bytes follow the last file");
  return entry;
}

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
