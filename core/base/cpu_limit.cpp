// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_limit.hpp"

#include "core/base/text.hpp"

#include <gantry/concat.hpp>
#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace gantry {
namespace {

// More than the kernel writes to one of the files.
constexpr std::size_t max_bytes = 16 * 1024;

// Reads a file of the kernel, which states no size. Empty if it cannot be read.
std::string read_kernel_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[1024];
  while (file && text.size() < max_bytes) {
    const ssize_t size = ::read(file.get(), part, sizeof part);
    if (size <= 0) break;
    text.append(part, static_cast<std::size_t>(size));
  }
  return text;
}

// A group of this process, and how its limit is stored.
struct Group {
  // Of its hierarchy. Not a path: that of GCC 12 frees wrong memory if it cannot grow.
  std::string root;
  // "/system.slice/x"
  std::string_view path;
  bool is_version1 = false;
};

bool has_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == "cpu") return true;
    controllers.remove_prefix(std::min(one.size() + 1, controllers.size()));
  }
  return false;
}

// Reads a line: "0::/system.slice/x" of version 2, "4:cpu,cpuacct:/system.slice/x" of version 1;
// nullopt for one that does not limit the time.
std::optional<Group> group_in(std::string_view line, const std::string& root) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  if (second == line.npos || !line.substr(second + 1).starts_with('/')) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  Group group{root, line.substr(second + 1)};
  // A group outside of the part that the process sees.
  if (group.path.find("/..") != line.npos) group.path = "/";
  if (controllers.empty()) return group;
  if (!has_cpu(controllers)) return std::nullopt;
  group.is_version1 = true;
  // Distributions also link the names of single controllers.
  std::error_code failed;
  group.root = concat(root, "/", controllers);
  if (!std::filesystem::exists(group.root, failed)) group.root = concat(root, "/cpu");
  return group;
}

std::optional<std::int32_t> limit_of(std::string_view quota, std::string_view period) {
  const auto quota_us = parse_number<std::int64_t>(quota);
  const auto period_us = parse_number<std::int64_t>(period);
  // "max" and -1 state that there is no limit.
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(*quota_us / *period_us, 1, INT32_MAX));
}

std::optional<std::int32_t> limit_in(const std::string& directory, bool is_version1) {
  if (is_version1) {
    return limit_of(first_line(read_kernel_file(directory + "/cpu.cfs_quota_us")),
                    first_line(read_kernel_file(directory + "/cpu.cfs_period_us")));
  }
  // "200000 100000", microseconds in each period
  const std::string line = first_line(read_kernel_file(directory + "/cpu.max"));
  const std::size_t blank = std::min(line.find(' '), line.size());
  return limit_of(std::string_view(line).substr(0, blank),
                  std::string_view(line).substr(std::min(blank + 1, line.size())));
}

}  // namespace

std::optional<std::int32_t> cpu_limit(const std::filesystem::path& root, std::string_view groups) {
  std::optional<std::int32_t> strictest;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const auto group = group_in(line, root.native());
    if (!group) continue;
    // The group itself, and every group that contains it.
    for (std::string path(group->path);; path.resize(path.rfind('/'))) {
      while (path.ends_with('/')) path.pop_back();
      const auto limit = limit_in(group->root + path, group->is_version1);
      if (limit && (!strictest || *limit < *strictest)) strictest = limit;
      if (path.empty()) break;
    }
  }
  return strictest;
}

std::optional<std::int32_t> cpu_limit() {
  return cpu_limit("/sys/fs/cgroup", read_kernel_file("/proc/self/cgroup"));
}

}  // namespace gantry
