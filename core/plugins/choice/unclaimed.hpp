// SPDX-License-Identifier: Apache-2.0
//
// Libraries of plugins that no manifest names: an installation that is not complete.
#pragma once

#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/manifest/search_path.hpp"

#include <string>
#include <vector>

namespace gantry {

struct UnclaimedLibrary {
  std::string path;
  // of its note
  std::string id, version;
};

// Returns the directories in which packages install libraries, <id>/lib<name>.so, apart from the
// manifests: "/usr/lib/x86_64-linux-gnu/gantry/plugins.d" and others.
std::vector<std::string> package_library_directories();

// Lists the libraries with a note (gantry/note.h) in the searched directories and in the
// directories in them, by path, then those of packages. Libraries beside a manifest that is not
// parsed are omitted, because that manifest may name them; so are those of packages in the
// directory of its id, and all of them if the manifests of packages are not searched.
//
// packages [in]   see package_library_directories()
// costs    maps each file whose name contains ".so"; for reports only
std::vector<UnclaimedLibrary> unclaimed_libraries(const std::vector<SearchLocation>& locations,
                                                  const std::vector<Candidate>& candidates,
                                                  const std::vector<std::string>& packages);

}  // namespace gantry
