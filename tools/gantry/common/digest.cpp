// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/digest.hpp"

#include <sodium.h>

namespace gantry::cli {

Sha256 sha256(std::span<const std::uint8_t> bytes) {
  Sha256 digest;
  static_assert(std::tuple_size_v<Sha256> == crypto_hash_sha256_BYTES);
  crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
  return digest;
}

std::string hex_text(const Sha256& digest) {
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text;
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

}  // namespace gantry::cli
