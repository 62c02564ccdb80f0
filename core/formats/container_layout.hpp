// SPDX-License-Identifier: Apache-2.0
//
// The two layouts of a container and their detection.
#pragma once

#include <cstdint>
#include <span>

namespace gantry {

// The layout of the bytes after the length header.
enum class ContainerLayout : std::uint8_t {
  // no container
  none,
  // count, entries without lengths, tree last (G0 to G4)
  one,
  // tree first, each payload after its length (G4x, G5)
  two,
};

// Detects the layout by the first two words.
//
// content  the bytes after the length header
// returns  none if the bytes have neither layout
ContainerLayout layout_of(std::span<const std::uint8_t> content);

}  // namespace gantry
