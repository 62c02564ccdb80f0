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
// The cache has one file for each key. The file name is a digest of the key, and the content is:
//
//     "GTRYCCH1"  u64 key size  key  u64 content size  content  u64 checksum of all before
//
// The whole key is stored, so keys with the same digest are not confused. Files are created
// atomically, by rename, and checked when they are read; a damaged file is logged and ignored. No
// function fails: nothing is cached if the directory is empty or cannot be written. The checksum
// detects damage, not attacks; therefore only files that are owned by this user and not writable by
// others are read.
//
// thread   any; several processes may use one directory
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
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
    // May be empty.
    std::function<void(const Message&)> log = {};
  };

  explicit DiskCache(Options options) : options_(std::move(options)) {}

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
    std::uint64_t sum = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
    for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return sum;
  }

  // Returns the path of a key's file, whether it exists or not.
  std::string path_of(std::string_view key) const {
    return concat(options_.directory, '/', hex(digest(key, 0)), hex(digest(key, 1)), suffix);
  }

  // Returns the content of a key; nullopt if it is not stored or its file is unusable, which is
  // logged.
  //
  // costs    one read of the file
  std::optional<std::vector<std::uint8_t>> load(std::string_view key) const {
    if (options_.directory.empty()) return std::nullopt;
    const std::string path = path_of(key);
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) {
      if (errno != ENOENT && errno != ENOTDIR) ignore(path, std::strerror(errno));
      return std::nullopt;
    }
    Result<std::vector<std::uint8_t>> content = read(file.get(), key);
    if (content.ok()) return std::move(content).value();
    ignore(path, content.error().message);
    return std::nullopt;
  }

  // Stores a content and replaces an earlier one of the key.
  //
  // returns  false if the content is not stored. The first failed write is logged
  // costs    one write, one fsync, and one stat for every file in the directory
  bool store(std::string_view key, std::span<const std::uint8_t> content) {
    if (options_.directory.empty() || content.size() > options_.max_file_bytes) return false;
    const std::string path = path_of(key);
    if (const int error = write(path, key, content); error != 0) {
      if (!write_failure_logged_.exchange(true))
        log({"cache file ", path, " cannot be written: ", std::strerror(error)});
      return false;
    }
    make_room();
    return true;
  }

  // Removes the content of a key, for example after a driver has rejected the binary.
  void remove(std::string_view key) const {
    if (!options_.directory.empty()) unlink(path_of(key).c_str());
  }

 private:
  static constexpr std::string_view magic = "GTRYCCH1";
  static constexpr std::string_view suffix = ".cache";
  static constexpr std::string_view unfinished = ".cache.tmp";

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
  void ignore(std::string_view path, const Message& why) const {
    log({"cache file ", path, " is ignored: ", why});
  }

  Result<std::vector<std::uint8_t>> read(int file, std::string_view key) const {
    struct stat is;
    if (fstat(file, &is) != 0) return unavailable(std::strerror(errno));
    if (!S_ISREG(is.st_mode)) return unavailable("it is not a regular file");
    if (is.st_uid != geteuid() || (is.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return unavailable("another user can write it");
    const auto size = static_cast<std::uint64_t>(is.st_size);
    const std::uint64_t max = options_.max_file_bytes + key.size() + 32;
    if (size > max) return malformed(0, "size is ", size, ", maximum is ", max);

    std::vector<std::uint8_t> bytes(size);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t got = pread(file, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unavailable(std::strerror(errno));
      if (got == 0) return malformed(at, "it ends at byte ", at, ", size is ", size);
      at += static_cast<std::size_t>(got);
    }

    ByteReader in(bytes);
    GANTRY_TRY(const auto mark, in.read_bytes(magic.size(), "magic"));
    if (std::memcmp(mark.data(), magic.data(), magic.size()) != 0)
      return malformed(0, "magic is not ", magic);
    GANTRY_TRY(const std::string_view found, in.read_string("key"));
    GANTRY_TRY(const std::string_view content, in.read_string("content"));
    const std::uint64_t checked = in.offset();
    GANTRY_TRY(const std::uint64_t sum, in.read_u64("checksum"));
    if (!in.at_end()) return malformed(in.offset(), in.left(), " bytes follow the checksum");
    if (sum != digest({reinterpret_cast<const char*>(bytes.data()), checked}))
      return malformed(checked, "checksum does not match");
    if (found != key) return malformed(magic.size(), "it contains another key");
    const std::size_t at = static_cast<std::size_t>(checked) - content.size();
    return std::vector<std::uint8_t>(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(checked));
  }

  // Returns 0 or an errno.
  int write(const std::string& path, std::string_view key,
            std::span<const std::uint8_t> content) const {
    std::string bytes(magic);
    put(bytes, key.size());
    bytes.append(key);
    put(bytes, content.size());
    bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
    put(bytes, digest(bytes));

    if (const int error = make_directory(); error != 0) return error;
    std::string beside = concat(options_.directory, "/XXXXXX", unfinished);
    const Descriptor file(mkostemps(beside.data(), static_cast<int>(unfinished.size()), O_CLOEXEC));
    if (!file) return errno;
    const auto give_up = [&] {
      const int error = errno;
      unlink(beside.c_str());
      return error;
    };
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t put = ::write(file.get(), bytes.data() + at, bytes.size() - at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return give_up();
      at += static_cast<std::size_t>(put);
    }
    if (fsync(file.get()) != 0) return give_up();
    if (rename(beside.c_str(), path.c_str()) != 0) return give_up();
    return 0;
  }

  // Creates every missing directory of the path with access for this user only. Returns 0 or an
  // errno.
  int make_directory() const {
    std::string path;
    for (const auto& part : std::filesystem::path(options_.directory)) {
      path = (std::filesystem::path(path) / part).string();
      if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST && errno != EISDIR &&
          access(path.c_str(), F_OK) != 0)
        return errno;
    }
    return 0;
  }

  // Removes the oldest files until the total size is within the limit, and temporary files older
  // than an hour.
  void make_room() const {
    struct Stored {
      std::filesystem::file_time_type written;
      std::uint64_t size;
      std::filesystem::path path;
    };
    std::error_code error;
    std::vector<Stored> entries;
    std::uint64_t total = 0;
    const auto now = std::filesystem::file_time_type::clock::now();
    for (std::filesystem::directory_iterator at(options_.directory, error), end;
         !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      // Set if another process has removed the file.
      std::error_code gone;
      const auto written = std::filesystem::last_write_time(at->path(), gone);
      if (gone) continue;
      if (name.ends_with(unfinished)) {
        if (now - written > std::chrono::hours(1)) std::filesystem::remove(at->path(), gone);
      } else if (name.ends_with(suffix)) {
        const std::uint64_t size = std::filesystem::file_size(at->path(), gone);
        if (gone) continue;
        total += size;
        entries.push_back({written, size, at->path()});
      }
    }
    if (total <= options_.max_bytes) return;
    std::sort(entries.begin(), entries.end(),
              [](const Stored& a, const Stored& b) { return a.written < b.written; });
    for (const Stored& entry : entries) {
      if (total <= options_.max_bytes) break;
      std::error_code gone;
      std::filesystem::remove(entry.path, gone);
      total -= entry.size;
    }
  }

  Options options_;
  std::atomic<bool> write_failure_logged_{false};
};

}  // namespace gantry
