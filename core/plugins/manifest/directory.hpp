// SPDX-License-Identifier: Apache-2.0
//
// Lists directories. std::filesystem::directory_iterator is not used: in libstdc++ the overloads
// with an error code terminate the process if memory for a name is exhausted.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace gantry {

// Returns the names in a directory, sorted bytewise, independently of locale and file system.
//
// failed   [out]  the error if the list is empty or incomplete, else cleared
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& failed);

}  // namespace gantry
