// SPDX-License-Identifier: Apache-2.0
//
// A manifest that was found, the last step that it has passed, and the reason why it has not passed the
// next one. The steps: core/plugins/choice/steps.hpp.
#pragma once

#include "core/base/reason.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/tier.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

// The steps from a file to a plugin in use, in order.
enum class Step : std::uint8_t {
  // the file exists
  found,
  // no file of a higher location has its name
  named,
  // its manifest is valid
  read,
  // it is enabled, not filtered, and its targets match this host
  filtered,
  // its files may be used on this host (core/plugins/trust/trust.hpp)
  trusted,
  // no other candidate of its id takes precedence
  preferred,
  // its library passed the inspection (core/plugins/library/inspect.hpp); no code of it has run
  resolved,
  // it was opened in a child process; skipped if its manifest does not require that
  probed,
  // its library is open, its table copied and checked
  opened,
  // the plugin is created: it is in use
  created,
  // it is the first that serves what is requested
  chosen,
};

// A passed probe of a plugin.
struct ProbeNote {
  std::uint32_t elapsed_ms = 0;
  // since the probe; nullopt: it was not cached
  std::optional<std::uint64_t> age_s;
};

struct Candidate {
  // path of the manifest, as composed, not canonical; "(program)" for a table that the program passed
  std::string file;
  // file name of the manifest without an architecture, by which manifests replace and mask each other
  std::string name;
  Tier tier = Tier::program;
  // index into SearchResult::locations; a lower one has precedence
  std::size_t location = 0;
  std::string location_name;
  // NULL until `read`
  std::shared_ptr<const Manifest> manifest;
  std::vector<std::string> drop_ins;
  // the last one
  Step passed = Step::found;
  std::optional<ProbeNote> probe;
  // why this host does not trust its files, also if it stopped for another reason; number 0: it
  // does, or the manifest is not read
  Reason distrust;
  // why it did not pass the step after `passed`; number 0: no step has refused it
  Reason reason;
  // one sentence, followed by lines of context
  Message text;
  // of signature policies that only warn; logged if it is used
  std::vector<Message> policy_warnings;

  bool stopped() const { return static_cast<bool>(reason); }
  // True for one that was stopped before it could be tried. One that failed later is tried again,
  // because the cause may be gone.
  bool is_out() const { return stopped() && passed < Step::preferred; }
  // True for one that was refused before its library was opened in this process, for a cause that is
  // in its files, not in the state of the host, as a missing device node or driver is. Another
  // candidate of its id may replace it: may_replace() (core/plugins/choice/steps.hpp).
  bool was_refused() const;
  void stop(const Reason& why, Message sentence) {
    reason = why;
    text = std::move(sentence);
  }
  // Stops with the reason of an error; UNREADABLE or NOT_FOUND if it has none of a candidate.
  void stop(const Error& error);
  // "acme.npu 2.3.1", or the file if the manifest is not read.
  std::string title() const {
    return manifest ? concat(manifest->id, " ", manifest->version.text) : file;
  }
};

}  // namespace gantry
