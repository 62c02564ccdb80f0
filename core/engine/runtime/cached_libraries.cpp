// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/cached_libraries.hpp"

#include "core/base/signal_cleanup.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view library_suffix = ".so";
constexpr std::size_t digest_bytes = std::tuple_size_v<Sha256>;

Sha256 seal_of(std::span<const std::uint8_t> library, const Sha256& key) {
  std::array<std::uint8_t, 2 * digest_bytes> both;
  std::ranges::copy(key, std::ranges::copy(sha256(library), both.begin()).out);
  return sha256(both);
}

std::string_view refusal_of_linked(std::span<const std::uint8_t> bytes, const Sha256& key) {
  if (bytes.size() < 2 * digest_bytes) return "it has no digest";
  const auto library = bytes.first(bytes.size() - 2 * digest_bytes);
  Sha256 found;
  std::ranges::copy(bytes.subspan(library.size(), digest_bytes), found.begin());
  if (!std::ranges::equal(bytes.last(digest_bytes), seal_of(library, found)))
    return "its digest does not match";
  return found == key ? "" : "it has another key";
}

std::shared_ptr<void> remove_on_signal(const std::string& path) {
  return std::make_shared<CleanUpOnSignal>([path] { ::unlink(path.c_str()); });
}

}  // namespace

CachedLibraries::CachedLibraries(const std::string& directory, std::uint64_t max_bytes,
                                 std::function<void(const Message&)> log)
    : files_(directory.empty() ? std::string() : concat(directory, "/linked"), library_suffix),
      max_bytes_(max_bytes),
      log_(std::move(log)) {
  if (!is_used()) return;
  if (const Status trusted = files_.check(); !trusted.ok()) {
    if (log_) log_(trusted.error().message);
    files_ = CacheDirectory({}, library_suffix);
  }
}

CachedLibraries::File CachedLibraries::find(const Sha256& key) const {
  if (!is_used()) return nullptr;
  const std::string path = files_.path_of(hex_text(key));
  const auto ignore = [&](const Message& why) {
    if (log_) log_({"cache file ", path, " is ignored: ", why});
    return nullptr;
  };
  Descriptor file = CacheDirectory::open_file(path);
  if (!file) {
    return errno == ENOENT || errno == ENOTDIR ? nullptr : ignore(std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ignore(std::strerror(errno));
  if (const std::string_view why = CacheDirectory::refusal(info); !why.empty()) return ignore(why);
  auto mapped = MappedFile::adopt(std::move(file), path);
  if (!mapped.ok()) return ignore(mapped.error().message);
  if (const std::string_view why = refusal_of_linked((*mapped)->bytes(), key); !why.empty())
    return ignore(why);
  return *mapped;
}

CachedLibraries::File CachedLibraries::add(const Sha256& key,
                                           std::span<const std::uint8_t> library) const {
  if (!is_used()) return nullptr;
  const std::string path = files_.path_of(hex_text(key));
  const Sha256 seal = seal_of(library, key);
  const Status written = files_.write(path, {library, key, seal}, remove_on_signal);
  if (!written.ok()) {
    if (log_) log_({"cache file ", path, " cannot be written: ", written.error().message});
    return nullptr;
  }
  files_.make_room(max_bytes_, concat(".", scratch_name, "."));
  return find(key);
}

Result<TempDirectory> CachedLibraries::new_directory() const {
  if (!is_used()) return unavailable("there is no cache");
  Result<TempDirectory> made = [&]() -> Result<TempDirectory> {
    GANTRY_CHECK(files_.create());
    return TempDirectory::beside(std::filesystem::path(files_.path()) / scratch_name);
  }();
  if (!made.ok() && log_)
    log_({"no library is cached in ", files_.path(), ": ", made.error().message});
  return made;
}

}  // namespace gantry
