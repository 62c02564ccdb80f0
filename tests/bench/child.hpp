// SPDX-License-Identifier: Apache-2.0
//
// Programs that are measured from outside.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace gantry::bench {

// Runs a program to its end, its output dropped.
//
// throws   Failed where it cannot be started or ends with another status than 0
void run_child(const std::vector<std::string>& words);

// The numbers that a program prints, separated by white space.
//
// throws   as above
std::vector<double> numbers_of(const std::vector<std::string>& words);

// One number as text: format("%.1f us", 28.04) is "28.0 us".
inline std::string format(const char* how, double number) {
  char text[64];
  std::snprintf(text, sizeof text, how, number);
  return text;
}

}  // namespace gantry::bench
