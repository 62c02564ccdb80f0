// SPDX-License-Identifier: Apache-2.0
#include "core/base/digest/digest.hpp"

#include "core/base/passed_pages.hpp"

#include <sodium.h>

#include <algorithm>

namespace gantry {

Sha256 sha256(std::span<const std::uint8_t> bytes,
              const std::function<void(std::size_t)>& digested) {
  Sha256 digest;
  static_assert(std::tuple_size_v<Sha256> == crypto_hash_sha256_BYTES);
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), digest_piece));
    crypto_hash_sha256_update(&state, piece.data(), piece.size());
    if (digested) digested(piece.size());
    bytes = bytes.subspan(piece.size());
  }
  crypto_hash_sha256_final(&state, digest.data());
  return digest;
}

Sha256 sha256(const MappedFile& file, std::span<const std::uint8_t> part) {
  PassedPages pages(&file);
  auto rest = part;
  return sha256(part, [&](std::size_t size) {
    pages.pass(rest.first(size));
    rest = rest.subspan(size);
  });
}

std::string hex_text(const Sha256& digest) {
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text;
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

}  // namespace gantry
