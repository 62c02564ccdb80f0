// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/inspect/report.hpp"

#include <cstdint>
#include <span>

namespace gantry::fuzz {

// Runs `gantry inspect` on a file of these bytes, as text and as JSON, and expects a report or an
// error without control characters.
void inspect_whole(std::span<const std::uint8_t> bytes);

// Writes a report as text and as JSON, and expects no control characters.
void write_whole(const InspectReport& report);

}  // namespace gantry::fuzz
