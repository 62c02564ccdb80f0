// SPDX-License-Identifier: Apache-2.0
//
// A directory of installed plugins, `<directory>/<id>-<version>/`. A version is added or removed as
// a whole by a rename, and never changed: programs that have opened it keep their files.
#pragma once

#include "tools/gantry/install/staging_directory.hpp"

#include "core/plugins/manifest/manifest.hpp"

#include <gantry/message.hpp>
#include <gantry/ownership.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct StoredPlugin {
  std::string id, version;
  // the plugin's own directory
  std::filesystem::path path;
};

struct Installation {
  StoredPlugin plugin;
  // of the checks: why it cannot be used on this host now
  std::vector<Message> warnings;
};

class PluginStore {
 public:
  // directory  [in]   created with its parents by the first installation, with mode 0755
  // owners     [in]   who may be able to change it
  explicit PluginStore(std::filesystem::path directory,
                       TrustedOwners owners = TrustedOwners::of_user())
      : directory_(std::move(directory)), owners_(std::move(owners)) {}

  const std::filesystem::path& directory() const { return directory_; }

  // Checks a plugin without executing it, and installs it. A driver, device or file that this host
  // does not have is a warning.
  //
  // source   [in]   see plugin_files.hpp
  // core     [in]   of this program
  // limits   [in]   of the files; above them, and without a manifest, nothing is written
  // returns  invalid if the version is installed already; PERMISSIONS if others can change the
  //          directory; the errors of the manifest and of inspect_plugin(); not_found, unavailable.
  //          Nothing is installed after a failure
  Result<Installation> install(const std::filesystem::path& source, const gantry_abi_range& core,
                               const StagingLimits& limits = {});

  // Removes a version from the directory at once, then its files.
  //
  // returns  unavailable with errno
  Status remove(const StoredPlugin& plugin);

  // The installed versions of an id, lowest first; an empty id: of all.
  std::vector<StoredPlugin> versions(std::string_view id) const;

 private:
  Status check_owners() const;

  std::filesystem::path directory_;
  TrustedOwners owners_;
};

}  // namespace gantry::cli
