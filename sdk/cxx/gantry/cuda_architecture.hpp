// SPDX-License-Identifier: Apache-2.0
//
// gantry/cuda_architecture.hpp - architectures of CUDA targets.
//
//     GANTRY_TRY(const std::string_view number, cuda_architecture(target_arch));    // "90a"
//     const std::string option = concat("--gpu-architecture=compute_", number);
#pragma once

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <string_view>

namespace gantry {

// Returns the number of an architecture, with its variant: "90a" of "sm_90a".
//
// arch     [in]   of the target; empty: the oldest one that every CUDA 11 to 13 compiles for, "75"
// returns  INVALID  it is not sm_ and a number of 2 to 4 digits, perhaps with an `a` or `f`
// lifetime a view into `arch`
inline Result<std::string_view> cuda_architecture(std::string_view arch) {
  if (arch.empty()) return std::string_view("75");
  constexpr std::string_view prefix = "sm_";
  const std::string_view number =
      arch.starts_with(prefix) ? arch.substr(prefix.size()) : std::string_view();
  const bool has_variant = number.ends_with('a') || number.ends_with('f');
  const std::string_view digits = number.substr(0, number.size() - (has_variant ? 1 : 0));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.size() >= 2 && digits.size() <= 4 && std::ranges::all_of(digits, is_digit)) {
    return number;
  }
  return invalid("arch of the target is ", quoted(arch), ", expected sm_75, sm_90a or the like");
}

}  // namespace gantry
