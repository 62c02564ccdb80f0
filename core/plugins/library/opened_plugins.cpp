// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/opened_plugins.hpp"

#include "core/base/file_stamp.hpp"
#include "core/base/reason.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace gantry {
namespace {

FileState state_of(const struct stat& about) {
  return {identity_of(about), about.st_size, stamp_of(about).modified_ns};
}

FileState state_of(const MappedFile& file) {
  struct stat about {};
  if (::fstat(file.descriptor(), &about) != 0) return {file.identity(), 0, 0};
  return state_of(about);
}

// Compares a file with the one that was opened by this path.
Status compare(const std::string& path, const FileState& opened, const FileState& now) {
  if (opened == now) return {};
  return stale_library(path, opened.identity == now.identity);
}

}  // namespace

Failure stale_library(std::string_view path, bool overwritten) {
  Failure error =
      overwritten
          ? unavailable(path,
                        " was overwritten after this process opened it: its code is undefined")
          : unavailable(path,
                        " is another file than the one that this process has opened by this "
                        "path and still uses");
  return std::move(error)
      .with_reason(reason::stale_mapped.tag)
      .at("restart the program; install a library as a new file (unlink and create, or rename), or "
          "each version in a directory of its own, never by overwriting");
}

OpenedPlugins& OpenedPlugins::of_process() {
  // Never destroyed, as the libraries that it lists are never unmapped.
  static OpenedPlugins& all = *new OpenedPlugins;
  return all;
}

Status OpenedPlugins::check_version_locked(const Manifest& manifest) const {
  const std::string& version = manifest.version.text;
  for (const Record& record : records_) {
    if (record.id != manifest.id || record.version == version) continue;
    return unavailable("plugin ", manifest.id, " ", record.version, " is open in this process, ",
                       version, " is not opened beside it: restart the program to use ", version)
        .with_reason(reason::restart_needed.tag);
  }
  return {};
}

Status OpenedPlugins::check_locked(const Manifest& manifest, const FileState& library) const {
  GANTRY_CHECK(check_version_locked(manifest));
  const auto at = std::ranges::find(records_, manifest.library_path, &Record::library);
  return at == records_.end() ? Status() : compare(at->library, at->file, library);
}

Status OpenedPlugins::check_version(const Manifest& manifest) const {
  const std::lock_guard lock(mutex_);
  return check_version_locked(manifest);
}

Status OpenedPlugins::check(const Manifest& manifest, const MappedFile& library) const {
  const FileState now = state_of(library);
  const std::lock_guard lock(mutex_);
  return check_locked(manifest, now);
}

Status OpenedPlugins::check_opened(const Manifest& manifest) const {
  struct stat about {};
  if (manifest.library_path.empty() || ::stat(manifest.library_path.c_str(), &about) != 0)
    return {};
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(records_, manifest.library_path, &Record::library);
  return at == records_.end() ? Status() : compare(at->library, at->file, state_of(about));
}

Result<OpenedPlugins::Claim> OpenedPlugins::claim(const Manifest& manifest,
                                                  const MappedFile& library) {
  const FileState now = state_of(library);
  const std::lock_guard lock(mutex_);
  GANTRY_CHECK(check_locked(manifest, now));
  auto at = std::ranges::find(records_, manifest.library_path, &Record::library);
  if (at == records_.end())
    at = records_.insert(at, {manifest.id, manifest.version.text, manifest.library_path, now});
  ++at->claims;
  return Claim(*this, at);
}

void OpenedPlugins::Claim::keep() {
  const std::lock_guard lock(all_->mutex_);
  at_->is_mapped = true;
}

OpenedPlugins::Claim::~Claim() {
  if (all_ == nullptr) return;
  const std::lock_guard lock(all_->mutex_);
  if (--at_->claims == 0 && !at_->is_mapped) all_->records_.erase(at_);
}

}  // namespace gantry
