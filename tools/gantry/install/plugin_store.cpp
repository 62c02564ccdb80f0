// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_store.hpp"

#include "tools/gantry/install/plugin_files.hpp"
#include "tools/gantry/install/staging_directory.hpp"

#include "core/base/reason.hpp"
#include "core/base/replace_file.hpp"
#include "core/plugins/library/inspect.hpp"

#include <gantry/directory.hpp>
#include <gantry/quoted.hpp>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

// Reasons that are about this host as it is now, and not about the plugin.
bool is_about_host(const Error& error) {
  constexpr const Reason* reasons[] = {&reason::no_device_node, &reason::file_missing,
                                       &reason::driver_missing, &reason::driver_too_old,
                                       &reason::lib_needed_missing};
  return std::any_of(std::begin(reasons), std::end(reasons),
                     [&](const Reason* each) { return error.reason == each->tag; });
}

// Creates the missing levels of a path with mode 0755, whatever the umask is: plugins below a
// directory that its group may write to are refused.
Status make_directories(const fs::path& path) {
  std::error_code failed;
  if (path.empty() || fs::is_directory(path, failed)) return {};
  GANTRY_CHECK(make_directories(path.parent_path()));
  if (::mkdir(path.c_str(), 0755) != 0) {
    const int number = errno;
    // a path that ends with a slash, or another process was faster
    if (number == EEXIST && fs::is_directory(path, failed)) return {};
    return cannot_write(path, number == EEXIST ? ENOTDIR : number);
  }
  return ::chmod(path.c_str(), 0755) == 0 ? Status() : cannot_write(path, errno);
}

}  // namespace

Status PluginStore::check_owners() const {
  return Ownership(owners_).check((directory_ / "plugin").native());
}

Result<Installation> PluginStore::install(const fs::path& source, const gantry_abi_range& core,
                                          const StagingLimits& limits) {
  GANTRY_TRY(const PluginPlace place, survey_plugin_files(source, limits));
  GANTRY_CHECK(check_owners());
  GANTRY_CHECK(make_directories(directory_));
  // Another user may have been faster.
  GANTRY_CHECK(check_owners());
  GANTRY_TRY(StagingDirectory staging, StagingDirectory::beside(directory_ / "install", limits));
  GANTRY_CHECK(stage_plugin_files(source, staging));
  auto staged = read_staged_manifest(staging.path(), place);
  if (!staged.ok()) return std::move(staged).error().at("in ", quoted(source.native()));
  const Manifest& manifest = *staged;

  Installation done;
  done.plugin = {manifest.id, manifest.version.text,
                 directory_ / concat(manifest.id, "-", manifest.version.text)};
  const auto inspected = inspect_plugin(manifest, core, Depth::dependencies);
  if (!inspected.ok() && !is_about_host(inspected.error())) {
    return Error(inspected.error()).at("while checking ", manifest.title());
  }
  if (!inspected.ok()) done.warnings.push_back(inspected.error().message);
  std::error_code failed;
  if (fs::exists(done.plugin.path, failed)) {
    return invalid(manifest.id, " ", manifest.version.text, " is installed already, in ",
                   quoted(done.plugin.path.native()),
                   "; an installed version is not changed: raise the version, or remove it first");
  }
  GANTRY_CHECK(staging.move_to(place.part, done.plugin.path));
  return done;
}

Status PluginStore::remove(const StoredPlugin& plugin) {
  // Hidden directories are not searched.
  std::string hidden = (directory_ / concat(".removed.", plugin.id, ".XXXXXX")).native();
  if (::mkdtemp(hidden.data()) == nullptr) return cannot_write(directory_, errno);
  if (::rename(plugin.path.c_str(), hidden.c_str()) != 0) {
    const int number = errno;
    ::rmdir(hidden.c_str());
    return unavailable("cannot remove ", quoted(plugin.path.native()), ": ",
                       std::generic_category().message(number));
  }
  std::error_code failed;
  fs::remove_all(hidden, failed);
  if (!failed) return {};
  return unavailable(plugin.id, " ", plugin.version, " is removed, but its files remain in ",
                     quoted(hidden), ": ", failed.message());
}

std::vector<StoredPlugin> PluginStore::versions(std::string_view id) const {
  std::error_code ignored;
  std::vector<std::pair<Version, StoredPlugin>> found;
  for (const std::string& name : names_in(directory_, ignored)) {
    // An id may contain hyphens, a version does not begin with a letter.
    for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1)) {
      auto version = Version::parse(name.substr(at + 1));
      if (!version.ok() || !check_plugin_id(name.substr(0, at)).empty()) continue;
      if (id.empty() || name.substr(0, at) == id) {
        StoredPlugin plugin{name.substr(0, at), name.substr(at + 1), directory_ / name};
        found.emplace_back(*std::move(version), std::move(plugin));
      }
      break;
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<StoredPlugin> all;
  for (auto& [version, plugin] : found) all.push_back(std::move(plugin));
  return all;
}

}  // namespace gantry::cli
