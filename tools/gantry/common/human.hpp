// SPDX-License-Identifier: Apache-2.0
//
// Sizes and times in output for people. JSON output contains bytes and nanoseconds instead.
#pragma once

#include <gantry/byte_count.hpp>

#include <string>

namespace gantry::cli {

using gantry::human_size;
// "0.42", "12.3", "195 k", "4.56 M": three significant digits.
std::string human_number(double number);
// "870 ns", "12.3 us", "4.56 ms", "1.23 s": three significant digits.
std::string human_time(double nanoseconds);

}  // namespace gantry::cli
