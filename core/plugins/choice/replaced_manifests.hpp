// SPDX-License-Identifier: Apache-2.0
//
// What a host would offer if GANTRY_PLUGIN_FILES did not replace its other locations, for the error
// of a requirement that nothing serves.
#pragma once

#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/search_path.hpp"

#include <optional>
#include <vector>

namespace gantry {

class ReplacedManifests {
 public:
  // locations  [in]  of the search; must outlive this object
  explicit ReplacedManifests(const std::vector<SearchLocation>& locations)
      : locations_(locations) {}

  // The readable manifests of locations that a variable replaces, highest precedence first.
  //
  // costs    the first call reads at most 256 manifests
  const std::vector<Manifest>& all();

 private:
  const std::vector<SearchLocation>& locations_;
  std::optional<std::vector<Manifest>> read_;
};

}  // namespace gantry
