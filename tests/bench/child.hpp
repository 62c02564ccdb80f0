// SPDX-License-Identifier: Apache-2.0
// Runs other programs that are measured.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace gantry::bench {

// Runs a program to its end and discards its output.
//
// throws   Failed if it cannot be started or its status is not 0
void run_child(const std::vector<std::string>& words);

// What a program and all programs that it waits for have used.
struct ChildCost {
  // wall clock
  double seconds = 0;
  // resident memory of the largest of them
  double peak_bytes = 0;
};

// throws   Failed like run_child()
ChildCost cost_of(const std::vector<std::string>& words);

// Returns the numbers that a program prints, separated by white space.
//
// throws   Failed like run_child()
std::vector<double> numbers_of(const std::vector<std::string>& words);

// Formats one number: format("%.1f us", 28.04) is "28.0 us".
inline std::string format(const char* how, double number) {
  char text[64];
  std::snprintf(text, sizeof text, how, number);
  return text;
}

}  // namespace gantry::bench
