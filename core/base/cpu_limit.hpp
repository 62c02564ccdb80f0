// SPDX-License-Identifier: Apache-2.0
//
// How much CPU time the control groups of this process allow: containers and services are limited by
// time, not by a set of CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace gantry {

// Returns the number of CPUs that the strictest control group of a process allows, rounded down, at
// least 1; nullopt if none limits the time, or the files cannot be read.
//
// root     [in]   the directory of control groups of version 2, or of the controllers of version 1:
//                 "/sys/fs/cgroup"
// groups   [in]   the content of /proc/self/cgroup
// costs    one small file for each level of the hierarchy
std::optional<std::int32_t> cpu_limit(const std::filesystem::path& root, std::string_view groups);

// The same for this process.
std::optional<std::int32_t> cpu_limit();

}  // namespace gantry
