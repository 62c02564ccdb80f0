// SPDX-License-Identifier: Apache-2.0
//
// gantry/disk_cache.hpp - caches compiled device code in files.
//
//     DiskCache cache({.directory = cache_directory + "/opencl"});
//     const std::string key = DiskCache::key({"opencl program 1", driver, device, source});
//     std::optional<std::vector<std::uint8_t>> binary = cache.load(key);
//     if (!binary) {
//       binary = compile(source);
//       cache.store(key, *binary);
//     }
//
// The cache has one file for each key. The file name is a digest of the key, and the file has the
// content first, so that it can be mapped or loaded where it is (open()):
//
//     content  key  u64 content size  u64 key size  "GTRYCCH2"  u64 checksum of all before
//
// The whole key is stored, so keys with the same digest are not confused. Files are created
// atomically, by rename, and checked when they are read; a damaged file is logged and ignored. No
// function fails: nothing is cached if the directory is empty or cannot be written. The checksum
// detects damage, not attacks; therefore only files that are owned by this user and not writable by
// others are read, in a directory whose path no other user can change.
//
// thread   any; several processes may use one directory
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/cache_directory.hpp>
#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

class DiskCache {
 public:
  struct Options {
    // Created with the first file, accessible to this user only. Empty: nothing is cached.
    std::string directory;
    // Maximum size of one content. Larger contents are not stored.
    std::uint64_t max_file_bytes = std::uint64_t{64} << 20;
    // Maximum size of all files. The oldest files are removed when one is added.
    std::uint64_t max_bytes = std::uint64_t{1} << 30;
    // Of the files.
    std::string_view suffix = ".cache";
    // Directories whose name begins so are what processes that ended early have left; see
    // CacheDirectory::make_room(). Empty: there are none.
    std::string leftover = {};
    // Of a file while it is unfinished.
    CacheDirectory::Guard guard = {};
    // May be empty.
    std::function<void(const Message&)> log = {};
  };

  explicit DiskCache(Options options)
      : options_(std::move(options)), files_(options_.directory, options_.suffix) {}

  const std::string& directory() const { return options_.directory; }

  // Joins parts to a key. Different lists of parts have different keys.
  static std::string key(std::initializer_list<std::string_view> parts) {
    std::string key;
    for (const std::string_view part : parts) {
      put(key, part.size());
      key.append(part);
    }
    return key;
  }

