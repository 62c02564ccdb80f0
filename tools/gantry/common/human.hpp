// SPDX-License-Identifier: Apache-2.0
//
// Sizes and times in output for people. JSON output contains bytes and nanoseconds instead.
#pragma once

#include <cstdint>
#include <string>

namespace gantry::cli {

// "0 B", "1023 B", "1.0 KiB", "12.3 MiB".
std::string human_size(std::uint64_t bytes);
// "870 ns", "12.3 us", "4.56 ms", "1.23 s": three significant digits.
std::string human_time(double nanoseconds);

}  // namespace gantry::cli
