// SPDX-License-Identifier: Apache-2.0
#include "core/formats/archive/tar_files.hpp"

#include <gantry/quoted.hpp>

#include <utility>

namespace gantry {
namespace {

// Removes empty components and ".".
Result<std::string> relative_name(const ArchiveMember& member, const TarLimits& limits) {
  const std::string_view name = member.name;
  if (name.size() > limits.name_bytes) {
    return malformed(member.at, "member name has ", name.size(), " bytes, limit is ",
                     limits.name_bytes);
  }
  if (name.starts_with('/')) {
    return malformed(member.at, "member ", quoted(name), " is absolute, expected a relative name");
  }
  if (name.find('\0') != name.npos) {
    return malformed(member.at, "member ", quoted(name), " has a NUL in its name");
  }
  std::string relative;
  for (std::size_t at = 0; at < name.size();) {
    const std::string_view component = name.substr(at, name.find('/', at) - at);
    at += component.size() + 1;
    if (component == "..") {
      return malformed(member.at, "member ", quoted(name), " leaves the archive by \"..\"");
    }
    if (component.empty() || component == ".") continue;
    if (!relative.empty()) relative += '/';
    relative += component;
  }
  if (relative.empty() || name.ends_with('/')) {
    return malformed(member.at, "member ", quoted(name), " is a file without a file name");
  }
  return relative;
}

}  // namespace

Result<TarFiles> TarFiles::read(std::span<const std::uint8_t> bytes, const TarLimits& limits) {
  GANTRY_TRY(std::vector<ArchiveMember> members, read_tar_members(bytes, limits.members));
  TarFiles result;
  for (ArchiveMember& member : members) {
    GANTRY_TRY(std::string name, relative_name(member, limits));
    if (!member.special.empty()) {
      return malformed(member.at, "member ", quoted(name), " is a ", member.special,
                       ", expected regular files and directories");
    }
    const std::uint64_t at = member.at;
    member.name = name;
    if (!result.files_.try_emplace(std::move(name), std::move(member)).second) {
      return malformed(at, "member ", quoted(member.name), " occurs twice");
    }
  }
  return result;
}

bool TarFiles::contain(std::span<const std::uint8_t> bytes, std::string_view name,
                       const TarLimits& limits) {
  bool is_found = false;
  std::uint64_t left = limits.members;
  const auto is_other = [&](const ArchiveMember& member) -> Result<bool> {
    if (left-- == 0) return false;
    const auto relative = relative_name(member, limits);
    is_found = relative.ok() && *relative == name;
    return !is_found;
  };
  return visit_tar_members(bytes, is_other).ok() && is_found;
}

const ArchiveMember* TarFiles::find(std::string_view name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> TarFiles::names_below(std::string_view prefix) const {
  std::vector<std::string_view> names;
  for (auto at = files_.lower_bound(prefix); at != files_.end() && at->first.starts_with(prefix);
       ++at) {
    names.push_back(at->first);
  }
  return names;
}

bool TarFiles::has_below(std::string_view prefix) const {
  const auto at = files_.lower_bound(prefix);
  return at != files_.end() && at->first.starts_with(prefix);
}

}  // namespace gantry
