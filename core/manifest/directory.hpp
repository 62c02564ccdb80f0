// SPDX-License-Identifier: Apache-2.0
//
// What a directory holds. Not std::filesystem::directory_iterator: libstdc++ ends the process where it has no memory for
// a name, in the overloads that promise an error code.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace gantry {

// Names in a directory, bytewise; locale and inode order play no part.
//
// failed   [out]  why the list is empty or cut short; clear where it is whole
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& failed);

}  // namespace gantry
