// SPDX-License-Identifier: Apache-2.0
//
// Replaces a file atomically by another one from the same file system.
#pragma once

#include "core/base/input_files.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string>

namespace gantry {

// Checks that a new file may be renamed to `target`: it does not exist, or is a regular file that is
// not an input. A rename would also replace a device, a FIFO or a link. Call it before expensive
// work; move_into_place() checks again.
//
// returns  invalid if `target` is one of `inputs`, exists and is not a regular file, or does not end
//          with a file name
Status check_replaceable(const std::filesystem::path& target, const InputFiles& inputs);

// Renames a finished file to `target`, atomically and durably.
//
// file     [in]   on the same file system as `target`, usually in the same directory
// returns  as check_replaceable(); not_found, unavailable with errno. On failure both files are
//          unchanged
Status move_into_place(const std::filesystem::path& file, const std::filesystem::path& target,
                       const InputFiles& inputs);

// The error `cannot write "x": No space left on device`: not_found if a directory of the path does
// not exist, else unavailable.
//
// number   [in]   errno
Failure cannot_write(const std::filesystem::path& path, int number);

// Returns the start of the name of a temporary file beside `path`: ".<file name>.", with at most 200
// bytes of the name, so that file systems accept the name of each file that they accept.
std::string temporary_name(const std::filesystem::path& path);

// The parent directory of `path`; "." if `path` is a bare file name.
std::filesystem::path directory_of(const std::filesystem::path& path);

}  // namespace gantry
