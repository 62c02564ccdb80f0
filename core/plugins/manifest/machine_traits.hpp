// SPDX-License-Identifier: Apache-2.0
//
// Properties of the host, in the terms of a manifest's `targets`.
#pragma once

#include "core/plugins/manifest/manifest.hpp"

#include <string>
#include <vector>

namespace gantry {

struct MachineTraits {
  // "x86_64", "aarch64"
  std::string arch;
  // "linux"
  std::string os;
  // "glibc", "2.36"
  std::string libc_name, libc_version;
  // supported levels, lowest first
  std::vector<std::string> isa;
};

// Returns the properties of this host.
//
// costs    executes cpuid
MachineTraits host_traits();

// Checks that the host is one of a plugin's targets.
//
// returns  unsupported with reason TARGET or ISA, naming the targets and the host
Status check_targets(const ManifestTargets& targets, const MachineTraits& host);

// Compares dotted numbers: "2.4" is less than "2.36". A part that is not a number is 0.
bool version_less(std::string_view a, std::string_view b);

}  // namespace gantry
