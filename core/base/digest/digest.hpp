// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 digests of files and payloads.
#pragma once

#include "core/base/mapped_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace gantry {

using Sha256 = std::array<std::uint8_t, 32>;

// Returns the SHA-256 digest of `bytes`.
//
// digested  [in]  called after each piece of at most digest_piece bytes with its size, to show
//                 progress
Sha256 sha256(std::span<const std::uint8_t> bytes,
              const std::function<void(std::size_t)>& digested = {});
inline constexpr std::size_t digest_piece = std::size_t{4} << 20;

// Returns the digest of a part of a file, of which at most a few MiB are in memory at once.
//
// part      [in]  of file.bytes()
Sha256 sha256(const MappedFile& file, std::span<const std::uint8_t> part);

// Returns 64 lower-case hex digits.
std::string hex_text(const Sha256& digest);

}  // namespace gantry
