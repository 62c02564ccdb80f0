// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gantry::cli {

// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::span<const std::uint8_t> bytes);

}  // namespace gantry::cli
