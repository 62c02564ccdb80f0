// SPDX-License-Identifier: Apache-2.0
#include "core/base/find_program.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace gantry {
namespace {

bool is_program(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// An empty directory is the working directory.
std::vector<std::filesystem::path> directories_of(const std::string& path) {
  std::vector<std::filesystem::path> directories;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    directories.emplace_back(end == at ? "." : path.substr(at, end - at));
    at = end + 1;
  }
  return directories;
}

Result<std::filesystem::path> absolute_path(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed);
  if (!failed) return whole;
  return unavailable("program ", quoted(path.native()),
                     ": the working directory cannot be determined: ", failed.message())
      .native("errno", failed.value());
}

}  // namespace

Result<std::filesystem::path> find_program(const std::string& name, const ProgramSearch& search) {
  if (name.find('/') != std::string::npos) return absolute_path(name);
  for (const std::filesystem::path& directory : directories_of(search.path)) {
    const std::filesystem::path program = directory / name;
    if (!is_program(program)) continue;
    if (directory.is_absolute() || search.allow_relative) return absolute_path(program);
    return unavailable("program ", quoted(name), " is in the relative directory ",
                       quoted(directory.native()),
                       " of PATH, which this secure process does not use; make it absolute")
        .with_reason("SECURE");
  }
  return unavailable("program ", quoted(name),
                     " cannot be started: ", std::generic_category().message(ENOENT))
      .native("errno", ENOENT);
}

std::string absolute_search_path(const ProgramSearch& search) {
  std::vector<std::string> directories;
  for (const std::filesystem::path& directory : directories_of(search.path)) {
    if (!directory.is_absolute() && !search.allow_relative) continue;
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(directory, failed);
    if (!failed) directories.push_back(whole.native());
  }
  return join(directories, ":");
}

}  // namespace gantry
