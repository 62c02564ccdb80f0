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
  found,       // a file of that name
  parsed,      // its manifest is right
  eligible,    // enabled, not filtered, not shadowed, made for this kind of host
  inspected,   // its library and what that needs are there and right; no code of it has run
  loaded,      // opened; its constructors have run
  negotiated,  // its table is copied and checked
  active,      // created
};
std::string_view name_of(CandidateState state);

struct Candidate {
  std::string file;  // manifest; "(program)" for a table that the program gave
  std::string name;  // file name
  int tier = 1;
  std::size_t place = 0;  // precedence: lower comes first
  std::string place_name;
  std::optional<Manifest> manifest;  // from `parsed` on
  std::vector<std::string> drop_ins;
  CandidateState state = CandidateState::found;
  bool was_eligible = false;  // when it was decided; opening it may have failed since
  Reason reason;              // why it stopped there; number 0: it did not
  std::string text;           // one sentence, then lines of place

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
