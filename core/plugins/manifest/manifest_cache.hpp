// SPDX-License-Identifier: Apache-2.0
//
// Parsed manifests and drop-ins, kept between processes: yaml-cpp takes nine tenths of the time of a
// search for plugins.
//
//     ManifestCache cache({.directory = cache_directory, .search = search_key(found), .log = &log});
//     GANTRY_TRY(ManifestFile file, cache.open(path, ManifestText::if_needed));
//     GANTRY_TRY(const YamlDocument document, cache.parse(file));
//     GANTRY_TRY(Manifest manifest, read_manifest(document, real_directory_of(path)));
//     cache.save();
//
// What is kept is the text's values as parse_yaml() returns them; read_manifest() and
// apply_drop_in() check them in each process, which also resolves links and checks who may change
// the files. So a cache can only be as wrong as a manifest can.
//
// All files of one search are in one file of the cache (gantry/disk_cache.hpp), each with its path
// and its stamp (core/base/file_stamp.hpp), and are used if the stamp of what the path leads to is
// the same. A file that was changed less than two seconds before it was read is not kept, because
// another change may leave the same stamp. A cache that is damaged, or in a directory that others
// can change, is not used and written anew.
#pragma once

#include "core/base/file_stamp.hpp"
#include "core/base/log.hpp"
#include "core/base/yaml/yaml_text.hpp"
#include "core/plugins/manifest/search_path.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/result.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A file that a cache has: its values in the form of core/base/yaml/yaml_bytes.hpp.
struct KeptManifest {
  FileStamp stamp;
  std::span<const std::uint8_t> values;
  // in this process; not a part of the bytes
  bool is_opened = false;
};

// The content of a cache by path, which is a view into its bytes. A map, because a file can choose
// paths that have the same hash.
using KeptManifests = std::map<std::string_view, KeptManifest, std::less<>>;

std::string to_bytes(const KeptManifests& kept);
// returns  malformed; the bytes may be any, and the values are not read
// lifetime views into `bytes`
Result<KeptManifests> read_kept_manifests(std::span<const std::uint8_t> bytes);

// Identifies a search by its directories; without directories, by its files.
std::string search_key(const SearchResult& found);

// always: for signatures and digests
enum class ManifestText { if_needed, always };

// A manifest or drop-in that exists.
struct ManifestFile {
  std::string path;
  // nullopt: it is kept, and its text was not read
  std::optional<std::string> text;
  FileStamp stamp;
  // see StampedText
  bool is_lasting = false;
  // the values of what the file contains, in the cache that has opened it; NULL: it is not kept
  const KeptManifest* kept = nullptr;
  // false: it may be a link
  bool is_no_link = false;

  bool is_empty() const { return text ? text->empty() : stamp.size == 0; }
};

class ManifestCache {
 public:
  struct Options {
    // of all caches; the files are in its "manifests". Empty: nothing is kept
    std::string directory = {};
    // see search_key()
    std::string search = {};
    // borrowed; NULL: nothing is logged
    const Log* log = nullptr;
    std::chrono::nanoseconds tick = longest_file_tick;
  };

  ManifestCache() : ManifestCache(Options()) {}
  explicit ManifestCache(Options options);
  ManifestCache(const ManifestCache&) = delete;
  ManifestCache& operator=(const ManifestCache&) = delete;

  // Finds out whether a file is kept as it is, and reads it otherwise.
  //
  // returns  as read_text_file()
  // costs    one system call if it is kept and the text is not needed; the first call reads the
  //          cache
  Result<ManifestFile> open(const std::string& path, ManifestText text);

  // Returns the values of a file, from the cache or parsed.
  //
  // returns  as parse_yaml(); as open() if kept values are damaged and the file must be read
  Result<YamlDocument> parse(const ManifestFile& file);

  // Writes the cache if files were parsed that can be kept, or if kept ones were not opened. Reports
  // no failure: nothing depends on it.
  //
  // costs    nothing if nothing has changed, else one write and fsync
  void save();

  // The file of the cache, whether it exists or not.
  std::string path() const { return disk_.path_of(key_); }

 private:
  void load();
  Result<ManifestFile> read(const std::string& path) const;
  void log(const Message& text) const;

  const Options options_;
  const std::string key_;
  // what it logs is not a warning, because a directory that cannot be written is none
  bool is_saving_ = false;
  bool is_loaded_ = false;
  DiskCache disk_;
  // read from the disk; kept_ has views of it
  std::vector<std::uint8_t> content_;
  KeptManifests kept_;
  // behind the one that was found last: files are opened in order
  KeptManifests::iterator next_ = kept_.end();
  // of files that were parsed: stamp and values
  struct Parsed {
    FileStamp stamp;
    std::string values;
  };
  std::map<std::string, Parsed> parsed_;
};

}  // namespace gantry
