// SPDX-License-Identifier: Apache-2.0
//
// From files found to candidates: every manifest is parsed, then names, ids and filters decide
// which ones count.
//
//     found -> read -> parsed, drop-ins applied -> filtered -> merged by id
//
// Nothing is dropped: a candidate that loses keeps its position in the list, with the reason. No
// library is opened.
#pragma once

#include "core/manifest/candidate.hpp"
#include "core/manifest/filter.hpp"
#include "core/manifest/search_path.hpp"

#include <string>
#include <vector>

namespace gantry {

struct MergeResult {
  // in order of precedence
  std::vector<Candidate> candidates;
  // of the search, of the manifests in order of precedence, of drop-ins, of filters
  std::vector<std::string> warnings;
};

// Decides about each candidate, in this order:
//
//   1  an empty file or a link to /dev/null masks files of its name in lower locations (MASKED)
//   2  a file replaces files of its name in lower locations (REPLACED_BY)
//   3  the manifest is parsed and its drop-ins are applied (D15x, D16x)
//   4  enabled: false (DISABLED), then the filters in order (FILTERED)
//   5  the host matches the manifest's targets (TARGET, ISA)
//   6  of one id, the higher tier wins, within one tier the higher version (SHADOWED_BY;
//      DUPLICATE_OF where both name the same library file)
//
// A manifest that is malformed stops its own candidate and no other.
//
// costs    reads each manifest, parses each that is neither masked nor replaced: about 60 us each
MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters);

}  // namespace gantry
