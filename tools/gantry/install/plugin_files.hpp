// SPDX-License-Identifier: Apache-2.0
//
// A plugin as a vendor delivers it: a directory with one manifest, the library and other files, or
// a .tar or .tar.gz archive of such a directory.
#pragma once

#include "tools/gantry/install/staging_directory.hpp"

#include "core/manifest/manifest.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string>

namespace gantry::cli {

// Copies the files to a staging directory. Only regular files and directories are accepted: a link
// could lead out of the directory later.
//
// source   [in]   directory or archive
// returns  not_found, unavailable; malformed with the file that is not accepted
Status stage_plugin_files(const std::filesystem::path& source, StagingDirectory& staging);

struct StagedPlugin {
  // directory of the manifest in the staging directory; empty: the staging directory itself
  std::string part;
  Manifest manifest;
};

// Finds the manifest in a directory or in its only subdirectory, and checks that it and its library
// can be installed: the library is in the same directory.
//
// returns  not_found, with the files that are there; malformed
Result<StagedPlugin> find_staged_plugin(const std::filesystem::path& directory);

}  // namespace gantry::cli
