// SPDX-License-Identifier: Apache-2.0
#include "defect.hpp"

namespace fake {
namespace {

// "GANTRY_FAKE_DEFECT=" and a name, padded with NUL.
extern "C" const volatile char fake_defect[64];
const volatile char fake_defect[64] = "GANTRY_FAKE_DEFECT=none";

}  // namespace

bool has(std::string_view defect) {
  const volatile char* at = fake_defect + sizeof "GANTRY_FAKE_DEFECT=" - 1;
  for (const char c : defect) {
    if (*at++ != c) return false;
  }
  return *at == 0;
}

}  // namespace fake
