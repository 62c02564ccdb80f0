// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/config_files.hpp"

#include "core/base/text_file.hpp"
#include "core/manifest/directory.hpp"
#include "core/manifest/null_file.hpp"

#include <filesystem>
#include <map>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "runtime.yaml";

Status apply_file(const std::string& path, Config& config) {
  const auto text = read_text_file(path);
  const Status applied =
      text.ok() ? apply_config(*text, path, config) : Status(Error(text.error()));
  if (applied.ok()) return {};
  return Error(applied.error()).at("while reading the configuration ", path);
}

// Adds the drop-ins of a directory that are not in `files` yet, by name.
Status add_drop_ins(const std::string& directory, std::map<std::string, std::string>& files) {
  std::error_code failed;
  const std::vector<std::string> names = names_in(directory, failed);
  if (failed && failed != std::errc::no_such_file_or_directory &&
      failed != std::errc::not_a_directory) {
    return unavailable("directory ", directory, ": ", failed.message())
        .at("while reading the configuration");
  }
  for (const std::string& name : names) {
    if (name.ends_with(".yaml") && !name.starts_with('.'))
      files.try_emplace(name, concat(directory, "/", name));
  }
  return {};
}

}  // namespace

std::vector<std::string> system_config_directories() {
  return {"/etc/gantry", "/run/gantry", "/usr/share/gantry"};
}

Result<std::vector<std::string>> config_files(const std::string& named,
                                              const std::vector<std::string>& directories) {
  std::vector<std::string> files;
  std::map<std::string, std::string> drop_ins;
  if (!named.empty()) {
    files.push_back(named);
    GANTRY_CHECK(add_drop_ins(named + ".d", drop_ins));
  } else {
    for (const std::string& directory : directories) {
      const std::string base = concat(directory, "/", kFile);
      std::error_code failed;
      if (files.empty() && fs::exists(fs::symlink_status(base, failed))) files.push_back(base);
      GANTRY_CHECK(add_drop_ins(base + ".d", drop_ins));
    }
  }
  for (const auto& [name, path] : drop_ins) files.push_back(path);
  std::erase_if(files, is_null_file);
  return files;
}

Result<Config> read_config(const std::string& named, const std::vector<std::string>& directories) {
  GANTRY_TRY(const std::vector<std::string> files, config_files(named, directories));
  Config config;
  for (const std::string& file : files) GANTRY_CHECK(apply_file(file, config));
  return config;
}

}  // namespace gantry
