// SPDX-License-Identifier: Apache-2.0
//
// From files found to candidates: names replace and mask, drop-ins change, filters and ids decide which stay.
//
//     found -> read, all of them -> parsed and decided, as far as somebody asks for a word
//
// Nothing is dropped: whatever loses keeps its place in the list with the reason. No library is opened.
//
// Parsing takes nearly all of the time, and a manifest that does not hold a word in its text cannot offer it. So who
// wants one type key has those parsed that can, and those that can be of the same id: all others have no part in it.
#pragma once

#include "core/manifest/candidate.hpp"
#include "core/manifest/filter.hpp"
#include "core/manifest/search_path.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Decides about each candidate, in this order:
//
//   1  an empty file or a link to /dev/null masks files of its name in places below (MASKED)
//   2  a file replaces files of its name in places below (REPLACED_BY)
//   3  the manifest is read, then its drop-ins (D15x, D16x)
//   4  enabled: false (DISABLED), then filters in order (FILTERED)
//   5  made for this host (TARGET, ISA)
//   6  of one id, the higher place wins, within one tier the higher version (SHADOWED_BY; DUPLICATE_OF where both name
//      the same library file)
class Merge {
 public:
  // Where there are filters, everything is decided at once: only all ids tell whether one matches nothing.
  //
  // costs    reads each manifest and drop-in that counts
  Merge(const SearchResult& found, const std::vector<PluginFilter>& filters);

  // In order of precedence; never more or fewer. One that is not decided yet stands as found, without a manifest and
  // without a reason; one that is decided belongs to the caller and is not looked at again but for its warnings.
  std::vector<Candidate>& candidates() { return candidates_; }
  // What search and filters said, drop-ins for nobody, and the manifests' own as far as they are parsed.
  std::vector<std::string> warnings() const;

  // Decides about every candidate whose manifest or drop-ins can say `word`, as id, key, device or anything else, and
  // about every one that can be of the same id as one of those.
  //
  // returns  who was decided now, in order; they stay so
  // costs    a search for the word, and for the ids met, in all texts; parses the manifests that hold one; stats the
  //          libraries of equal ids
  std::vector<std::size_t> decide(std::string_view word);
  std::vector<std::size_t> decide_all();
  bool all_decided() const { return undecided_ == 0; }

 private:
  struct DropIn {
    std::string file;
    Result<std::string> text;
  };
  // What a candidate is decided from.
  struct Source {
    std::string text;
    // in the order they are applied
    std::vector<DropIn> drop_ins;

    bool can_say(std::string_view word) const;
  };
  // holds all that can be of its ids
  using Batch = std::map<std::size_t, Candidate>;

  void find_candidates(const SearchResult& found);
  void find_drop_ins(const SearchResult& found);
  Candidate parsed(std::size_t index) const;
  std::vector<std::size_t> settle(Batch batch);
  void apply_filters(Batch& batch) const;
  void warn_of_filters();

  std::vector<Candidate> candidates_;
  // of the candidates that are not decided
  std::vector<std::optional<Source>> sources_;
  std::size_t undecided_ = 0;
  std::vector<PluginFilter> filters_;
  std::vector<std::string> search_warnings_, drop_in_warnings_, filter_warnings_;
};

struct MergeResult {
  std::vector<Candidate> candidates;
  std::vector<std::string> warnings;
};

// Everything, decided.
MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters);

}  // namespace gantry
