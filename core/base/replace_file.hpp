// SPDX-License-Identifier: Apache-2.0
//
// The last step of writing a file whole or not at all: what was written beside it takes its name.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>

namespace gantry {

// May a new file take the name `target`? Asked before work that would be lost, and again by move_into_place(). Only a
// regular file is replaced: a rename would also take the place of a device, a FIFO or a link, which are somebody's.
//
// returns  invalid where something else is there, or `target` ends with no file name
Status check_replaceable(const std::filesystem::path& target);

// Gives a finished file the name `target`, in one step and on the disk when this returns.
//
// file     [in]   on the same file system, usually in the same directory
// returns  as check_replaceable(); not_found, unavailable with errno. Both files are then as they were
Status move_into_place(const std::filesystem::path& file, const std::filesystem::path& target);

// "cannot write "x": No space left on device": not_found where a directory of the path is missing, else unavailable.
//
// number   [in]   errno
Failure cannot_write(const std::filesystem::path& path, int number);

// The directory in which `path` lies, "." where it names none.
std::filesystem::path directory_of(const std::filesystem::path& path);

}  // namespace gantry
