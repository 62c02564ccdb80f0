// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_files.hpp"

#include "core/formats/archive/archive_members.hpp"

#include "core/base/mapped_file.hpp"
#include "core/formats/arrays/gunzip.hpp"
#include "core/plugins/manifest/search_path.hpp"

#include <gantry/directory.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRaises = "; --max-mib raises the limit";
constexpr std::string_view kReadAsTar =
    "the file is read as a tar archive; expected a directory, a .tar or a .tar.gz";
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

// What is called for each file and directory of a source, whose lstat() is `about`.
using VisitFile = std::function<Status(const std::string& name, const struct stat& about)>;

// Visits the files and directories below a directory in bytewise order, each directory before what
// it contains.
//
// prefix   [in]   of the names
Status visit_directory(const fs::path& directory, const std::string& prefix, int depth,
                       const VisitFile& visit) {
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
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode))
      return not_accepted(relative, special_noun(about.st_mode));
    GANTRY_CHECK(visit(relative, about));
    if (S_ISDIR(about.st_mode))
      GANTRY_CHECK(visit_directory(directory / name, relative, depth + 1, visit));
  }
  return {};
}

Status stage_directory(const fs::path& directory, StagingDirectory& staging) {
  return visit_directory(
      directory, "", 1, [&](const std::string& name, const struct stat& about) -> Status {
        if (S_ISDIR(about.st_mode)) return staging.add_directory(name);
        return stage_file(directory / name, name, (about.st_mode & S_IXUSR) != 0, staging);
      });
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
  if (!members.ok()) return std::move(members).error().at(kReadAsTar);
  for (const ArchiveMember& member : *members) {
    const std::string_view name = without_dot(member.name);
    if (!member.special.empty()) return not_accepted(name, member.special);
    GANTRY_CHECK(staging.add_file(name, member.content, member.is_executable));
  }
  return {};
}

// Collects the names of a source and the size of its files.
class Survey {
 public:
  explicit Survey(const StagingLimits& limits) : limits_(limits) {}

  Status add(std::string_view name, std::uint64_t bytes, bool is_directory) {
    if (++count_ > limits_.files) {
      return malformed(no_offset, quoted(name), " is file ", count_, ", limit is ", limits_.files);
    }
    if (bytes > limits_.bytes - bytes_) {
      return malformed(no_offset, quoted(name), " has ", bytes, " bytes after ", bytes_,
                       " bytes of other files, limit is ", limits_.bytes, kRaises);
    }
    bytes_ += bytes;
    const std::size_t slash = std::min(name.find('/'), name.size());
    const bool is_below = slash != name.size();
    is_directory_[std::string(name.substr(0, slash))] |= is_below || is_directory;
    const std::string_view last = name.substr(std::min(slash + 1, name.size()));
    if (is_directory || last.find('/') != std::string_view::npos) return {};
    const std::string_view file = is_below ? last : name;
    if (is_manifest_here(file)) (is_below ? below_ : here_).emplace_back(file);
    return {};
  }
  Result<PluginPlace> place() const {
    const bool is_in_part =
        here_.empty() && is_directory_.size() == 1 && is_directory_.begin()->second;
    const std::vector<std::string>& manifests = is_in_part ? below_ : here_;
    if (manifests.size() == 1)
      return PluginPlace{is_in_part ? is_directory_.begin()->first : "", manifests.front()};
    std::vector<std::string> names;
    for (const auto& [name, is_directory] : is_directory_) names.push_back(name);
    return not_found("found ", manifests.size(), " manifests (*.yaml), expected one; files: ",
                     names.empty() ? "none" : join(names, ", ", {}, kMaxNames));
  }

 private:
  StagingLimits limits_;
  std::uint64_t bytes_ = 0;
  std::size_t count_ = 0;
  // the names in the source
  std::map<std::string, bool> is_directory_;
  // manifests in the source and in its subdirectories
  std::vector<std::string> here_, below_;
};

Status survey_archive(const fs::path& archive, const StagingLimits& limits, Survey& survey) {
  GANTRY_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(archive));
  // A failure of the survey is not one of the format.
  Status refused;
  const auto add = [&](const ArchiveMember& member) -> Result<bool> {
    const std::string_view name = without_dot(member.name);
    refused = member.special.empty() ? survey.add(name, member.size, false)
                                     : Status(not_accepted(name, member.special));
    return refused.ok();
  };
  Status read;
  if (is_gzip(file->bytes())) {
    GANTRY_TRY(const ReadPiece gzip, open_gzip(file->bytes()));
    std::uint64_t left = limits.bytes;
    const ReadPiece bounded = [&](std::span<std::uint8_t> piece) -> Result<std::size_t> {
      GANTRY_TRY(const std::size_t size, gzip(piece));
      if (size > left) {
        return malformed(no_offset, "archive has more than ", limits.bytes,
                         " bytes after decompression", kRaises);
      }
      left -= size;
      return size;
    };
    read = visit_tar_stream(bounded, add);
  } else {
    read = visit_tar_members(file->bytes(), add);
  }
  if (read.ok()) return refused;
  return std::move(read).error().at(kReadAsTar);
}

// Runs one of two functions on a source by its kind.
template <class Directory, class Archive>
Status with_source(const fs::path& source, const Directory& directory, const Archive& archive) {
  std::error_code failed;
  const fs::file_status about = fs::status(source, failed);
  if (!fs::exists(about)) {
    return not_found(quoted(source.native()), " does not exist, expected a directory or archive");
  }
  const Status done = fs::is_directory(about) ? directory() : archive();
  if (done.ok()) return {};
  return Error(done.error()).at("in ", quoted(source.native()));
}

}  // namespace

Result<PluginPlace> survey_plugin_files(const fs::path& source, const StagingLimits& limits) {
  Survey survey(limits);
  GANTRY_CHECK(with_source(
      source,
      [&] {
        return visit_directory(
            source, "", 1, [&](const std::string& name, const struct stat& about) {
              const bool is_directory = S_ISDIR(about.st_mode);
              const auto bytes = is_directory ? 0 : static_cast<std::uint64_t>(about.st_size);
              return survey.add(name, bytes, is_directory);
            });
      },
      [&] { return survey_archive(source, limits, survey); }));
  auto place = survey.place();
  if (!place.ok()) return std::move(place).error().at("in ", quoted(source.native()));
  return place;
}

Status stage_plugin_files(const fs::path& source, StagingDirectory& staging) {
  return with_source(
      source, [&] { return stage_directory(source, staging); },
      [&] { return stage_archive(source, staging); });
}

Result<Manifest> read_staged_manifest(const fs::path& directory, const PluginPlace& place) {
  const fs::path file = directory / place.part / place.manifest;
  GANTRY_TRY(Manifest manifest, open_manifest(file.native()));
  if (manifest.library.starts_with('/')) {
    return malformed(no_offset, place.manifest, ": library is ", quoted(manifest.library),
                     ", expected a path relative to the manifest: its directory is moved");
  }
  return manifest;
}

}  // namespace gantry::cli
