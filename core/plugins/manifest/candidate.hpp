// SPDX-License-Identifier: Apache-2.0
//
// A manifest that was found, the last state that it reached, and the reason why it stopped there.
#pragma once

#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/reason.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

// The states from a file to a plugin in use, in order.
enum class CandidateState {
  // the file exists
  found,
  // its manifest is valid
  parsed,
  // its files may be used on this host (core/plugins/trust/trust.hpp)
  trusted,
  // it is enabled, not filtered, not shadowed, and its targets match this host
  eligible,
  // its library passed the inspection (core/plugins/choice/inspect.hpp); no code of it has run
  inspected,
  // it was opened in a child process; reached only if its manifest requires that
  probed,
  // its library is open; its constructors have run
  loaded,
  // its table is copied and checked
  negotiated,
  // the plugin is created
  active,
};
std::string_view name_of(CandidateState state);

// A passed probe of a plugin.
struct ProbeNote {
  std::uint32_t elapsed_ms = 0;
  // since the probe; nullopt: it was not cached
  std::optional<std::uint64_t> age_s;
};

struct Candidate {
  // path of the manifest; "(program)" for a table that the program passed
  std::string file;
  // file name of the manifest
  std::string name;
  int tier = 1;
  // index into SearchResult::locations; a lower one has precedence
  std::size_t location = 0;
  std::string location_name;
  // set from `parsed` on
  std::optional<Manifest> manifest;
  std::vector<std::string> drop_ins;
  CandidateState state = CandidateState::found;
  std::optional<ProbeNote> probe;
  // why this host does not trust its files, also if it stopped for another reason; number 0: it
  // does, or the manifest is not parsed
  Reason distrust;
  // why it stopped at `state`; number 0: it did not
  Reason reason;
  // one sentence, followed by lines of context
  Message text;

  bool stopped() const { return static_cast<bool>(reason); }
  void stop(const Reason& why, Message sentence) {
    reason = why;
    text = std::move(sentence);
  }
  // "acme.npu 2.3.1", or the file if the manifest is not parsed.
  std::string title() const {
    return manifest ? concat(manifest->id, " ", manifest->version.text) : file;
  }
};

}  // namespace gantry
