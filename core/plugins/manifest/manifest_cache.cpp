// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/manifest_cache.hpp"

#include "core/base/byte_text.hpp"
#include "core/base/text.hpp"
#include "core/base/text_file.hpp"
#include "core/base/yaml/yaml_bytes.hpp"

#include <gantry/note.h>
#include <gantry/byte_reader.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// Of one search; 500 manifests of 300 bytes take 0.4 MB.
constexpr std::uint64_t kMaxSearchBytes = 4 << 20;
// Of all searches.
constexpr std::uint64_t kMaxAllBytes = 16 << 20;
// A path's length, five numbers, and the length of the values.
constexpr std::uint64_t kMinEntryBytes = 56;

// The core's version is a part, because another one may refuse a text that this one accepts.
std::string key_of(std::string_view search) {
  return DiskCache::key({"gantry manifests 1", GANTRY_SDK_VERSION, search});
}

}  // namespace

std::string to_bytes(const KeptManifests& kept) {
  ByteText out;
  out.number(std::uint64_t{kept.size()});
  for (const auto& [path, file] : kept) {
    const FileStamp& stamp = file.stamp;
    out.text(path).number(stamp.device).number(stamp.inode).number(stamp.size);
    out.number(stamp.modified_ns).number(stamp.changed_ns).text(as_text(file.values));
  }
  return out.bytes();
}

Result<KeptManifests> read_kept_manifests(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  KeptManifests kept;
  GANTRY_TRY(const std::uint64_t count, in.read_count(kMinEntryBytes, "manifests"));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = in.offset();
    KeptManifest file;
    FileStamp& stamp = file.stamp;
    GANTRY_TRY(const std::string_view path, in.read_string("path"));
    GANTRY_TRY(stamp.device, in.read_u64("device"));
    GANTRY_TRY(stamp.inode, in.read_u64("inode"));
    GANTRY_TRY(stamp.size, in.read_u64("size"));
    GANTRY_TRY(stamp.modified_ns, in.read_i64("time of the content"));
    GANTRY_TRY(stamp.changed_ns, in.read_i64("time of the last change"));
    GANTRY_TRY(const std::string_view values, in.read_string("values"));
    file.values = as_bytes(values);
    // to_bytes() writes them sorted.
    if (!kept.empty() && path <= kept.rbegin()->first)
      return malformed(at, "path ", path, " follows ", kept.rbegin()->first);
    kept.emplace_hint(kept.end(), path, file);
  }
  if (!in.at_end()) return malformed(in.offset(), in.left(), " bytes follow the last manifest");
  return kept;
}

std::string search_key(const SearchResult& found) {
  std::string key;
  for (const SearchLocation& location : found.locations) {
    if (location.state != LocationState::searched) continue;
    const bool is_directory = !location.directories.empty();
    for (const std::string& path : is_directory ? location.directories : location.files)
      key += DiskCache::key({path});
  }
  return key;
}

ManifestCache::ManifestCache(Options options)
    : options_(std::move(options)),
      key_(key_of(options_.search)),
      disk_({.directory =
                 options_.directory.empty() ? std::string() : options_.directory + "/manifests",
             .max_file_bytes = kMaxSearchBytes,
             .max_bytes = kMaxAllBytes,
             .log = [this](const Message& text) { log(text); }}) {}

void ManifestCache::log(const Message& text) const {
  if (options_.log != nullptr)
    options_.log->write(is_saving_ ? LogLevel::debug : LogLevel::warning, text);
}

void ManifestCache::load() {
  if (std::exchange(is_loaded_, true)) return;
  auto content = disk_.load(key_);
  if (!content) return;
  content_ = *std::move(content);
  auto kept = read_kept_manifests(content_);
  if (kept.ok()) {
    kept_ = *std::move(kept);
    next_ = kept_.begin();
  } else {
    log(Message("cache file ", path(), " is ignored: ", kept.error().message));
  }
}

Result<ManifestFile> ManifestCache::read(const std::string& path) const {
  if (options_.directory.empty()) {
    GANTRY_TRY(std::string text, read_text_file(path));
    return ManifestFile{path, std::move(text)};
  }
  GANTRY_TRY(StampedText read, read_stamped_text(path, options_.tick));
  return ManifestFile{path, std::move(read.text), read.stamp, read.is_lasting};
}

Result<ManifestFile> ManifestCache::open(const std::string& path, ManifestText text) {
  load();
  const auto at = next_ != kept_.end() && next_->first == path ? next_ : kept_.find(path);
  if (at == kept_.end()) return read(path);
  next_ = std::next(at);
  KeptManifest& kept = at->second;
  kept.is_opened = true;
  if (text == ManifestText::if_needed) {
    struct stat about {};
    bool is_there = ::lstat(path.c_str(), &about) == 0;
    const bool is_link = is_there && S_ISLNK(about.st_mode);
    if (is_link) is_there = ::stat(path.c_str(), &about) == 0;
    if (is_there && stamp_of(about) == kept.stamp)
      return ManifestFile{path, std::nullopt, kept.stamp, true, &kept, !is_link};
  }
  GANTRY_TRY(ManifestFile file, read(path));
  if (file.is_lasting && file.stamp == kept.stamp) file.kept = &kept;
  return file;
}

Result<YamlDocument> ManifestCache::parse(const ManifestFile& file) {
  if (file.kept != nullptr) {
    ByteReader in(file.kept->values);
    auto root = read_yaml_bytes(in);
    if (root.ok() && in.at_end()) return YamlDocument{file.path, *std::move(root)};
    log(Message("cache file ", path(), " is not used for ", file.path, ": ",
                root.ok() ? "bytes follow its values" : root.error().message.text()));
    if (!file.text) {
      GANTRY_TRY(ManifestFile whole, read(file.path));
      return parse(whole);
    }
  }
  GANTRY_TRY(YamlDocument document, parse_yaml(*file.text, file.path));
  if (file.is_lasting && file.text->size() <= max_yaml_text)
    parsed_.insert_or_assign(file.path, Parsed{file.stamp, yaml_bytes(document.root)});
  return document;
}

void ManifestCache::save() {
  const auto is_left = [](const auto& each) { return !each.second.is_opened; };
  if (parsed_.empty() && std::ranges::none_of(kept_, is_left)) return;
  std::erase_if(kept_, is_left);
  next_ = kept_.end();
  KeptManifests all = kept_;
  for (const auto& [path, parsed] : parsed_)
    all.insert_or_assign(path, KeptManifest{parsed.stamp, as_bytes(parsed.values)});
  is_saving_ = true;
  disk_.store(key_, as_bytes(to_bytes(all)));
  is_saving_ = false;
  parsed_.clear();
}

}  // namespace gantry
