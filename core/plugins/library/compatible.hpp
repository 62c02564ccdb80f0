// SPDX-License-Identifier: Apache-2.0
//
// Negotiation of the ABI's minor version: the highest one in the ranges of both sides.
#pragma once

#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

struct PluginName {
  std::string_view id, version;
};

// Returns the minor that is passed to the plugin as host->abi_minor: the lower of the two maxima,
// which must not be below either minimum.
//
// returns  unsupported, reason ABI_RANGE: "plugin acme.npu 2.3.1 supports ABI 1.4-1.6, this core
//          supports 1.0-1.3: the plugin is newer, update the core to one with ABI 1.4 or install an
//          older acme.npu"
Result<std::uint32_t> negotiate(const PluginName& plugin, const gantry_abi_range& theirs,
                                const gantry_abi_range& ours);

// True if there is a minor that both ranges contain.
bool overlap(const gantry_abi_range& a, const gantry_abi_range& b);

// "1.0-1.3", or "1.0" if both ends are equal.
std::string describe(const gantry_abi_range& range);

}  // namespace gantry
