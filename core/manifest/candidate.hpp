// SPDX-License-Identifier: Apache-2.0
//
// A manifest that was found, how far it came, and why no further.
#pragma once

#include "core/manifest/manifest.hpp"
#include "core/manifest/reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry {

// The way to a plugin in use. `trusted` and `probed` join it with the parts that decide them.
enum class CandidateState {
  // a file of that name
  found,
  // its manifest is right
  parsed,
  // enabled, not filtered, not shadowed, made for this kind of host
  eligible,
  // its library and what that needs are there and right; no code of it has run
  inspected,
  // opened; its constructors have run
  loaded,
  // its table is copied and checked
  negotiated,
  // created
  active,
};
std::string_view name_of(CandidateState state);

struct Candidate {
  // manifest; "(program)" for a table that the program gave
  std::string file;
  // file name
  std::string name;
  int tier = 1;
  // precedence: lower comes first
  std::size_t location = 0;
  std::string location_name;
  // from `parsed` on
  std::optional<Manifest> manifest;
  std::vector<std::string> drop_ins;
  CandidateState state = CandidateState::found;
  // when it was decided; opening it may have failed since
  bool was_eligible = false;
  // why it stopped there; number 0: it did not
  Reason reason;
  // one sentence, then lines of place
  std::string text;

  bool stopped() const { return static_cast<bool>(reason); }
  void stop(const Reason& why, std::string sentence) {
    reason = why;
    text = std::move(sentence);
  }
  // The manifest's title, or the file where there is none.
  std::string title() const {
    return manifest ? concat(manifest->id, " ", manifest->version.text) : file;
  }
};

}  // namespace gantry
