// SPDX-License-Identifier: Apache-2.0
//
// MD5 checksums, which compilers store with weights. They find accidental damage; nothing is trusted
// for its checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace gantry {

using Md5 = std::array<std::uint8_t, 16>;

// Returns the MD5 checksum of `bytes`.
//
// summed   [in]   called after each piece of at most md5_piece bytes with its size, to show progress
// source   RFC 1321
Md5 md5(std::span<const std::uint8_t> bytes, const std::function<void(std::size_t)>& summed = {});
inline constexpr std::size_t md5_piece = std::size_t{4} << 20;

// Returns 32 lower-case hex digits.
std::string hex_text(const Md5& checksum);

}  // namespace gantry
