// SPDX-License-Identifier: Apache-2.0
//
// A manifest that was found, the state that it reached, and the reason why it reached no further
// one.
#pragma once

#include "core/manifest/manifest.hpp"
#include "core/manifest/reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry {

// From a file to a plugin in use. `trusted` and `probed` are added together with the components
// that decide them.
enum class CandidateState {
  // the file exists
  found,
  // its manifest is valid
  parsed,
  // enabled, not filtered, not shadowed, made for this kind of host
  eligible,
  // its library passed the inspection (core/plugin/inspect.hpp); none of its code has run
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
  // manifest; "(program)" for a table that the program passed
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
  // why it stopped there; number 0: it did not
  Reason reason;
  // one sentence, then lines of location
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
