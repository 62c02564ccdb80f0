// SPDX-License-Identifier: Apache-2.0
//
// find_needed(), needed_problems() and check_search_paths(): visit the needed libraries breadth
// first, each of them once.
#include "core/base/reason.hpp"
#include "core/plugins/library/imports.hpp"
#include "core/plugins/library/linker.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace gantry {
namespace {

// Max libraries of one traversal; real plugins have fewer than a hundred.
constexpr std::size_t kMaxLibraries = 512;
// A hostile file may need any number of libraries, and each one that is missing is searched for.
constexpr std::size_t kMaxProblems = 64;
// problems in one error
constexpr std::size_t max_listed_problems = 8;

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Returns "GLIBCXX_" for "GLIBCXX_3.4.30".
std::string_view family_of(std::string_view version) {
  const std::size_t digit = version.find_first_of("0123456789");
  return version.substr(0, std::min(digit, version.size()));
}

Failure version_error(const ElfVersionNeed& need, std::string_view wanted_by,
                      std::string_view have) {
  return unavailable(wanted_by, " needs ", need.version, " of ", need.file, ", ", have,
                     ": install a newer ", need.file,
                     " or a plugin that was built for an older system")
      .with_reason(reason::version_needed.tag);
}

// The file that defines the versions of glibc in this process.
std::string glibc_file() {
  Dl_info info{};
  // The address in the program's own code may be that of a stub.
  const void* const function = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  const bool known = function != nullptr && dladdr(function, &info) != 0;
  return known && info.dli_fname != nullptr ? info.dli_fname : "libc.so.6";
}

// Compares a version of glibc with the release in use: glibc names its versions after releases.
Status check_glibc(const ElfVersionNeed& need, std::string_view wanted_by) {
  const std::string_view family = "GLIBC_";
  if (!need.version.starts_with(family) || need.weak) return {};
  // the name of no release, GLIBC_PRIVATE, is less than every release
  if (!version_less(gnu_get_libc_version(), need.version.substr(family.size()))) return {};
  return version_error(need, wanted_by,
                       concat("this host has glibc ", gnu_get_libc_version(), ", ", glibc_file()));
}

// Checks that the providing library has a version. In libraries linked with GNU ld, versions are
// absolute symbols with their names. A library without any version of the family passes.
Status check_provider(const ElfVersionNeed& need, std::string_view wanted_by,
                      const ElfFile& provider, const std::string& path) {
  if (need.weak || provider.find(need.version)) return {};
  const std::string_view family = family_of(need.version);
  std::string_view highest;
  for (const ElfSymbol& symbol : provider.symbols()) {
    const bool node = symbol.section == 0xfff1 && symbol.name.starts_with(family);
    if (node && (highest.empty() ||
                 version_less(highest.substr(family.size()), symbol.name.substr(family.size())))) {
      highest = symbol.name;
    }
  }
  if (highest.empty()) return {};
  return version_error(need, wanted_by, concat(path, " has up to ", highest));
}

}  // namespace

NeededLibraries find_needed(const ElfFile& file, const std::string& path, const Linker& linker) {
  NeededLibraries all;
  const auto check = [&](Status status) {
    if (!status.ok()) all.problems.push_back(std::move(status).error());
  };
  std::set<std::string> seen{path};
  std::set<std::string_view> missing;
  all.libraries.push_back({file, path, "", file_name(path)});
  // a deque: its elements stay where they are
  for (std::size_t i = 0; i < all.libraries.size() && seen.size() < kMaxLibraries; ++i) {
    const ElfFile& elf = all.libraries[i].elf;
    const std::string& elf_path = all.libraries[i].path;
    const std::string& chain = all.libraries[i].chain;
    for (const ElfVersionNeed& need : elf.version_needs()) check(check_glibc(need, chain));
    for (const std::string_view soname : elf.needed()) {
      if (all.problems.size() >= kMaxProblems) return all;
      const std::optional<std::string> found = linker.find(soname, elf, elf_path);
      if (!found) {
        if (!missing.insert(soname).second) continue;
        check(unavailable(soname, " is not found, needed by ", chain, "; ",
                          linker.describe_search(soname, &elf, elf_path))
                  .with_reason(reason::lib_needed_missing.tag));
        continue;
      }
      // A library without a path or one that cannot be read is not checked.
      auto mapped = MappedFile::open(*found);
      auto provider = mapped.ok() ? ElfFile::parse(std::move(*mapped))
                                  : Result<ElfFile>(std::move(mapped).error());
      if (!provider.ok()) {
        all.has_unreadable = true;
        continue;
      }
      for (const ElfVersionNeed& need : elf.version_needs()) {
        if (need.file == soname) check(check_provider(need, chain, *provider, *found));
      }
      if (seen.insert(*found).second) {
        all.libraries.push_back(
            {std::move(*provider), *found, std::string(soname), concat(chain, " -> ", soname)});
      }
    }
  }
  all.has_unreadable = all.has_unreadable || seen.size() >= kMaxLibraries;
  return all;
}

Status check_search_paths(const ElfFile& file, const std::string& path, Ownership& ownership) {
  if (file.runpath().empty() && file.rpath().empty()) return {};
  std::set<std::string> seen{path};
  // a deque: its elements stay where they are
  std::deque<std::pair<ElfFile, std::string>> libraries{{file, path}};
  for (std::size_t i = 0; i < libraries.size() && i < kMaxLibraries; ++i) {
    const auto& [elf, elf_path] = libraries[i];
    const std::vector<std::string> directories = search_path_of(elf, elf_path);
    for (const std::string_view soname : elf.needed()) {
      for (const std::string& directory : directories) {
        const std::string found = concat(directory, "/", soname);
        if (Status trusted = ownership.check(found); !trusted.ok())
          return std::move(trusted).error().at("needed by ", elf_path, ", whose search path (",
                                               elf.runpath().empty() ? "DT_RPATH" : "DT_RUNPATH",
                                               ") contains ", directory);
        auto mapped = MappedFile::open(found);
        if (!mapped.ok()) continue;
        auto library = ElfFile::parse(std::move(*mapped));
        if (!library.ok()) continue;
        if (seen.insert(found).second) libraries.emplace_back(std::move(*library), found);
        break;
      }
    }
  }
  return {};
}

std::vector<Error> needed_problems(const ElfFile& file, const std::string& path,
                                   const Linker& linker) {
  NeededLibraries needed = find_needed(file, path, linker);
  if (needed.problems.empty() && !needed.has_unreadable) {
    if (Status imports = check_imports(needed); !imports.ok())
      needed.problems.push_back(std::move(imports).error());
  }
  return std::move(needed.problems);
}

Status combined(std::vector<Error> problems) {
  if (problems.empty()) return {};
  Error first = std::move(problems.front());
  const std::size_t count = problems.size();
  for (std::size_t i = 1; i < std::min(count, max_listed_problems); ++i)
    first.at("also: ", problems[i].message);
  if (count > max_listed_problems) first.at("and ", count - max_listed_problems, " more");
  return first;
}

}  // namespace gantry