  // Returns a checksum of bytes, FNV-1a with 64 bits.
  static std::uint64_t digest(std::string_view bytes, std::uint64_t seed = 0) {
    return continued(0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u), bytes.data(),
                     bytes.size());
  }

  // Returns the path of a key's file, whether it exists or not.
  std::string path_of(std::string_view key) const {
    return files_.path_of(concat(hex(digest(key, 2)), hex(digest(key, 3))));
  }

  // Returns the content of a key; nullopt if it is not stored or its file is unusable, which is
  // logged.
  //
  // costs    one read of the file
  std::optional<std::vector<std::uint8_t>> load(std::string_view key) const {
    std::optional<std::vector<std::uint8_t>> content(std::in_place);
    if (!open_checked(key, &*content)) content.reset();
    return content;
  }

  // Opens the file of a key, which begins with its content.
  //
  // returns  empty as load() returns nullopt
  // costs    one read of the file
  Descriptor open(std::string_view key) const { return open_checked(key, nullptr); }

  // Creates the directory: true if files can be created there. The first failure is logged.
  bool create() const {
    if (options_.directory.empty()) return false;
    const Status created = files_.create();
    if (created.ok()) return true;
    const Error& error = created.error();
    log_unused(error.reason.empty() ? Message("cache directory ", options_.directory,
                                              " cannot be created: ", error.message)
                                    : error.message);
    return false;
  }

  // Stores a content and replaces an earlier one of the key.
  //
  // returns  false if the content is not stored. The first failure is logged
  // costs    one write, one fsync, and one stat for every file in the directory
  bool store(std::string_view key, std::span<const std::uint8_t> content) {
    if (options_.directory.empty() || content.size() > options_.max_file_bytes) return false;
    const std::string path = path_of(key);
    if (const Status written = write(path, key, content); !written.ok()) {
      const Error& error = written.error();
      log_unused(error.reason.empty()
                     ? Message("cache file ", path, " cannot be written: ", error.message)
                     : error.message);
      return false;
    }
    files_.make_room(options_.max_bytes, options_.leftover);
    return true;
  }

  // Removes the content of a key, for example after a driver has rejected the binary.
  void remove(std::string_view key) const {
    if (!options_.directory.empty() && files_.check().ok()) unlink(path_of(key).c_str());
  }

 private:
  static constexpr std::string_view magic = "GTRYCCH2";
  // After the key.
  static constexpr std::uint64_t tail_bytes = 2 * sizeof(std::uint64_t) + 8 + sizeof(std::uint64_t);
  static constexpr std::uint64_t sum_bytes = sizeof(std::uint64_t);

  static std::uint64_t continued(std::uint64_t sum, const void* bytes, std::size_t size) {
    const auto* const at = static_cast<const unsigned char*>(bytes);
    for (std::size_t i = 0; i < size; ++i) sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
  }

  static std::string hex(std::uint64_t number) {
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
    return text;
  }
  static void put(std::string& to, std::uint64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    to.append(bytes, sizeof bytes);
  }

  void log(const Message& text) const {
    if (options_.log) options_.log(text);
  }
  // Logs once why the directory is not used.
  void log_unused(const Message& why) const {
    if (!unused_logged_.exchange(true)) log(why);
  }
  void ignore(std::string_view path, const Message& why) const {
    log({"cache file ", path, " is ignored: ", why});
  }

  // content  [out]  NULL: the file is only checked
  Descriptor open_checked(std::string_view key, std::vector<std::uint8_t>* content) const {
    if (options_.directory.empty()) return Descriptor(-1);
    if (const Status trusted = files_.check(); !trusted.ok()) {
      log_unused(trusted.error().message);
      return Descriptor(-1);
    }
    const std::string path = path_of(key);
    Descriptor file = CacheDirectory::open_file(path);
    if (!file) {
      if (errno != ENOENT && errno != ENOTDIR) ignore(path, std::strerror(errno));
      return Descriptor(-1);
    }
    const Status read = check(file.get(), key, content);
    if (read.ok()) return file;
    ignore(path, read.error().message);
    return Descriptor(-1);
  }

  static Status read_at(int file, std::uint64_t at, std::span<std::uint8_t> to) {
    while (!to.empty()) {
      const ssize_t got = pread(file, to.data(), to.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unavailable(std::strerror(errno));
      if (got == 0) return malformed(at, "it ends at byte ", at);
      at += static_cast<std::uint64_t>(got);
      to = to.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

  Status check(int file, std::string_view key, std::vector<std::uint8_t>* content) const {
    struct stat is;
    if (fstat(file, &is) != 0) return unavailable(std::strerror(errno));
    if (const std::string_view why = CacheDirectory::refusal(is); !why.empty())
      return unavailable(why);
    const auto size = static_cast<std::uint64_t>(is.st_size);
    const std::uint64_t max = options_.max_file_bytes + key.size() + tail_bytes;
    if (size > max) return malformed(0, "size is ", size, ", maximum is ", max);
    if (size < tail_bytes) return malformed(0, "size is ", size, ", minimum is ", tail_bytes);

    std::uint8_t tail[tail_bytes];
    GANTRY_CHECK(read_at(file, size - tail_bytes, tail));
    ByteReader in(tail);
    GANTRY_TRY(const std::uint64_t content_size, in.read_u64("content size"));
    GANTRY_TRY(const std::uint64_t key_size, in.read_u64("key size"));
    GANTRY_TRY(const auto mark, in.read_bytes(magic.size(), "magic"));
    GANTRY_TRY(const std::uint64_t sum, in.read_u64("checksum"));
    if (std::memcmp(mark.data(), magic.data(), magic.size()) != 0)
      return malformed(size - sum_bytes - magic.size(), "magic is not ", magic);
    const std::uint64_t room = size - tail_bytes;
    if (content_size > room || key_size != room - content_size) {
      return malformed(room, "content of ", content_size, " bytes and key of ", key_size,
                       " are not all before byte ", room);
    }
    if (content != nullptr) content->reserve(content_size);
    std::vector<std::uint8_t> part(std::min<std::uint64_t>(room, 64 << 10));
    std::uint64_t found = digest({});
    for (std::uint64_t at = 0; at < room; at += part.size()) {
      part.resize(std::min<std::uint64_t>(room - at, part.size()));
      GANTRY_CHECK(read_at(file, at, part));
      found = continued(found, part.data(), part.size());
      if (content == nullptr || at >= content_size) continue;
      const auto end =
          static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(content_size - at, part.size()));
      content->insert(content->end(), part.begin(), part.begin() + end);
    }
    found = continued(found, tail, tail_bytes - sum_bytes);
    if (found != sum) return malformed(size - sum_bytes, "checksum does not match");
    std::string stored(key_size == key.size() ? key.size() : 0, '\0');
    GANTRY_CHECK(read_at(file, content_size,
                         {reinterpret_cast<std::uint8_t*>(stored.data()), stored.size()}));
    if (key_size == key.size() && stored == key) return {};
    return malformed(content_size, "it contains another key");
  }

  Status write(const std::string& path, std::string_view key,
               std::span<const std::uint8_t> content) const {
    std::string rest(key);
    put(rest, content.size());
    put(rest, key.size());
    rest.append(magic);
    put(rest,
        continued(continued(digest({}), content.data(), content.size()), rest.data(), rest.size()));
    return files_.write(
        path, {content, {reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size()}},
        options_.guard);
  }

  Options options_;
  CacheDirectory files_;
  mutable std::atomic<bool> unused_logged_{false};
};

}  // namespace gantry
