// SPDX-License-Identifier: Apache-2.0
//
// The symbols by which compiled code of a generation and its runtime find a container.
#pragma once

#include "core/formats/container_symbols.hpp"
#include "core/writing/container.hpp"

#include <string_view>

namespace gantry {

struct ContainerNames {
  // the container; of a system library, its symbol prefix comes before this
  std::string_view symbol;
  // the function by which a system library registers its symbols: int (const char* name, void*)
  std::string_view register_function;
};

constexpr ContainerNames container_names(Generation form) {
  using Family = ContainerSymbols::Family;
  switch (form) {
    case Generation::g4:
      return {container_family(Family::ffi_first).blob, packed_register_function};
    case Generation::g5:
      return {container_family(Family::ffi).blob, ffi_register_function};
    default:
      return {container_family(Family::legacy).blob, packed_register_function};
  }
}

// The symbol of generations G2 and G3.
constexpr std::string_view container_symbol = container_names(Generation::g3).symbol;

}  // namespace gantry
