// SPDX-License-Identifier: Apache-2.0
//
// Runs installed programs, as shells and formatters of man pages, beside the built gantry.
#pragma once

#include "core/base/process.hpp"
#include "tests/support/files.hpp"

#include <string>
#include <vector>

namespace gantry::test {

inline bool has_program(const std::string& name) {
  return std::filesystem::exists("/usr/bin/" + name) || std::filesystem::exists("/bin/" + name);
}

// Returns stdout and stderr of a program that runs in `directory`, with gantry in its PATH and
// without installed plugins.
inline std::string output_of(std::vector<std::string> words,
                             const std::filesystem::path& directory) {
  const std::string path = "PATH=" + (build_tree() / "bin").string() + ":/usr/bin:/bin";
  words.insert(words.begin(), {"/usr/bin/env", "-i", path, "LC_ALL=C",
                               "GANTRY_PLUGIN_FILES=", "HOME=" + directory.string()});
  const auto done = run_program(words, directory, 1 << 20);
  return done.ok() ? done->output : done.error().message.text();
}

}  // namespace gantry::test
