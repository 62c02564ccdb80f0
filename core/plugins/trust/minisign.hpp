// SPDX-License-Identifier: Apache-2.0
//
// Signatures in the format of minisign: ed25519, detached, in a text file of four lines.
//
//     untrusted comment: signature from minisign secret key
//     RUT...                     base64: algorithm 2, key number 8, signature 64 bytes
//     trusted comment: timestamp:1700000000  file:acme.yaml  hashed
//     bG9u...                    base64: signature 64 bytes, of the signature and the trusted comment
//
// Algorithm `Ed` signs the bytes of the file, `ED` their BLAKE2b-512 digest. A public key is one line
// of base64: algorithm 2 (`Ed`), key number 8, key 32 bytes.
//
// source   https://jedisct1.github.io/minisign/, sections on the formats
#pragma once

#include <gantry/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// Maximum sizes in bytes; larger texts are refused before they are decoded.
constexpr std::size_t kMaxMinisignComment = 8192;
constexpr std::size_t kMaxMinisignFile = 16 * 1024;

using MinisignKeyNumber = std::array<std::uint8_t, 8>;

struct MinisignKey {
  MinisignKeyNumber number{};
  std::array<std::uint8_t, 32> key{};
};

struct MinisignSignature {
  // `ED`: of the digest
  bool prehashed = false;
  MinisignKeyNumber number{};
  std::array<std::uint8_t, 64> signature{};
  std::string trusted_comment;
  // of `signature` and `trusted_comment`
  std::array<std::uint8_t, 64> global_signature{};
};

// Returns 16 capital hexadecimal digits, as minisign prints a key number.
std::string text_of(const MinisignKeyNumber& number);

// Reads the second line of a public key file.
//
// returns  malformed, with what is expected
Result<MinisignKey> parse_minisign_key(std::string_view text);

// Reads a signature file. Lines end with LF or CR LF; nothing follows the fourth.
//
// file     [in]   for errors; not opened
// returns  malformed, reason SIGNATURE_INVALID, with the offset of the line
// costs    O(bytes), at most kMaxMinisignFile
Result<MinisignSignature> parse_minisign_signature(std::string_view text, std::string_view file);

// Verifies both signatures.
//
// bytes    [in]   the content of the signed file
// returns  true if `key` made both; the key numbers are not compared
bool verifies(const MinisignSignature& signature, const MinisignKey& key,
              std::span<const std::uint8_t> bytes);

}  // namespace gantry
