// SPDX-License-Identifier: Apache-2.0
//
// A plugin as a vendor delivers it: a directory with one manifest, the library and other files, or
// a .tar or .tar.gz archive of such a directory.
#pragma once

#include "tools/gantry/install/staging_directory.hpp"

#include "core/plugins/manifest/manifest.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string>

namespace gantry::cli {

// Where the manifest of a delivered plugin is.
struct PluginPlace {
  // its directory below the source; empty: the source itself
  std::string part;
  // its file name
  std::string manifest;
};

// Finds the manifest in the source or in its only subdirectory, and adds up the sizes of all files.
// Writes nothing; an archive is decompressed piece by piece, up to the limit.
//
// source   [in]   directory or archive
// returns  not_found with the names that are there, without one manifest; malformed above a limit;
//          the failures of stage_plugin_files()
// costs    one pass over the archive
Result<PluginPlace> survey_plugin_files(const std::filesystem::path& source,
                                        const StagingLimits& limits);

// Copies the files to a staging directory. Only regular files and directories are accepted: a link
// could lead out of the directory later.
//
// source   [in]   directory or archive
// returns  not_found, unavailable; malformed with the file that is not accepted
Status stage_plugin_files(const std::filesystem::path& source, StagingDirectory& staging);

// Reads the manifest in a staging directory, and checks that the plugin can be installed: the library
// is in the same directory.
//
// returns  not_found, malformed
Result<Manifest> read_staged_manifest(const std::filesystem::path& directory,
                                      const PluginPlace& place);

}  // namespace gantry::cli
