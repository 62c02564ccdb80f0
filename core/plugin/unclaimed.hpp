// SPDX-License-Identifier: Apache-2.0
//
// Libraries of plugins that no manifest names: an installation that is not complete.
#pragma once

#include "core/manifest/candidate.hpp"
#include "core/manifest/search_path.hpp"

#include <string>
#include <vector>

namespace gantry {

struct UnclaimedLibrary {
  std::string path;
  // of its note
  std::string id, version;
};

// Lists the libraries with a note (gantry/note.h) in the searched directories and in the directories
// in them, by path. Libraries beside a manifest that cannot be read are omitted, because that
// manifest may name them.
//
// costs    maps each file whose name contains ".so"; for reports only
std::vector<UnclaimedLibrary> unclaimed_libraries(const std::vector<SearchLocation>& locations,
                                                  const std::vector<Candidate>& candidates);

}  // namespace gantry
