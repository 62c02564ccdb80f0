// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace gantry::fuzz {

// What `gantry inspect` does with a file of these bytes: its report as text and as JSON, or a refusal; either is safe
// for a terminal.
void inspect_whole(std::span<const std::uint8_t> bytes);

}  // namespace gantry::fuzz
