// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/files.hpp"

#include <filesystem>
#include <string>

namespace gantry::test {

inline std::string text_in(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

// A file that tests/golden/update writes.
inline std::string expected(const std::string& name) {
  return text_in(golden("").parent_path().parent_path() / "expected" / name);
}

}  // namespace gantry::test
