// SPDX-License-Identifier: Apache-2.0
//
// Type keys that compilers write and the plugin of this project that serves each, for advice in "no
// plugin" errors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct KnownKey {
  std::string_view key;
  // plugin id, "gantry.cuda"; empty: no plugin of this version serves the key
  std::string_view plugin;
  // the key that other versions of compilers write for the same payload; empty: none
  std::string_view renamed;
  // description: "CUDA kernels"
  std::string_view what;
};
std::span<const KnownKey> known_keys();
// Returns NULL for other keys, for example those of vendors.
const KnownKey* find_known_key(std::string_view key);

// Returns the served keys that are other names of `key`, followed by those with a similar spelling;
// never `key` itself.
std::vector<std::string> near_keys(std::string_view key, const std::vector<std::string>& served);

}  // namespace gantry
