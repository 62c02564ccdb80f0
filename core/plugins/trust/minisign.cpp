// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/minisign.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gantry {
namespace {

constexpr std::string_view kUntrusted = "untrusted comment: ";
constexpr std::string_view kTrusted = "trusted comment: ";

// Decodes base64 that is exactly `Size` bytes, with padding.
template <std::size_t Size>
std::optional<std::array<std::uint8_t, Size>> decode(std::string_view text) {
  std::array<std::uint8_t, Size> bytes;
  std::size_t size = 0;
  if (text.size() != sodium_base64_ENCODED_LEN(Size, sodium_base64_VARIANT_ORIGINAL) - 1 ||
      sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size,
                        nullptr, sodium_base64_VARIANT_ORIGINAL) != 0 ||
      size != Size) {
    return std::nullopt;
  }
  return bytes;
}

// The lines of a signature file.
class SignatureLines {
 public:
  SignatureLines(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  // Takes the rest of a line after `prefix`.
  Result<std::string_view> take(std::string_view name, std::string_view prefix, std::size_t max) {
    line_at_ = at_;
    ++number_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(prefix))
      return wrong("has no ", name, ", expected \"", prefix, "\" at its beginning");
    line.remove_prefix(prefix.size());
    if (line.size() > max) {
      return wrong("has ", line.size(), " bytes of ", name, ", limit is ", max);
    }
    return line;
  }
  template <std::size_t Size>
  Result<std::array<std::uint8_t, Size>> take_bytes(std::string_view name) {
    GANTRY_TRY(const std::string_view line, take(name, "", kMaxMinisignComment));
    const auto bytes = decode<Size>(line);
    if (!bytes) {
      return wrong("has ", line.size(), " bytes, expected ", name, ": base64 of ", Size, " bytes");
    }
    return *bytes;
  }
  Status check_end() {
    if (at_ == text_.size()) return {};
    line_at_ = at_;
    ++number_;
    return wrong("follows the last line of a signature");
  }
  template <class... Parts>
  Failure wrong(const Parts&... parts) const {
    return malformed(line_at_, file_, ": line ", number_, " ", parts...)
        .with_reason(reason::signature_invalid.tag);
  }

 private:
  std::string_view text_, file_;
  std::size_t at_ = 0, line_at_ = 0;
  int number_ = 0;
};

bool is_signed(std::span<const std::uint8_t, 64> signature, std::span<const std::uint8_t> bytes,
               const MinisignKey& key) {
  return crypto_sign_verify_detached(signature.data(), bytes.data(), bytes.size(),
                                     key.key.data()) == 0;
}

}  // namespace

std::string text_of(const MinisignKeyNumber& number) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  // a little-endian number
  for (auto byte = number.rbegin(); byte != number.rend(); ++byte) {
    text += digits[*byte >> 4];
    text += digits[*byte & 15u];
  }
  return text;
}

Result<MinisignKey> parse_minisign_key(std::string_view text) {
  static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_BYTES == 64);
  const auto bytes = decode<2 + 8 + 32>(text);
  if (!bytes || (*bytes)[0] != 'E' || (*bytes)[1] != 'd') {
    return malformed(0,
                     "expected the second line of a minisign public key: 56 characters of base64 "
                     "that begin with \"RW\"");
  }
  MinisignKey key;
  std::memcpy(key.number.data(), bytes->data() + 2, key.number.size());
  std::memcpy(key.key.data(), bytes->data() + 10, key.key.size());
  return key;
}

Result<MinisignSignature> parse_minisign_signature(std::string_view text, std::string_view file) {
  if (text.size() > kMaxMinisignFile) {
    return malformed(kMaxMinisignFile, file, ": signature of ", text.size(), " bytes, limit is ",
                     kMaxMinisignFile)
        .with_reason(reason::signature_invalid.tag);
  }
  SignatureLines lines(text, file);
  GANTRY_CHECK(lines.take("untrusted comment", kUntrusted, kMaxMinisignComment));
  GANTRY_TRY(const auto bytes, lines.take_bytes<2 + 8 + 64>("a signature"));
  if (bytes[0] != 'E' || (bytes[1] != 'd' && bytes[1] != 'D')) {
    return lines.wrong("has an unknown algorithm, expected Ed or ED");
  }
  MinisignSignature signature;
  signature.prehashed = bytes[1] == 'D';
  std::memcpy(signature.number.data(), bytes.data() + 2, signature.number.size());
  std::memcpy(signature.signature.data(), bytes.data() + 10, signature.signature.size());
  GANTRY_TRY(signature.trusted_comment,
             lines.take("trusted comment", kTrusted, kMaxMinisignComment));
  GANTRY_TRY(signature.global_signature, lines.take_bytes<64>("a signature of the comment"));
  GANTRY_CHECK(lines.check_end());
  return signature;
}

bool verifies(const MinisignSignature& signature, const MinisignKey& key,
              std::span<const std::uint8_t> bytes) {
  // Chooses implementations for this CPU once; safe in several threads.
  if (sodium_init() < 0) return false;
  if (signature.prehashed) {
    std::array<std::uint8_t, crypto_generichash_BYTES_MAX> digest;
    static_assert(crypto_generichash_BYTES_MAX == 64);
    crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(), nullptr, 0);
    if (!is_signed(signature.signature, digest, key)) return false;
  } else if (!is_signed(signature.signature, bytes, key)) {
    return false;
  }
  std::string all(reinterpret_cast<const char*>(signature.signature.data()),
                  signature.signature.size());
  all += signature.trusted_comment;
  return is_signed(signature.global_signature, as_bytes(all), key);
}

}  // namespace gantry
