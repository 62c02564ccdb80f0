// SPDX-License-Identifier: Apache-2.0
//
// Runs gantry-conformance over plugins of the build tree, and over copies of fake plugins with a
// defect.
#pragma once

#include "tests/support/files.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

struct KitRun {
  // exit status; 128 + n after signal n
  int status = -1;
  // stdout and stderr
  std::string output;

  // The numbers of the cases with this first word: "passed", "FAILED", "WARNING", "skipped". Of
  // those that fail for the same cause, the first.
  std::vector<int> cases(std::string_view state) const;
};

KitRun run_kit(const std::vector<std::string>& args);

// The manifest of a plugin of this build: "graph".
std::string built_manifest(std::string_view name);
// The manifest of a copy of kit_plugin in `directory` that has a defect; "none": it has none.
std::string plugin_with_defect(const std::filesystem::path& directory, std::string_view defect);
// Golden payloads for it.
std::string payloads_of_kit_plugin(const std::filesystem::path& directory);
// The manifest of a copy of sdk/example in `directory` that is broken in a way of breaks.cpp;
// "none": it is not.
std::string plugin_with_break(const std::filesystem::path& directory, std::string_view way);
// Copies the golden payloads of an example of the SDK, and the artifact that they name.
//
// example  [in]   its directory: "example"
// plugin   [in]   "abacus"
// returns  the payload file
std::string payloads_of_example(const std::filesystem::path& directory, const std::string& example,
                                const std::string& plugin);

}  // namespace gantry::test
