// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/unclaimed.hpp"

#include "core/plugins/library/plugin_note.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/directory.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Directory entries that are visited.
constexpr std::size_t kMaxVisited = 65536;

// The identities of all libraries that manifests name, and the directories of manifests whose
// library is unknown.
struct Claims {
  std::set<FileIdentity> libraries;
  std::set<fs::path> directories;
};

Claims claims_of(const std::vector<Candidate>& candidates,
                 const std::vector<std::string>& packages) {
  Claims claims;
  for (const Candidate& candidate : candidates) {
    struct stat info {};
    if (!candidate.manifest) {
      claims.directories.insert(fs::path(candidate.file).parent_path());
      for (const std::string& directory : packages)
        claims.directories.insert(fs::path(directory) / fs::path(candidate.name).stem());
    } else if (::stat(candidate.manifest->library_path.c_str(), &info) == 0) {
      claims.libraries.insert(identity_of(info));
    }
  }
  return claims;
}

std::optional<UnclaimedLibrary> library_at(const fs::path& path, Claims& claims) {
  const auto file = MappedFile::open(path);
  // also each library only once
  if (!file.ok() || !claims.libraries.insert((*file)->identity()).second) return std::nullopt;
  const auto elf = ElfFile::parse((*file)->bytes());
  // Manifests of other machines are skipped, and so are their libraries.
  if (!elf.ok() || elf->machine() != host_machine()) return std::nullopt;
  auto note = read_plugin_note(*elf, path.string());
  if (!note.ok()) return std::nullopt;
  return UnclaimedLibrary{path.string(), std::move(note->id), std::move(note->version)};
}

// True if manifests of packages were found and not read.
bool leaves_packages_out(const std::vector<SearchLocation>& locations) {
  return std::any_of(locations.begin(), locations.end(), [](const SearchLocation& location) {
    return location.tier == Tier::system && location.state == LocationState::replaced;
  });
}

}  // namespace

std::vector<std::string> package_library_directories() {
  const MachineTraits host = host_traits();
  const std::string_view libc = host.libc_name == "musl" ? "musl" : "gnu";
  std::vector<std::string> all;
  for (const std::string& lib :
       {concat("lib/", host.arch, "-linux-", libc), std::string("lib64"), std::string("lib")})
    all.push_back(concat("/usr/", lib, "/gantry/plugins.d"));
  return all;
}

std::vector<UnclaimedLibrary> unclaimed_libraries(const std::vector<SearchLocation>& locations,
                                                  const std::vector<Candidate>& candidates,
                                                  const std::vector<std::string>& packages) {
  Claims claims = claims_of(candidates, packages);
  std::vector<UnclaimedLibrary> found;
  std::size_t left = kMaxVisited;
  const auto visit = [&](const auto& self, const fs::path& directory, bool is_top) -> void {
    std::error_code failed;
    for (const std::string& name : names_in(directory, failed)) {
      if (left == 0) return;
      --left;
      const fs::path path = directory / name;
      if (fs::is_directory(path, failed)) {
        if (is_top) self(self, path, false);
      } else if (name.find(".so") != std::string::npos && !claims.directories.contains(directory)) {
        if (auto library = library_at(path, claims)) found.push_back(*std::move(library));
      }
    }
  };
  for (const SearchLocation& location : locations) {
    if (location.state != LocationState::searched) continue;
    for (const std::string& directory : location.directories) visit(visit, directory, true);
  }
  if (leaves_packages_out(locations)) return found;
  for (const std::string& directory : packages) visit(visit, directory, true);
  return found;
}

}  // namespace gantry
