// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/digest.hpp"

#include <sodium.h>

#include <array>

namespace gantry::cli {

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text;
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

}  // namespace gantry::cli
