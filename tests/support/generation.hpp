// SPDX-License-Identifier: Apache-2.0
//
// The values that the host passes to a loader for a container of a generation.
#pragma once

#include <gantry/loader.h>

#include <cstdint>

namespace gantry::test {

// generation   0 to 5; -1: unknown. Generation 4 has files with and without argument tags
constexpr std::uint32_t argument_tags_of_generation(std::int32_t generation) {
  if (generation == 5) return GANTRY_ARGUMENT_TAGS_YES;
  return generation >= 0 && generation < 4 ? std::uint32_t{GANTRY_ARGUMENT_TAGS_NO}
                                           : std::uint32_t{GANTRY_ARGUMENT_TAGS_UNKNOWN};
}

}  // namespace gantry::test
