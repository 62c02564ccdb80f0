// SPDX-License-Identifier: Apache-2.0
//
// What kind of host this is, in the words of a manifest's `targets`.
#pragma once

#include "core/manifest/manifest.hpp"

#include <string>
#include <vector>

namespace gantry {

struct HostTraits {
  // "x86_64", "aarch64"
  std::string arch;
  // "linux"
  std::string os;
  // "glibc", "2.36"
  std::string libc_name, libc_version;
  // levels that it has, lowest first
  std::vector<std::string> isa;
};

// This host. costs cpuid, once for each call
HostTraits host_traits();

// returns  unsupported, reason TARGET or ISA: what the plugin is made for and what this host is
Status check_targets(const ManifestTargets& targets, const HostTraits& host);

// Dotted numbers, "2.4" before "2.36"; a part that is no number counts as 0.
bool version_less(std::string_view a, std::string_view b);

}  // namespace gantry
