// SPDX-License-Identifier: Apache-2.0
//
// The cached verdict of a probe, and what it depends on.
#pragma once

#include "core/plugins/probe/probe_end.hpp"
#include "core/plugins/probe/probe_files.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

struct ProbeEntry {
  // of the core, the kernel, the plugin's options and the environment
  std::string host;
  // of the start of the system
  std::string boot;
  std::vector<ProbedFile> files;
  ProbeEnd end;
  // harmful ends since the last change of the above
  std::uint32_t strikes = 0;
  // when the probe ended, in seconds since 1970
  std::int64_t time_s = 0;
};

// Harmful ends after which a plugin is not probed again.
constexpr std::uint32_t kMaxStrikes = 3;

// How long a harmful verdict is valid after that number of strikes; nullopt: until something of its
// key changes.
constexpr std::optional<std::int64_t> lifetime_s(std::uint32_t strikes) {
  if (strikes >= kMaxStrikes) return std::nullopt;
  return strikes == 2 ? 300 : 60;
}

std::string to_bytes(const ProbeEntry& entry);
// returns  malformed; the bytes may be any
Result<ProbeEntry> read_probe_entry(std::span<const std::uint8_t> bytes);

}  // namespace gantry
