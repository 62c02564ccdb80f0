// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_files.hpp"

#include "core/archive/archive_members.hpp"

#include "core/arrays/gunzip.hpp"
#include "core/base/mapped_file.hpp"
#include "core/manifest/directory.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/stat.h>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

// of the path of a file below the plugin's directory
constexpr int kMaxDepth = 16;
// listed in a message
constexpr std::size_t kMaxNames = 10;

// what     [in]   noun: "symbolic link"
Failure not_accepted(std::string_view name, std::string_view what) {
  return malformed(no_offset, quoted(name), " is a ", what,
                   ", expected regular files and directories");
}

std::string_view special_noun(mode_t mode) {
  if (S_ISLNK(mode)) return "symbolic link";
  if (S_ISFIFO(mode)) return "FIFO";
  if (S_ISSOCK(mode)) return "socket";
  return "device";
}

Result<std::vector<std::string>> sorted_names(const fs::path& directory) {
  std::error_code failed;
  std::vector<std::string> names = names_in(directory, failed);
  if (failed)
    return unavailable("cannot read ", quoted(directory.native()), ": ", failed.message());
  return names;
}

Status stage_file(const fs::path& file, const std::string& name, bool is_executable,
                  StagingDirectory& staging) {
  auto mapped = MappedFile::open(file);
  // An empty file cannot be mapped.
  if (!mapped.ok() && mapped.error().reason == "FILE_EMPTY")
    return staging.add_file(name, {}, is_executable);
  if (!mapped.ok()) return std::move(mapped).error();
  return staging.add_file(name, (*mapped)->bytes(), is_executable);
}

Status stage_directory(const fs::path& directory, const std::string& prefix, int depth,
                       StagingDirectory& staging) {
  if (depth > kMaxDepth) {
    return malformed(no_offset, "directory ", quoted(prefix), " is nested more than ", kMaxDepth,
                     " levels deep");
  }
  GANTRY_TRY(const std::vector<std::string> names, sorted_names(directory));
  for (const std::string& name : names) {
    const std::string relative = prefix.empty() ? name : concat(prefix, "/", name);
    struct stat about {};
    if (::lstat((directory / name).c_str(), &about) != 0)
      return unavailable("cannot read ", quoted((directory / name).native()));
    if (S_ISDIR(about.st_mode)) {
      GANTRY_CHECK(staging.add_directory(relative));
      GANTRY_CHECK(stage_directory(directory / name, relative, depth + 1, staging));
    } else if (S_ISREG(about.st_mode)) {
      GANTRY_CHECK(stage_file(directory / name, relative, (about.st_mode & S_IXUSR) != 0, staging));
    } else {
      return not_accepted(relative, special_noun(about.st_mode));
    }
  }
  return {};
}

// "./npu/x.yaml" as `tar -C dir .` writes it
std::string_view without_dot(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

Status stage_archive(const fs::path& archive, StagingDirectory& staging) {
  GANTRY_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(archive));
  if (is_gzip(file->bytes())) {
    GANTRY_TRY(file, gunzip(file->bytes(), staging.path(), staging.limits().bytes));
  }
  auto members = read_tar_members(file->bytes());
  if (!members.ok()) {
    return std::move(members).error().at(
        "the file is read as a tar archive; expected a directory, a .tar or a .tar.gz");
  }
  for (const ArchiveMember& member : *members) {
    const std::string_view name = without_dot(member.name);
    if (!member.special.empty()) return not_accepted(name, member.special);
    GANTRY_CHECK(staging.add_file(name, member.content, member.is_executable));
  }
  return {};
}

std::vector<std::string> manifests_in(const fs::path& directory) {
  std::error_code ignored;
  std::vector<std::string> manifests;
  for (std::string& name : names_in(directory, ignored)) {
    if (name.ends_with(".yaml") && !name.starts_with('.')) manifests.push_back(std::move(name));
  }
  return manifests;
}

}  // namespace

Status stage_plugin_files(const fs::path& source, StagingDirectory& staging) {
  std::error_code failed;
  const fs::file_status about = fs::status(source, failed);
  if (!fs::exists(about)) {
    return not_found(quoted(source.native()), " does not exist, expected a directory or archive");
  }
  const Status staged = fs::is_directory(about) ? stage_directory(source, "", 1, staging)
                                                : stage_archive(source, staging);
  if (staged.ok()) return {};
  return Error(staged.error()).at("in ", quoted(source.native()));
}

Result<StagedPlugin> find_staged_plugin(const fs::path& directory) {
  GANTRY_TRY(const std::vector<std::string> names, sorted_names(directory));
  StagedPlugin found;
  std::vector<std::string> manifests = manifests_in(directory);
  std::error_code failed;
  if (manifests.empty() && names.size() == 1 && fs::is_directory(directory / names[0], failed)) {
    found.part = names[0];
    manifests = manifests_in(directory / found.part);
  }
  if (manifests.size() != 1) {
    return not_found("found ", manifests.size(), " manifests (*.yaml), expected one; files: ",
                     names.empty() ? "none" : join(names, ", ", {}, kMaxNames));
  }
  const fs::path file = directory / found.part / manifests[0];
  GANTRY_TRY(found.manifest, open_manifest(file.native()));
  if (found.manifest.library.starts_with('/')) {
    return malformed(no_offset, manifests[0], ": library is ", quoted(found.manifest.library),
                     ", expected a path relative to the manifest: its directory is moved");
  }
  return found;
}

}  // namespace gantry::cli
