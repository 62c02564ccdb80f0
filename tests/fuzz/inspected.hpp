// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace gantry::fuzz {

// Runs `gantry inspect` on a file of these bytes, as text and as JSON, and expects a report or an
// error without control characters.
void inspect_whole(std::span<const std::uint8_t> bytes);

}  // namespace gantry::fuzz
