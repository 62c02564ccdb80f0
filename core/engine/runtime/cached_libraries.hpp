// SPDX-License-Identifier: Apache-2.0
//
// Linked libraries in the user's cache directory. What is found there is checked each time. A
// directory that another user can change is not used, which is logged.
//
//     <cache>/linked/<key>.so   library, key, seal
//
// The seal is a digest of the library's digest and the key. The system's loader reads neither.
#pragma once

#include "core/base/digest/digest.hpp"
#include "core/base/mapped_file.hpp"
#include "core/base/temp_directory.hpp"

#include <gantry/cache_directory.hpp>
#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
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

  // directory  [in]   the user's cache directory; empty: nothing is cached, as if it is not used
  // max_bytes  [in]   of all libraries; the oldest are removed
  // log        [in]   may be empty
  CachedLibraries(const std::string& directory, std::uint64_t max_bytes,
                  std::function<void(const Message&)> log);

  bool is_used() const { return !files_.path().empty(); }

  // Returns a library; NULL if it is not there or cannot be used, which is logged.
  //
  // costs    a digest of the library
  File find(const Sha256& key) const;

  // Writes a library and returns it; NULL if it cannot be written, which is logged.
  File add(const Sha256& key, std::span<const std::uint8_t> library) const;

  // Creates a directory in the cache in which a library can be linked. One that a killed process
  // leaves is removed later. A failure is logged.
  //
  // returns  unavailable, not_found
  Result<TempDirectory> new_directory() const;

 private:
  CacheDirectory files_;
  std::uint64_t max_bytes_;
  std::function<void(const Message&)> log_;
};

}  // namespace gantry
