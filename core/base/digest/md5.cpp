// SPDX-License-Identifier: Apache-2.0
#include "core/base/digest/md5.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gantry {
namespace {

constexpr std::size_t block_bytes = 64;

// The integer parts of 2^32 |sin(i + 1)|.
constexpr std::uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
// Of the steps of a round, which repeat.
constexpr int rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

class Sum {
 public:
  // Precondition: whole blocks.
  void add(std::span<const std::uint8_t> blocks) {
    for (; !blocks.empty(); blocks = blocks.subspan(block_bytes)) add_block(blocks.data());
  }
  Md5 value() const {
    Md5 bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(state_[i / 4] >> (8 * (i % 4)));
    return bytes;
  }

 private:
  void add_block(const std::uint8_t* block) {
    std::uint32_t words[16];
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(words, block, sizeof words);
    auto [a, b, c, d] = state_;
    for (unsigned i = 0; i < 64; ++i) {
      std::uint32_t mixed = 0;
      unsigned word = 0;
      switch (i / 16) {
        case 0:
          mixed = (b & c) | (~b & d);
          word = i;
          break;
        case 1:
          mixed = (d & b) | (~d & c);
          word = (5 * i + 1) % 16;
          break;
        case 2:
          mixed = b ^ c ^ d;
          word = (3 * i + 5) % 16;
          break;
        default:
          mixed = c ^ (b | ~d);
          word = (7 * i) % 16;
      }
      const std::uint32_t turned =
          std::rotl(a + mixed + sines[i] + words[word], rotations[i / 16][i % 4]);
      a = d;
      d = c;
      c = b;
      b += turned;
    }
    state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d};
  }

  std::array<std::uint32_t, 4> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
};

}  // namespace

Md5 md5(std::span<const std::uint8_t> bytes, const std::function<void(std::size_t)>& summed) {
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  Sum sum;
  while (bytes.size() >= block_bytes) {
    const std::size_t whole = std::min(bytes.size(), md5_piece) / block_bytes * block_bytes;
    sum.add(bytes.first(whole));
    if (summed) summed(whole);
    bytes = bytes.subspan(whole);
  }
  // The rest, a bit, zeros, and the number of bits.
  std::array<std::uint8_t, 2 * block_bytes> end{};
  std::ranges::copy(bytes, end.begin());
  end[bytes.size()] = 0x80;
  const std::size_t size = bytes.size() + 1 + sizeof bits <= block_bytes ? block_bytes : end.size();
  std::memcpy(end.data() + size - sizeof bits, &bits, sizeof bits);
  sum.add(std::span(end).first(size));
  if (summed && !bytes.empty()) summed(bytes.size());
  return sum.value();
}

std::string hex_text(const Md5& checksum) {
  std::array<char, 2 * std::tuple_size_v<Md5> + 1> text;
  sodium_bin2hex(text.data(), text.size(), checksum.data(), checksum.size());
  return text.data();
}

}  // namespace gantry
