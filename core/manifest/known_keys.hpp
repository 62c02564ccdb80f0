// SPDX-License-Identifier: Apache-2.0
//
// Type keys that compilers write, and which plugin of this project serves each: what "not found" can advise.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct KnownKey {
  std::string_view key;
  // id, "gantry.cuda"; empty: none of this version's plugins serves it
  std::string_view plugin;
  // the name that newer compilers write for the same thing; empty: none
  std::string_view renamed;
  // "CUDA kernels"
  std::string_view what;
};
std::span<const KnownKey> known_keys();
// NULL for keys of vendors.
const KnownKey* find_known_key(std::string_view key);

// Keys that `key` was most likely meant to be, or is called elsewhere: renamed ones first, then near in spelling;
// never `key` itself.
std::vector<std::string> near_keys(std::string_view key, const std::vector<std::string>& served);

}  // namespace gantry
