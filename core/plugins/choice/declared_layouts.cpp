// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/declared_layouts.hpp"

#include <algorithm>

namespace gantry {
namespace {

// D25x and D26x: others may have written the manifest.
bool is_untrusted(const Reason& why) {
  return why.number >= reason::digest.number && why.number <= reason::lock_mismatch.number;
}

}  // namespace

void add_declared_layouts(std::span<const Candidate> candidates,
                          std::span<const std::string> served, PayloadLayouts& layouts) {
  for (const bool usable : {true, false}) {
    for (const Candidate& candidate : candidates) {
      if (!candidate.manifest || candidate.stopped() == usable) continue;
      if (is_untrusted(candidate.reason) || is_untrusted(candidate.distrust)) continue;
      for (const ManifestKey& key : candidate.manifest->keys) {
        if (!usable && std::binary_search(served.begin(), served.end(), key.key)) continue;
        if (key.payload && !layouts.contains(key.key)) layouts.add(key.key, *key.payload);
        if (!layouts.contains(key.key)) continue;
        for (const std::string& alias : key.aliases) {
          // cannot fail: the layout of the key is known
          if (!layouts.contains(alias)) (void)layouts.alias(alias, key.key);
        }
      }
    }
  }
}

}  // namespace gantry
