// SPDX-License-Identifier: Apache-2.0
//
// The two forms of a container, and how its first bytes distinguish them.
#pragma once

#include <cstdint>
#include <span>

namespace gantry {

// The form of the bytes behind the length header.
enum class ContainerLayout : std::uint8_t {
  // no container
  none,
  // count, entries without lengths, tree last (G0 to G4)
  one,
  // tree first, every payload behind its length (G4x, G5)
  two,
};

// Distinguishes the two by the first two words.
//
// content  what follows the length header
// returns  none: neither of the two
ContainerLayout layout_of(std::span<const std::uint8_t> content);

}  // namespace gantry
