// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/compatible.hpp"

#include "core/base/reason.hpp"

#include <algorithm>

namespace gantry {

std::string describe(const gantry_abi_range& range) {
  const std::string low = concat(range.major, ".", range.min_minor);
  return range.min_minor == range.max_minor ? low
                                            : concat(low, "-", range.major, ".", range.max_minor);
}

bool overlap(const gantry_abi_range& a, const gantry_abi_range& b) {
  return a.major == b.major &&
         std::min(a.max_minor, b.max_minor) >= std::max(a.min_minor, b.min_minor);
}

Result<std::uint32_t> negotiate(const PluginName& plugin, const gantry_abi_range& theirs,
                                const gantry_abi_range& ours) {
  if (overlap(theirs, ours)) return std::min(theirs.max_minor, ours.max_minor);

  const bool newer =
      theirs.major != ours.major ? theirs.major > ours.major : theirs.min_minor > ours.max_minor;
  const std::string advice =
      newer ? concat("the plugin is newer, update the core to one with ABI ", theirs.major, ".",
                     theirs.min_minor, " or install an older ", plugin.id)
            : concat("the plugin is older, install a newer ", plugin.id, " or use a core with ABI ",
                     theirs.major, ".", theirs.max_minor);
  return unsupported("plugin ", plugin.id, " ", plugin.version, " supports ABI ", describe(theirs),
                     ", this core supports ", describe(ours), ": ", advice)
      .with_reason(reason::abi_range.tag);
}

}  // namespace gantry
