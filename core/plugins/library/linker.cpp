// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/linker.hpp"

#include "core/base/mapping.hpp"
#include "core/base/replace_text.hpp"
#include "core/base/text.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/directory.hpp>
#include <gantry/join.hpp>

#include <dlfcn.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheFile = "/etc/ld.so.cache";

// Calls visit(soname, path) for each library of this machine in /etc/ld.so.cache: a header of 48
// bytes, entries of 24 bytes, strings at offsets from the file's start. Stops at the first byte
// that does not match this format.
//
// source   glibc (2.2 and newer) sysdeps/generic/dl-cache.h: struct cache_file_new, struct
//          file_entry_new
template <class Visit>
Status walk_cache(std::span<const std::uint8_t> bytes, Visit&& visit) {
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
#if defined(__x86_64__)
  // libc6, x86-64
  constexpr std::uint32_t wanted_flags = 0x0303;
#else
  // libc6, aarch64 little-endian
  constexpr std::uint32_t wanted_flags = 0x0a03;
#endif
  ByteReader in(bytes);
  GANTRY_TRY(const auto found, in.read_bytes(magic.size(), "magic"));
  if (std::memcmp(found.data(), magic.data(), magic.size()) != 0) {
    return malformed(0, "linker's cache has another format");
  }
  GANTRY_TRY(const std::uint32_t count, in.read_u32("library count"));
  GANTRY_CHECK(in.skip(24, "header"));
  const std::string_view all = as_text(bytes);
  const auto text_at = [&](std::uint32_t offset) {
    const std::string_view rest = all.substr(std::min<std::size_t>(offset, all.size()));
    return rest.substr(0, rest.find('\0'));
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::uint32_t flags, in.read_u32("flags"));
    GANTRY_TRY(const std::uint32_t soname, in.read_u32("soname"));
    GANTRY_TRY(const std::uint32_t path, in.read_u32("path"));
    GANTRY_CHECK(in.skip(12, "hardware"));
    if (flags == wanted_flags) visit(text_at(soname), text_at(path));
  }
  return {};
}

// True for /usr/lib, /lib64, /usr/lib/x86_64-linux-gnu, ...: the linker's list does not mark the
// entries of LD_LIBRARY_PATH, because glibc leaves Dl_serpath::dls_flags 0.
bool is_default_directory(std::string_view name) {
  if (name.starts_with("/usr/")) name.remove_prefix(4);
  if (!name.starts_with("/lib")) return false;
  name.remove_prefix(name.starts_with("/lib64") ? 6 : 4);
  return name.empty() || (name.ends_with("-linux-gnu") && name.rfind('/') == 0);
}

// Returns the directories of LD_LIBRARY_PATH as of the start of the process unless only the
// defaults are requested, then the default directories. Both come from the linker, not from the
// environment.
std::vector<std::string> linker_directories(bool only_defaults) {
  std::vector<std::string> directories;
  void* self = dlopen(nullptr, RTLD_LAZY);
  if (!self) return directories;
  Dl_serinfo size{};
  if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const auto bytes =
        std::make_unique<std::max_align_t[]>(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* list = reinterpret_cast<Dl_serinfo*>(bytes.get());
    list->dls_size = size.dls_size;
    list->dls_cnt = size.dls_cnt;
    if (dlinfo(self, RTLD_DI_SERINFO, list) == 0) {
      for (unsigned i = 0; i < list->dls_cnt; ++i) {
        const std::string_view name = list->dls_serpath[i].dls_name;
        if (!only_defaults || is_default_directory(name)) directories.emplace_back(name);
      }
    }
  }
  dlclose(self);
  return directories;
}

// Returns the path of a library that is in the process. Loads nothing.
std::optional<std::string> find_loaded(const std::string& soname) {
  void* handle = dlopen(soname.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) {
    dlerror();
    return std::nullopt;
  }
  std::string path;
  if (const link_map* map = link_map_of(handle); map && map->l_name) path = map->l_name;
  dlclose(handle);
  return path;
}

// True if the linker accepts the file; it skips files of another class or machine.
bool is_library(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto file = MappedFile::open(path);
  if (!file.ok()) return false;
  const auto bytes = (*file)->bytes();
  const auto machine = static_cast<std::uint16_t>(host_machine());
  return bytes.size() > 20 && has_elf_magic(bytes) && bytes[4] == 2 && bytes[5] == 1 &&
         std::memcmp(bytes.data() + 18, &machine, sizeof machine) == 0;
}

