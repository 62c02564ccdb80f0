// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace gantry::cli {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::span<const std::uint8_t> bytes);
// 64 lower-case hex digits.
std::string hex_text(const Sha256& digest);

}  // namespace gantry::cli
