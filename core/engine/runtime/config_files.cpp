// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/config_files.hpp"

#include "core/base/text_file.hpp"
#include "core/plugins/manifest/null_file.hpp"

#include <gantry/directory.hpp>
#include <gantry/ownership.hpp>

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

class FileList {
 public:
  // ownership [in]   NULL: the owners of files do not matter
  explicit FileList(Ownership* ownership) : ownership_(ownership) {}

  Status add_base(const std::string& file) {
    GANTRY_CHECK(check(file));
    files_.push_back(file);
    return {};
  }

  // Adds the drop-ins of a directory, by name, except for names that a higher directory has.
  Status add_drop_ins(const std::string& directory) {
    std::error_code failed;
    const std::vector<std::string> names = names_in(directory, failed);
    if (failed && failed != std::errc::no_such_file_or_directory &&
        failed != std::errc::not_a_directory) {
      return unavailable("directory ", directory, ": ", failed.message())
          .at("while reading the configuration");
    }
    for (const std::string& name : names) {
      if (!name.ends_with(".yaml") || name.starts_with('.')) continue;
      const auto [at, is_new] = drop_ins_.try_emplace(name, concat(directory, "/", name));
      if (is_new) GANTRY_CHECK(check(at->second));
    }
    return {};
  }

  std::vector<std::string> take() {
    for (const auto& [name, path] : drop_ins_) files_.push_back(path);
    std::erase_if(files_, is_null_file);
    return std::move(files_);
  }

 private:
  Status check(const std::string& file) {
    if (ownership_ == nullptr) return {};
    // Fails only in a working directory that was removed.
    std::error_code failed;
    const Status trusted = ownership_->check(fs::absolute(file, failed).string());
    if (trusted.ok()) return {};
    return Error(trusted.error()).at("while reading the configuration ", file);
  }

  Ownership* ownership_;
  std::vector<std::string> files_;
  // by name
  std::map<std::string, std::string> drop_ins_;
};

}  // namespace

std::vector<std::string> system_config_directories() {
  return {"/etc/gantry", "/run/gantry", "/usr/share/gantry"};
}

Result<std::vector<std::string>> config_files(const ConfigSearch& search) {
  Ownership ownership(TrustedOwners::of_process(search.elevated));
  if (!search.file.empty()) {
    // The caller of a process without more privileges chooses its files.
    FileList files(search.elevated ? &ownership : nullptr);
    GANTRY_CHECK(files.add_base(search.file));
    GANTRY_CHECK(files.add_drop_ins(search.file + ".d"));
    return files.take();
  }
  FileList files(&ownership);
  bool has_base = false;
  for (const std::string& directory : search.directories) {
    const std::string base = concat(directory, "/", kFile);
    std::error_code failed;
    if (!has_base && fs::exists(fs::symlink_status(base, failed))) {
      GANTRY_CHECK(files.add_base(base));
      has_base = true;
    }
    GANTRY_CHECK(files.add_drop_ins(base + ".d"));
  }
  return files.take();
}

Result<Config> read_config(const ConfigSearch& search) {
  GANTRY_TRY(const std::vector<std::string> files, config_files(search));
  Config config;
  for (const std::string& file : files) GANTRY_CHECK(apply_file(file, config));
  return config;
}

}  // namespace gantry
