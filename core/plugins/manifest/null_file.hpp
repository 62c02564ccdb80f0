// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry {

// True for an empty regular file and for /dev/null under any name, with which administrators mask
// files of the same name in lower directories.
bool is_null_file(const std::string& path);

}  // namespace gantry
