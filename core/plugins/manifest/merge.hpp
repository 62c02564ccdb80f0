// SPDX-License-Identifier: Apache-2.0
//
// Turns the manifests that were found into candidates, and selects among candidates of the same
// file name or id.
//
//     found -> read -> parsed, drop-ins applied -> filtered -> trusted -> merged by id
//
// A candidate that is not selected remains in the list, with the reason. No library is opened.
#pragma once

#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/manifest/filter.hpp"
#include "core/plugins/manifest/search_path.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Decide which files this host trusts; empty functions: all of them.
struct TrustChecks {
  // of a file that would mask or replace another one
  std::function<Status(const std::string& file)> file;
  // Of a parsed candidate, also one that is disabled or filtered. The text of its manifest is as it
  // was parsed; the function may add to the manifest.
  std::function<Status(Candidate& candidate, std::string_view text)> candidate;
};

// Decides whether the version of a candidate can be used beside what the process has opened.
using VersionCheck = std::function<Status(const Manifest& manifest)>;

struct MergeResult {
  // in order of precedence
  std::vector<Candidate> candidates;
  // from the search, the manifests in order of precedence, drop-ins and filters
  std::vector<Message> warnings;
};

// True if the glob matches the id or the file name of a candidate whose manifest is valid.
bool matches(const PluginFilter& filter, const Candidate& candidate);

// Processes the candidates in this order:
//
//   1  an empty file or a link to /dev/null masks files of its name in lower locations (MASKED)
//   2  a file replaces files of its name in lower locations (REPLACED_BY); a file that `checks`
//      refuse neither masks nor replaces
//   3  the manifest is parsed and its drop-ins are applied (D15x, D16x)
//   4  enabled: false (DISABLED), then the filters in order (FILTERED)
//   5  the host matches the manifest's targets (TARGET, ISA)
//   6  `checks` accept the candidate (the error is the reason)
//   7  of candidates with the same id, the highest tier is selected, within a tier the highest
//      version (SHADOWED_BY; DUPLICATE_OF if both have the same library file or digest)
//   8  if `beside` refuses a selected candidate (its error is the reason), the first shadowed one
//      of its id that `beside` accepts is selected instead; empty: all are accepted
//
// A malformed manifest stops only its own candidate.
//
// costs    reads each manifest and parses those that are neither masked nor replaced: about 60 us
//          each
MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters,
                          const TrustChecks& checks = {}, const VersionCheck& beside = {});

}  // namespace gantry
