// SPDX-License-Identifier: Apache-2.0
//
// Shared libraries in the user's cache directory. What is found there is checked each time.
//
//     of an archive   <cache>/linked/<digest of the library>.so   library
//     linked          <cache>/linked/<key>.so                     library, key, seal
//
// The seal is a digest of the library's digest and the key. The system's loader reads neither.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/digest/digest.hpp"

#include <gantry/cache_directory.hpp>
#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// of the directories in which libraries are linked: ".link.XXXXXX"
inline constexpr std::string_view scratch_name = "link";

class CachedLibraries {
 public:
  using File = std::shared_ptr<const MappedFile>;

  // directory  [in]   the user's cache directory; empty: nothing is cached
  // max_bytes  [in]   of all libraries; the oldest are removed
  // log        [in]   may be empty
  CachedLibraries(const std::string& directory, std::uint64_t max_bytes,
                  std::function<void(const Message&)> log);

  bool is_used() const { return !files_.path().empty(); }

  // Each returns a library; NULL if it is not there or cannot be used, which is logged.
  //
  // costs    a comparison with `library`; a digest of a linked library
  File find(std::string_view digest, std::span<const std::uint8_t> library) const;
  File find_linked(const Sha256& key) const;

  // Each writes a library and returns it; NULL if it cannot be written, which is logged.
  //
  // digest   [in]   of the library, 64 lower-case hex digits
  File add(std::string_view digest, std::span<const std::uint8_t> library) const;
  File add_linked(const Sha256& key, std::span<const std::uint8_t> library) const;

  // Creates a directory in the cache in which a library can be linked. One that a killed process
  // leaves is removed later.
  //
  // returns  unavailable, not_found
  Result<TempDirectory> new_directory() const;

 private:
  // Returns why a content must not be used; empty: it may.
  using Check = std::function<std::string_view(std::span<const std::uint8_t>)>;
  File open(const std::string& path, const Check& check) const;
  bool write(const std::string& path,
             std::initializer_list<std::span<const std::uint8_t>> parts) const;

  CacheDirectory files_;
  std::uint64_t max_bytes_;
  std::function<void(const Message&)> log_;
};

}  // namespace gantry
