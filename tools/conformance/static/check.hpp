// SPDX-License-Identifier: Apache-2.0
//
// The static cases of the conformance kit: a plugin's manifest, library and package are read, and
// nothing of the plugin is executed. `gantry plugins check` and gantry-conformance report them.
//
//     check.hpp -> check_case.hpp (a case)
//               -> check_symbols.cpp, check_linking.cpp, check_package.cpp
#pragma once

#include <gantry/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class CheckOutcome { passed, failed, skipped };
// "passed", "failed", "skipped"
std::string_view name_of(CheckOutcome outcome);

struct CheckFinding {
  // of the case; 0 is a requirement for all others
  int number = 0;
  // "exports"
  std::string_view name;
  // false: a failure is a warning
  bool must = true;
  CheckOutcome outcome = CheckOutcome::skipped;
  // what was found; of a failed case also what to change, of a skipped one the reason
  std::string text;
};

struct PluginCheck {
  // path of the manifest
  std::string manifest;
  // empty if the manifest cannot be read, like the next two
  std::string id, version;
  // path
  std::string library;
  // one for each case, by number
  std::vector<CheckFinding> findings;

  // True if no case that must pass has failed.
  bool conforms() const;
};

// Returns the path of a manifest: `path` itself, or the only *.yaml in the directory `path`.
//
// returns  not_found  NOT_FOUND: no such path, or a directory without a manifest
//          invalid    MANIFEST_FOLDER: a directory with several
Result<std::string> manifest_in(const std::string& path);

// Runs cases 0 to 10 and 12 to 15. A case that depends on a failed one is skipped.
//
// manifest  [in]   path; a file that cannot be read is a failure of case 1
// costs     maps the library and all libraries that it needs
PluginCheck check_plugin(const std::string& manifest);

}  // namespace gantry
