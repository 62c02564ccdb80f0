// SPDX-License-Identifier: Apache-2.0
//
// The plugins whose libraries a process has opened. Libraries are never unmapped, so what was
// opened once decides what can be opened later: one version of each id, and one file at each path
// (core/decisions/0007-upgrades-of-opened-plugins.md).
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// A file as it was when it was opened.
struct FileState {
  FileIdentity identity;
  std::int64_t bytes = 0;
  // of the last change of its content
  std::int64_t modified_ns = 0;
  bool operator==(const FileState&) const = default;
};

// Returns the error for a library that this process has opened and whose file is another one now,
// or has another content: unavailable, reason STALE_MAPPED.
//
// overwritten  [in]   the content of the opened file was changed
Failure stale_library(std::string_view path, bool overwritten);

// thread   any
class OpenedPlugins {
  struct Record {
    std::string id, version, library;
    FileState file;
    // openings in progress
    int claims = 0;
    bool is_mapped = false;
  };

 public:
  // Of all runtimes of this process.
  static OpenedPlugins& of_process();

  // Checks that no other version of the plugin is open.
  //
  // returns  unavailable, reason RESTART_NEEDED
  Status check_version(const Manifest& manifest) const;

  // Checks whether a plugin can be opened.
  //
  // library  [in]   the file at `manifest.library_path`
  // returns  RESTART_NEEDED; STALE_MAPPED if another file is open by this path, or if the open
  //          file was overwritten
  Status check(const Manifest& manifest, const MappedFile& library) const;

  // Checks the file of an opened plugin on disk. A file that was removed is no error: the mapping
  // keeps its content.
  //
  // returns  STALE_MAPPED
  Status check_opened(const Manifest& manifest) const;

  // An opening in progress. It is forgotten with this object unless the library is mapped.
  class Claim {
   public:
    Claim(Claim&& other) noexcept : all_(std::exchange(other.all_, nullptr)), at_(other.at_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim();
    // The library is mapped, and stays in the list.
    void keep();

   private:
    friend class OpenedPlugins;
    Claim(OpenedPlugins& all, std::list<Record>::iterator at) : all_(&all), at_(at) {}

    OpenedPlugins* all_;
    std::list<Record>::iterator at_;
  };
  // Checks, and adds the plugin to the list in one step, so that no other version is opened at the
  // same time.
  //
  // returns  the errors of check()
  Result<Claim> claim(const Manifest& manifest, const MappedFile& library);

 private:
  Status check_locked(const Manifest& manifest, const FileState& library) const;
  Status check_version_locked(const Manifest& manifest) const;

  mutable std::mutex mutex_;
  std::list<Record> records_;
};

}  // namespace gantry
