// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/search_path.hpp"

#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/directory.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// maximum number of manifests of a location that is not used in a message
constexpr std::size_t kMaxNames = 5;

constexpr std::string_view kSuffix = ".yaml";
constexpr std::string_view kFiles = "GANTRY_PLUGIN_FILES";
// Architectures as `uname -m` names them. Other words before the suffix are a part of the name.
constexpr std::string_view kArchitectures[] = {"x86_64",  "aarch64", "armv7l", "i686",
                                               "riscv64", "ppc64le", "s390x",  "loongarch64"};

// Returns the architecture in a manifest's name, `acme.npu.aarch64.yaml`; empty: none.
std::string_view architecture_in(std::string_view name) {
  name.remove_suffix(kSuffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const auto* known =
      std::find(std::begin(kArchitectures), std::end(kArchitectures), name.substr(dot + 1));
  return known == std::end(kArchitectures) ? std::string_view() : *known;
}

bool is_manifest_name(std::string_view name) {
  return name.ends_with(kSuffix) && !name.starts_with('.');
}

// Removes an architecture: `acme.npu.yaml`.
std::string general_name(const std::string& name) {
  if (!is_manifest_name(name)) return name;
  const std::string_view architecture = architecture_in(name);
  if (architecture.empty()) return name;
  return name.substr(0, name.size() - kSuffix.size() - architecture.size() - 1).append(kSuffix);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view entry = text.substr(0, colon);
    if (!entry.empty() && entry != "/dev/null") entries.emplace_back(entry);
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return entries;
}

bool is_manifest_for(std::string_view name, std::string_view machine) {
  if (!is_manifest_name(name)) return false;
  const std::string_view architecture = architecture_in(name);
  return architecture.empty() || architecture == machine;
}

class Search {
 public:
  explicit Search(std::string architecture) : architecture_(std::move(architecture)) {}

  SearchResult take() {
    std::reverse(drop_in_groups_.begin(), drop_in_groups_.end());
    for (auto& group : drop_in_groups_) {
      result_.drop_ins.insert(result_.drop_ins.end(), group.begin(), group.end());
    }
    return std::move(result_);
  }

  void open_location(Tier tier, std::string name, LocationState state) {
    result_.locations.push_back({tier, std::move(name), state, {}, {}, {}, {}});
    drop_in_groups_.emplace_back();
  }
  void mark_absent() {
    SearchLocation& location = result_.locations.back();
    location.state = LocationState::absent;
    location.files.clear();
  }
  void mark_unused(std::string_view excluded_by, std::string_view replaced_by) {
    SearchLocation& location = result_.locations.back();
    const bool is_excluded = location.state == LocationState::excluded;
    if (is_excluded) location.excluded_by = excluded_by;
    if (is_excluded || location.state == LocationState::replaced)
      location.replaced_by = replaced_by;
  }
  // Adds a directory that is not read.
  void add_excluded(const std::string& directory) {
    result_.locations.back().directories.push_back(directory);
  }

  // Adds a manifest or directory that the program, configuration or environment names. If it cannot
  // be used, it becomes a candidate with the reason.
  void add_entry(const std::string& entry) {
    if (!entry.starts_with('/')) {
      refuse(
          entry, reason::library_path,
          Message("\"", entry, "\" is relative, expected an absolute path: the working directory ",
                  "is not used"));
      return;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(entry, failed);
    if (!fs::exists(status)) {
      refuse(entry, reason::not_found, "no such file or directory");
    } else if (fs::is_directory(status)) {
      add_directory(entry);
    } else {
      add_manifest(entry);
    }
  }

  void add_directory(const std::string& directory) {
    std::error_code failed;
    const std::vector<std::string> names = names_in(directory, failed);
    if (failed) {
      result_.warnings.push_back(Message(directory, ": cannot be read: ", failed.message()));
      return;
    }
    result_.locations.back().directories.push_back(directory);
    for (const std::string& name : names) {
      const fs::path path = fs::path(directory) / name;
      std::error_code ignored;
      const bool is_directory = fs::is_directory(path, ignored);
      if (is_directory && name.ends_with(".yaml.d")) {
        add_drop_ins(path, name.substr(0, name.size() - 2));
      } else if (is_directory && !name.starts_with('.')) {
        add_directory(path);
      } else if (is_for_this_host(name)) {
        add_manifest(path.string());
      }
    }
  }

 private:
  std::size_t location() const { return result_.locations.size() - 1; }
  bool is_for_this_host(std::string_view name) const {
    return is_manifest_for(name, architecture_);
  }
  bool counts() const { return result_.locations.back().state == LocationState::searched; }

  void add_manifest(const std::string& file) {
    result_.locations.back().files.push_back(file);
    if (counts()) new_candidate(file);
  }

  void refuse(const std::string& file, const Reason& why, Message text) {
    result_.locations.back().files.push_back(file);
    if (counts()) new_candidate(file).stop(why, std::move(text));
  }

  Candidate& new_candidate(const std::string& file) {
    const SearchLocation& found = result_.locations.back();
    Candidate& candidate = result_.candidates.emplace_back();
    candidate.file = file;
    candidate.name = general_name(fs::path(file).filename().string());
    candidate.tier = found.tier;
    candidate.location = location();
    candidate.location_name = found.name;
    return candidate;
  }

  // Adds the manifest of a plugin's own directory:
  // plugins.d/opencl/{opencl.yaml,libgantry_opencl.so}.
  void add_directory(const fs::path& directory) {
    std::error_code failed;
    std::vector<std::string> manifests;
    for (const std::string& name : names_in(directory, failed)) {
      std::error_code ignored;
      const bool is_directory = fs::is_directory(directory / name, ignored);
      if (is_directory && name.ends_with(".yaml.d"))
        add_drop_ins(directory / name, name.substr(0, name.size() - 2));
      if (!is_directory && is_for_this_host(name)) manifests.push_back(name);
    }
    if (failed) {
      result_.warnings.push_back(
          Message(directory.string(), ": cannot be read: ", failed.message()));
    } else if (manifests.size() == 1) {
      add_manifest((directory / manifests[0]).string());
    } else if (manifests.size() > 1) {
      refuse(directory.string(), reason::manifest_folder,
             Message("directory contains ", manifests.size(), " manifests (", manifests[0], ", ",
                     manifests[1], manifests.size() > 2 ? ", ..." : "", "), expected one"));
    }
  }

  void add_drop_ins(const fs::path& directory, const std::string& manifest_name) {
    if (!counts()) return;
    std::error_code failed;
    for (const std::string& name : names_in(directory, failed)) {
      if (is_manifest_name(name)) {
        drop_in_groups_.back().push_back(
            {(directory / name).string(), general_name(manifest_name), location()});
      }
    }
    if (failed)
      result_.warnings.push_back(
          Message(directory.string(), ": cannot be read: ", failed.message()));
  }

  std::string architecture_;
  SearchResult result_;
  // one group for each location
  std::vector<std::vector<FoundDropIn>> drop_in_groups_;
};

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Returns the directory of the core's own prefix; empty if it is one of the host's, which keeps its
// place.
std::string own_prefix(const PluginLocations& locations) {
  if (locations.core_directory.empty()) return "";
  const fs::path share =
      fs::path(locations.core_directory) / ".." / "share" / "gantry" / "plugins.d";
  std::error_code failed;
  const fs::path tidy = fs::weakly_canonical(share, failed);
  std::string path = (failed ? share : tidy).string();
  const bool is_listed =
      std::ranges::find(locations.host, path, &HostDirectory::path) != locations.host.end();
  return is_listed ? "" : path;
}

}  // namespace

std::vector<HostDirectory> host_plugin_directories() {
  std::vector<HostDirectory> all;
  for (const TierTraits& traits : tiers) {
    for (const std::string_view path : traits.directories)
      all.push_back({traits.tier, std::string(path)});
  }
  return all;
}

bool is_manifest_here(std::string_view name) {
  static const std::string machine = host_traits().arch;
  return is_manifest_for(name, machine);
}

SearchResult search_plugins(const PluginLocations& locations) {
  Search search(host_traits().arch);
  const LocationState after_program =
      locations.exclusive ? LocationState::replaced : LocationState::searched;
  const auto state_of = [&](Tier tier) {
    const TierTraits& traits = traits_of(tier);
    if (tier == Tier::program) return LocationState::searched;
    if (locations.privileged && !traits.is_for_privileged && tier != Tier::environment)
      return LocationState::privileged;
    if (tier == Tier::user && !locations.user_excluded_by.empty()) return LocationState::excluded;
    const bool is_replaced = traits.is_replaceable && locations.plugin_files;
    return is_replaced ? LocationState::replaced : after_program;
  };
  const auto list = [&](Tier tier, const std::string& name,
                        const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    search.open_location(tier, name, state_of(tier));
    for (const std::string& entry : entries) search.add_entry(entry);
  };
  // Each directory is a separate location: files in the first replace those of the same name in the
  // second.
  const auto directories = [&](Tier tier, const std::string& prefix,
                               const std::vector<std::string>& all) {
    for (const std::string& directory : all) {
      list(tier, prefix + directory, {directory});
      std::error_code ignored;
      if (!fs::exists(directory, ignored)) search.mark_absent();
    }
  };
  const auto fixed = [&](Tier tier, const std::string& directory) {
    const LocationState state = state_of(tier);
    const bool is_excluded = state == LocationState::excluded;
    const bool exists = is_excluded || is_directory(directory);
    search.open_location(tier, directory, exists ? state : LocationState::absent);
    if (!locations.exclusive) {
      search.mark_unused(locations.user_excluded_by,
                         locations.plugin_files ? kFiles : std::string_view());
    }
    if (is_excluded && locations.reads_excluded) search.add_excluded(directory);
    if (is_excluded) return;
    if (exists && state != LocationState::privileged) search.add_directory(directory);
  };
  const auto variable = [&](std::string_view name, const std::optional<std::string>& value) {
    search.open_location(Tier::environment, std::string(name),
                         value ? after_program : LocationState::unset);
    if (!value) return;
    for (const std::string& entry : split_list(*value)) search.add_entry(entry);
  };

  list(Tier::program, "--plugin", locations.manifests);
  directories(Tier::program, "--plugins ", locations.directories);
  list(Tier::config, concat("plugins.manifests of ", locations.config_file),
       locations.config_manifests);
  directories(Tier::config, "plugins.dirs ", locations.config_directories);
  variable(kFiles, locations.plugin_files);
  if (!locations.plugin_files) variable("GANTRY_ADD_PLUGIN_FILES", locations.add_plugin_files);
  std::vector<HostDirectory> all = locations.host;
  if (const std::string own = own_prefix(locations); !own.empty()) all.push_back({Tier::core, own});
  if (!locations.user_directory.empty()) all.push_back({Tier::user, locations.user_directory});
  std::ranges::stable_sort(all, {}, &HostDirectory::tier);
  for (const HostDirectory& directory : all) fixed(directory.tier, directory.path);
  return search.take();
}

std::string describe(const SearchLocation& location) {
  const std::size_t count = location.files.size();
  const std::string files = concat(count, count == 1 ? " file" : " files");
  switch (location.state) {
    case LocationState::searched:
      return concat(number_of(location.tier), " ", location.name, " (", files, ")");
    case LocationState::absent:
      return concat(number_of(location.tier), " ", location.name, " (absent)");
    case LocationState::unset:
      return concat(number_of(location.tier), " ", location.name, " (unset)");
    case LocationState::privileged:
      return concat(number_of(location.tier), " ", location.name,
                    " (not used: privileged process)");
    case LocationState::excluded:
      return concat(number_of(location.tier), " ", location.name, " (not searched",
                    location.excluded_by.empty() ? "" : ": plugins.user is false in ",
                    location.excluded_by, ")");
    case LocationState::replaced: {
      std::string names;
      for (std::size_t i = 0; i < std::min(count, kMaxNames); ++i) {
        names += concat(i == 0 ? ": " : ", ", fs::path(location.files[i]).filename().string());
      }
      const std::string why =
          location.replaced_by.empty() ? "not used" : concat("replaced by ", location.replaced_by);
      return concat(number_of(location.tier), " ", location.name, " (", why, ", ", files, names,
                    count > kMaxNames ? ", ..." : "", ")");
    }
  }
  return location.name;
}

std::string unused_text(const SearchLocation& location) {
  const std::string variable =
      location.replaced_by.empty() ? "" : concat(location.replaced_by, " replaces tiers 4 to 8");
  if (location.excluded_by.empty()) {
    return variable.empty()
               ? ""
               : concat(variable, ": unset the variable, or use GANTRY_ADD_PLUGIN_FILES");
  }
  return concat("plugins.user is false in ", location.excluded_by,
                variable.empty() ? "" : concat(", and ", variable), ": set it to true",
                variable.empty() ? "" : " and unset the variable",
                ", or name the directory in plugins.dirs of the configuration, or with --plugins");
}

std::vector<std::string> manifests_in(const SearchLocation& location) {
  if (location.state != LocationState::excluded) return location.files;
  Search search(host_traits().arch);
  search.open_location(location.tier, location.name, location.state);
  for (const std::string& directory : location.directories) search.add_directory(directory);
  return search.take().locations.front().files;
}

std::string no_manifest_text(const std::vector<SearchLocation>& locations) {
  const bool has_any = std::any_of(locations.begin(), locations.end(),
                                   [](const SearchLocation& one) { return !one.files.empty(); });
  if (has_any) return "";
  return concat("no manifest is found; packages install theirs in /usr/share/gantry/plugins.d, ",
                "`gantry plugins install` in /usr/local/share/gantry/plugins.d or the user's ",
                "directory, archives in share/gantry/plugins.d beside the directory of the core");
}

}  // namespace gantry