std::string stem_of(std::string_view soname) {
  const std::size_t at = soname.find(".so");
  return std::string(at == std::string_view::npos ? soname : soname.substr(0, at + 3));
}

// Calls visit(written, directory) for each directory of DT_RUNPATH, or else of DT_RPATH.
template <class Visit>
void each_in_search_path(const ElfFile& library, const std::string& path, Visit&& visit) {
  std::string_view list = library.runpath().empty() ? library.rpath() : library.runpath();
  const std::string origin = fs::path(path).parent_path().string();
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    std::string written(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
    std::string plain = replace_text(replace_text(written, "${ORIGIN}", origin), "$ORIGIN", origin);
    // Directories relative to the working directory are not searched.
    if (plain.starts_with('/')) visit(std::move(written), std::move(plain));
  }
}

}  // namespace

std::vector<std::string> search_path_of(const ElfFile& library, const std::string& path) {
  std::vector<std::string> directories;
  each_in_search_path(library, path, [&](const std::string&, std::string directory) {
    directories.push_back(std::move(directory));
  });
  return directories;
}

Linker::Linker(Search search)
    : search_(search), directories_(linker_directories(search == Search::installed)) {
  if (auto file = MappedFile::open(fs::path(kCacheFile)); file.ok()) cache_ = std::move(*file);
}

template <class Visit>
void Linker::each_cached(Visit&& visit) const {
  // A cache in another format is ignored.
  if (cache_) static_cast<void>(walk_cache(cache_->bytes(), visit).ok());
}

std::vector<Linker::Location> Linker::locations_of(const ElfFile* wanted_by,
                                                   const std::string& wanted_by_path,
                                                   bool before_cache) const {
  std::vector<Location> locations;
  if (!before_cache) {
    for (const std::string& directory : directories_) locations.push_back({directory, directory});
    return locations;
  }
  if (!wanted_by) return locations;
  each_in_search_path(*wanted_by, wanted_by_path, [&](std::string written, std::string plain) {
    std::string shown = plain == written ? plain : concat(written, "=", plain);
    locations.push_back({std::move(shown), std::move(plain)});
  });
  return locations;
}

std::optional<std::string> Linker::search(std::string_view soname, const ElfFile* wanted_by,
                                          const std::string& wanted_by_path) const {
  if (soname.find('/') != std::string_view::npos) {
    return is_library(soname) ? std::optional<std::string>(soname) : std::nullopt;
  }
  if (search_ == Search::process) {
    if (auto loaded = find_loaded(std::string(soname))) return loaded;
  }
  for (const Location& location : locations_of(wanted_by, wanted_by_path, true)) {
    if (const fs::path path = fs::path(location.directory) / soname; is_library(path))
      return path.string();
  }
  std::vector<std::string> cached;
  each_cached([&](std::string_view name, std::string_view path) {
    if (name == soname) cached.emplace_back(path);
  });
  for (std::string& path : cached) {
    if (is_library(path)) return std::move(path);
  }
  for (const Location& location : locations_of(nullptr, "", false)) {
    if (const fs::path path = fs::path(location.directory) / soname; is_library(path))
      return path.string();
  }
  return std::nullopt;
}

std::optional<std::string> Linker::find(std::string_view soname, const ElfFile& wanted_by,
                                        const std::string& wanted_by_path) const {
  return search(soname, &wanted_by, wanted_by_path);
}
std::optional<std::string> Linker::find(std::string_view soname) const {
  return search(soname, nullptr, "");
}

std::string Linker::describe_search(std::string_view soname, const ElfFile* wanted_by,
                                    const std::string& wanted_by_path) const {
  std::vector<Location> locations = locations_of(wanted_by, wanted_by_path, true);
  locations.push_back({"the linker's cache", ""});
  for (Location& location : locations_of(nullptr, "", false))
    locations.push_back(std::move(location));

  const std::string stem = stem_of(soname);
  std::set<std::string> near;
  each_cached([&](std::string_view name, std::string_view) {
    if (name != soname && name.starts_with(stem)) near.emplace(name);
  });
  std::string text = "searched";
  std::set<std::string> listed;
  for (const Location& location : locations) {
    if (!listed.insert(location.shown).second) continue;
    text += concat(listed.size() == 1 ? " " : ", ", location.shown);
    std::error_code failed;
    for (const std::string& name : names_in(location.directory, failed)) {
      if (name != soname && name.starts_with(stem)) near.insert(name);
    }
  }
  return near.empty() ? text : concat(text, "; found ", join(near), " there");
}

}  // namespace gantry
