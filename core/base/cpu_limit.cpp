// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_limit.hpp"

#include "core/base/text.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace gantry {
namespace {

// More than the kernel writes to one of the files.
constexpr std::size_t max_bytes = 16 * 1024;

// Reads a file of the kernel, which states no size. Empty if it cannot be read.
std::string read_kernel_file(const std::filesystem::path& path) {
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

// The path of the group in the hierarchy of version 2, "0::/system.slice/x"; empty if the process is
// in none, or outside of the part that it sees.
std::string_view group_of(std::string_view groups) {
  constexpr std::string_view label = "0::/";
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    if (line.starts_with(label)) {
      const std::string_view path = line.substr(label.size() - 1);
      return path.find("/..") == std::string_view::npos ? path : std::string_view("/");
    }
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
  }
  return {};
}

// Reads "200000 100000", microseconds in each period, or "max 100000".
std::optional<std::int32_t> limit_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto quota = parse_number<std::int64_t>(line.substr(0, blank));
  const auto period = parse_number<std::int64_t>(line.substr(blank + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(*quota / *period, 1, INT32_MAX));
}

}  // namespace

std::optional<std::int32_t> cpu_limit(const std::filesystem::path& root, std::string_view groups) {
  const std::string_view group = group_of(groups);
  if (group.empty()) return std::nullopt;
  std::optional<std::int32_t> strictest;
  // The group itself, and every group that contains it.
  for (std::string path(group);; path.resize(path.rfind('/'))) {
    while (path.ends_with('/')) path.pop_back();
    const auto limit =
        limit_of(read_kernel_file(root / path.substr(path.empty() ? 0 : 1) / "cpu.max"));
    if (limit && (!strictest || *limit < *strictest)) strictest = limit;
    if (path.empty()) return strictest;
  }
}

std::optional<std::int32_t> cpu_limit() {
  return cpu_limit("/sys/fs/cgroup", read_kernel_file("/proc/self/cgroup"));
}

}  // namespace gantry
