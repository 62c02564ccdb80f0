// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/replaced_manifests.hpp"

#include <utility>

namespace gantry {

const std::vector<Manifest>& ReplacedManifests::all() {
  if (read_) return *read_;
  constexpr std::size_t max = 256;
  std::vector<Manifest>& manifests = read_.emplace();
  for (const SearchLocation& location : locations_) {
    if (location.replaced_by.empty()) continue;
    for (const std::string& file : location.files) {
      if (manifests.size() == max) return manifests;
      if (auto manifest = open_manifest(file); manifest.ok())
        manifests.push_back(*std::move(manifest));
    }
  }
  return manifests;
}

}  // namespace gantry
