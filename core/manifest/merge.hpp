// SPDX-License-Identifier: Apache-2.0
//
// From files found to candidates: names replace and mask, drop-ins change, filters and ids decide which stay.
//
// Nothing is dropped: whatever loses keeps its place in the list with the reason. No library is opened.
#pragma once

#include "core/manifest/candidate.hpp"
#include "core/manifest/filter.hpp"
#include "core/manifest/search_path.hpp"

#include <string>
#include <vector>

namespace gantry {

struct MergeResult {
  std::vector<Candidate> candidates;  // in order of precedence
  std::vector<std::string>
      warnings;  // filters that match nothing, drop-ins for nobody, manifests' own
};

// Reads the manifests and decides about each, in this order:
//
//   1  an empty file or a link to /dev/null masks files of its name in places below (MASKED)
//   2  a file replaces files of its name in places below (REPLACED_BY)
//   3  the manifest is read, then its drop-ins (D15x, D16x)
//   4  enabled: false (DISABLED), then filters in order (FILTERED)
//   5  made for this host (TARGET, ISA)
//   6  of one id, the higher place wins, within one tier the higher version (SHADOWED_BY; DUPLICATE_OF where both name
//      the same library file)
//
// costs    reads each manifest once; stats the libraries of equal ids
MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters);

}  // namespace gantry
