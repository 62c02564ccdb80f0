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
    // May be empty.
    std::function<void(const Message&)> log = {};
  };

  explicit DiskCache(Options options)
      : options_(std::move(options)), files_(options_.directory, ".cache") {}

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
    return files_.path_of(concat(hex(digest(key, 0)), hex(digest(key, 1))));
  }

  // Returns the content of a key; nullopt if it is not stored or its file is unusable, which is
  // logged.
  //
  // costs    one read of the file
  std::optional<std::vector<std::uint8_t>> load(std::string_view key) const {
    if (options_.directory.empty()) return std::nullopt;
    if (const Status trusted = files_.check(); !trusted.ok()) {
      log_unused(trusted.error().message);
      return std::nullopt;
    }
    const std::string path = path_of(key);
    const Descriptor file = CacheDirectory::open_file(path);
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
    files_.make_room(options_.max_bytes);
    return true;
  }

  // Removes the content of a key, for example after a driver has rejected the binary.
  void remove(std::string_view key) const {
    if (!options_.directory.empty() && files_.check().ok()) unlink(path_of(key).c_str());
  }

 private:
  static constexpr std::string_view magic = "GTRYCCH1";

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

  Result<std::vector<std::uint8_t>> read(int file, std::string_view key) const {
    struct stat is;
    if (fstat(file, &is) != 0) return unavailable(std::strerror(errno));
    if (const std::string_view why = CacheDirectory::refusal(is); !why.empty())
      return unavailable(why);
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

  Status write(const std::string& path, std::string_view key,
               std::span<const std::uint8_t> content) const {
    std::string bytes(magic);
    put(bytes, key.size());
    bytes.append(key);
    put(bytes, content.size());
    bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
    put(bytes, digest(bytes));

    return files_.write(path,
                        {{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}});
  }

  Options options_;
  CacheDirectory files_;
  mutable std::atomic<bool> unused_logged_{false};
};

}  // namespace gantry
