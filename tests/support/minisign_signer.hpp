// SPDX-License-Identifier: Apache-2.0
//
// Makes keys and signatures in the format of minisign, for tests on machines without the program.
// The program verifies one of them in MinisignProgram.VerifiesSignaturesOfTheTests.
#pragma once

#include <sodium.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::test {

class MinisignSigner {
 public:
  // Different names are different keys.
  explicit MinisignSigner(std::string_view name = "test") {
    unsigned char seed[crypto_sign_SEEDBYTES];
    crypto_generichash(seed, sizeof seed, bytes(name), name.size(), nullptr, 0);
    crypto_sign_seed_keypair(public_key_, secret_key_, seed);
    number_ = std::string(reinterpret_cast<const char*>(seed), 8);
  }

  // The second line of a public key file.
  std::string public_key() const {
    return base64("Ed" + number_ +
                  std::string(reinterpret_cast<const char*>(public_key_), sizeof public_key_));
  }
  // The text of a signature file.
  std::string sign(std::string_view content, bool prehashed = true,
                   const std::string& comment = "timestamp:1700000000\tfile:test") const {
    std::string message(content);
    if (prehashed) {
      message.resize(64);
      crypto_generichash(reinterpret_cast<unsigned char*>(message.data()), 64, bytes(content),
                         content.size(), nullptr, 0);
    }
    const std::string signature = raw(message);
    return "untrusted comment: signature of a test\n" +
           base64((prehashed ? "ED" : "Ed") + number_ + signature) +
           "\ntrusted comment: " + comment + "\n" + base64(raw(signature + comment)) + "\n";
  }

 private:
  static const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  static std::string base64(const std::string& all) {
    std::string text(sodium_base64_ENCODED_LEN(all.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
    sodium_bin2base64(text.data(), text.size(), bytes(all), all.size(),
                      sodium_base64_VARIANT_ORIGINAL);
    text.resize(text.size() - 1);
    return text;
  }
  std::string raw(const std::string& message) const {
    std::string signature(crypto_sign_BYTES, '\0');
    crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                         bytes(message), message.size(), secret_key_);
    return signature;
  }

  unsigned char public_key_[crypto_sign_PUBLICKEYBYTES];
  unsigned char secret_key_[crypto_sign_SECRETKEYBYTES];
  std::string number_;
};

}  // namespace gantry::test
