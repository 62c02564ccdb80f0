// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry {

// Variables of a child process that opens a plugin, "NAME=value".
struct ProbeEnvironment {
  std::vector<std::string> all;
  // those of `all` on which a verdict depends
  std::vector<std::string> decisive;
};

}  // namespace gantry
