// SPDX-License-Identifier: Apache-2.0
//
// The executables in the golden files.
#pragma once

#include "core/formats/container.hpp"
#include "core/formats/details.hpp"

#include <gantry/loader.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace gantry::relax::test {

struct GoldenExecutable {
  // "lm_paged_llvm"
  std::string name;
  std::vector<std::uint8_t> payload;
  std::uint32_t numbering = GANTRY_NUMBERING_UNKNOWN;
  // What core/formats finds in the payload.
  PayloadDetails details;

  gantry_blob blob() const;
  friend void PrintTo(const GoldenExecutable& golden, std::ostream* out) { *out << golden.name; }
};

// Reads them all, ordered by name. Aborts if a file cannot be read.
const std::vector<GoldenExecutable>& golden_executables();
const GoldenExecutable& golden_executable(std::string_view name);

}  // namespace gantry::relax::test
