// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/machine_traits.hpp"

#include "core/base/reason.hpp"
#include "core/base/x86_levels.hpp"

#include <gantry/join.hpp>

#include <gnu/libc-version.h>
#include <algorithm>
#include <charconv>

namespace gantry {
namespace {

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// "glibc>=2.28", "glibc"
bool libc_fits(std::string_view target, const MachineTraits& host) {
  const std::size_t at = target.find(">=");
  if (target.substr(0, at) != host.libc_name) return false;
  return at == std::string_view::npos || !version_less(host.libc_version, target.substr(at + 2));
}

// Removes the first number and the dot after it from `text`, and returns the number.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::from_chars(text.data(), text.data() + dot, number);
  text.remove_prefix(std::min(dot + 1, text.size()));
  return number;
}

}  // namespace

MachineTraits host_traits() {
  MachineTraits host;
  host.os = "linux";
  host.libc_name = "glibc";
  host.libc_version = gnu_get_libc_version();
#if defined(__x86_64__)
  host.arch = "x86_64";
  host.isa = x86_level_names(host_x86_levels());
#elif defined(__aarch64__)
  host.arch = "aarch64";
  host.isa = {"armv8-a"};
#endif
  return host;
}

Status check_targets(const ManifestTargets& targets, const MachineTraits& host) {
  if (!targets.arch.empty() && !contains(targets.arch, host.arch)) {
    return unsupported("plugin targets ", join(targets.arch), ", this host is ", host.arch)
        .with_reason(reason::target.tag);
  }
  if (!targets.os.empty() && !contains(targets.os, host.os)) {
    return unsupported("plugin targets ", join(targets.os), ", this host is ", host.os)
        .with_reason(reason::target.tag);
  }
  const auto fits = [&](const std::string& target) { return libc_fits(target, host); };
  if (!targets.libc.empty() && std::none_of(targets.libc.begin(), targets.libc.end(), fits)) {
    return unsupported("plugin targets ", join(targets.libc), ", this host has ", host.libc_name,
                       " ", host.libc_version)
        .with_reason(reason::target.tag);
  }
  if (!targets.isa.empty() && !contains(host.isa, targets.isa)) {
    return unsupported("plugin requires CPU level ", targets.isa, ", this host supports ",
                       join(host.isa))
        .with_reason(reason::isa.tag);
  }
  return {};
}

bool version_less(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::uint64_t left = take_number(a), right = take_number(b);
    if (left != right) return left < right;
  }
  return false;
}

}  // namespace gantry
