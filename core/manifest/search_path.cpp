// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/search_path.hpp"

#include "core/manifest/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// of a replaced place that a message lists
constexpr std::size_t kMostNames = 5;

bool is_manifest_name(std::string_view name) {
  return name.size() > 5 && name.ends_with(".yaml") && !name.starts_with('.');
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

class Search {
 public:
  SearchResult take() {
    std::reverse(drop_in_groups_.begin(), drop_in_groups_.end());
    for (auto& group : drop_in_groups_) {
      result_.drop_ins.insert(result_.drop_ins.end(), group.begin(), group.end());
    }
    return std::move(result_);
  }

  void open_place(int tier, std::string name, PlaceState state) {
    result_.places.push_back({tier, std::move(name), state, {}});
    drop_in_groups_.emplace_back();
  }

  // A manifest or a directory, named by somebody: what is wrong with it is a candidate's state, not silence.
  void add_entry(const std::string& entry) {
    if (!entry.starts_with('/')) {
      refuse(
          entry, reason::library_path,
          concat("\"", entry,
                 "\" is relative, expected an absolute path: the working directory plays no part"));
      return;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(entry, failed);
    if (!fs::exists(status)) {
      refuse(entry, reason::not_found, concat("no such file or directory"));
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
      result_.warnings.push_back(concat(directory, ": cannot be read: ", failed.message()));
      return;
    }
    for (const std::string& name : names) {
      const fs::path path = fs::path(directory) / name;
      std::error_code ignored;
      const bool is_directory = fs::is_directory(path, ignored);
      if (is_directory && name.ends_with(".yaml.d")) {
        add_drop_ins(path, name.substr(0, name.size() - 2));
      } else if (is_directory && !name.starts_with('.')) {
        add_folder(path);
      } else if (!is_directory && is_manifest_name(name)) {
        add_manifest(path.string());
      }
    }
  }

 private:
  std::size_t place() const { return result_.places.size() - 1; }
  bool counts() const { return result_.places.back().state == PlaceState::searched; }

  void add_manifest(const std::string& file) {
    result_.places.back().files.push_back(file);
    if (counts())
      result_.manifests.push_back({file, fs::path(file).filename().string(), place(), {}, ""});
  }

  void refuse(const std::string& file, const Reason& why, std::string text) {
    result_.places.back().files.push_back(file);
    if (!counts()) return;
    result_.manifests.push_back(
        {file, fs::path(file).filename().string(), place(), why, std::move(text)});
  }

  // plugins.d/opencl/{opencl.yaml, libgantry_opencl.so}: removing the folder removes the plugin.
  void add_folder(const fs::path& folder) {
    std::error_code failed;
    std::vector<std::string> manifests;
    for (const std::string& name : names_in(folder, failed)) {
      std::error_code ignored;
      const bool is_directory = fs::is_directory(folder / name, ignored);
      if (is_directory && name.ends_with(".yaml.d"))
        add_drop_ins(folder / name, name.substr(0, name.size() - 2));
      if (!is_directory && is_manifest_name(name)) manifests.push_back(name);
    }
    if (failed) {
      result_.warnings.push_back(concat(folder.string(), ": cannot be read: ", failed.message()));
    } else if (manifests.size() == 1) {
      add_manifest((folder / manifests[0]).string());
    } else if (manifests.size() > 1) {
      refuse(folder.string(), reason::manifest_folder,
             concat("folder holds ", manifests.size(), " manifests (", manifests[0], ", ",
                    manifests[1], manifests.size() > 2 ? ", ..." : "", "), expected one"));
    }
  }

  void add_drop_ins(const fs::path& folder, const std::string& manifest_name) {
    if (!counts()) return;
    std::error_code failed;
    for (const std::string& name : names_in(folder, failed)) {
      if (is_manifest_name(name)) {
        drop_in_groups_.back().push_back({(folder / name).string(), manifest_name, place()});
      }
    }
    if (failed)
      result_.warnings.push_back(concat(folder.string(), ": cannot be read: ", failed.message()));
  }

  SearchResult result_;
  // one for each place
  std::vector<std::vector<FoundDropIn>> drop_in_groups_;
};

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

SearchResult search_plugins(const PluginPlaces& places) {
  Search search;
  const auto list = [&](int tier, const std::string& name, const std::vector<std::string>& entries,
                        PlaceState state) {
    if (entries.empty()) return;
    search.open_place(tier, name, state);
    for (const std::string& entry : entries) search.add_entry(entry);
  };
  // Each directory is a place of its own: the first hides the second's files of the same name.
  const auto directories = [&](int tier, const std::string& prefix,
                               const std::vector<std::string>& all, PlaceState state) {
    for (const std::string& directory : all) list(tier, prefix + directory, {directory}, state);
  };
  const auto fixed = [&](int tier, const std::string& directory, PlaceState state) {
    if (directory.empty()) return;
    const bool there = is_directory(directory);
    search.open_place(tier, directory, there ? state : PlaceState::absent);
    if (there) search.add_directory(directory);
  };
  const auto variable = [&](const std::string& name, const std::optional<std::string>& value,
                            PlaceState state) {
    search.open_place(3, name, value ? state : PlaceState::unset);
    if (!value) return;
    for (const std::string& entry : split_list(*value)) search.add_entry(entry);
  };

  list(1, "--plugin", places.manifests, PlaceState::searched);
  directories(1, "--plugins ", places.directories, PlaceState::searched);
  const PlaceState after_program = places.exclusive ? PlaceState::replaced : PlaceState::searched;
  list(2, concat("plugins.manifests of ", places.config_file), places.config_manifests,
       after_program);
  directories(2, "plugins.dirs ", places.config_directories, after_program);
  variable("GANTRY_PLUGIN_FILES", places.plugin_files, after_program);
  if (!places.plugin_files)
    variable("GANTRY_ADD_PLUGIN_FILES", places.add_plugin_files, after_program);
  const PlaceState after_files = places.plugin_files ? PlaceState::replaced : after_program;
  fixed(4, places.admin_directory, after_files);
  if (!places.core_directory.empty()) {
    const fs::path share =
        fs::path(places.core_directory) / ".." / "share" / "gantry" / "plugins.d";
    std::error_code failed;
    const fs::path tidy = fs::weakly_canonical(share, failed);
    fixed(8, (failed ? share : tidy).string(), after_files);
  }
  return search.take();
}

std::string describe(const SearchPlace& place) {
  const std::size_t count = place.files.size();
  const std::string files = concat(count, count == 1 ? " file" : " files");
  switch (place.state) {
    case PlaceState::searched:
      return concat(place.tier, " ", place.name, " (", files, ")");
    case PlaceState::absent:
      return concat(place.tier, " ", place.name, " (absent)");
    case PlaceState::unset:
      return concat(place.tier, " ", place.name, " (unset)");
    case PlaceState::replaced: {
      std::string names;
      for (std::size_t i = 0; i < std::min(count, kMostNames); ++i) {
        names += concat(i == 0 ? ": " : ", ", fs::path(place.files[i]).filename().string());
      }
      return concat(place.tier, " ", place.name, " (not used, ", files, " there", names,
                    count > kMostNames ? ", ..." : "", ")");
    }
  }
  return place.name;
}

}  // namespace gantry
