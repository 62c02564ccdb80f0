// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/x86_instruction.hpp"

#include <array>

namespace gantry {
namespace {

// What follows an opcode.
enum Operands : std::uint8_t {
  none = 0,
  modrm = 1,
  // immediates
  imm8 = 2,
  imm16 = 4,
  // 2 bytes after the prefix 66, else 4
  immz = 8,
  imm32 = 16,
  // B8 to BF: 8 bytes with REX.W; A0 to A3: an address
  imm64 = 32,
  address = 64,
  invalid = 128,
};
using Table = std::array<std::uint8_t, 256>;

constexpr void set(Table& table, unsigned first, unsigned last, unsigned operands) {
  for (unsigned i = first; i <= last; ++i) table[i] = static_cast<std::uint8_t>(operands);
}

constexpr Table one_byte = [] {
  Table table{};
  for (unsigned row = 0; row < 0x40; row += 8) {
    set(table, row, row + 3, modrm);
    table[row + 4] = imm8;
    table[row + 5] = immz;
    set(table, row + 6, row + 7, invalid);
  }
  set(table, 0x60, 0x62, invalid);
  table[0x63] = modrm;
  table[0x68] = immz;
  table[0x69] = modrm | immz;
  table[0x6a] = imm8;
  table[0x6b] = modrm | imm8;
  set(table, 0x70, 0x7f, imm8);
  table[0x80] = table[0x83] = modrm | imm8;
  table[0x81] = modrm | immz;
  table[0x82] = invalid;
  set(table, 0x84, 0x8f, modrm);
  table[0x9a] = invalid;
  set(table, 0xa0, 0xa3, address);
  table[0xa8] = imm8;
  table[0xa9] = immz;
  set(table, 0xb0, 0xb7, imm8);
  set(table, 0xb8, 0xbf, imm64);
  set(table, 0xc0, 0xc1, modrm | imm8);
  table[0xc2] = table[0xca] = imm16;
  set(table, 0xc4, 0xc5, invalid);
  table[0xc6] = modrm | imm8;
  table[0xc7] = modrm | immz;
  table[0xc8] = imm16 | imm8;
  table[0xcd] = imm8;
  table[0xce] = invalid;
  set(table, 0xd0, 0xd3, modrm);
  set(table, 0xd4, 0xd6, invalid);
  set(table, 0xd8, 0xdf, modrm);
  set(table, 0xe0, 0xe7, imm8);
  set(table, 0xe8, 0xe9, imm32);
  table[0xea] = invalid;
  table[0xeb] = imm8;
  // F6 and F7 have an immediate for two of eight operations.
  set(table, 0xf6, 0xf7, modrm);
  set(table, 0xfe, 0xff, modrm);
  return table;
}();

// After 0f.
constexpr Table two_bytes = [] {
  Table table{};
  set(table, 0x00, 0xff, modrm);
  table[0x04] = table[0x0a] = table[0x0c] = invalid;
  set(table, 0x05, 0x09, none);
  table[0x0b] = table[0x0e] = none;
  table[0x0f] = modrm | imm8;
  set(table, 0x24, 0x27, invalid);
  set(table, 0x30, 0x37, none);
  set(table, 0x38, 0x3f, invalid);
  set(table, 0x70, 0x73, modrm | imm8);
  table[0x77] = none;
  set(table, 0x7a, 0x7b, invalid);
  set(table, 0x80, 0x8f, imm32);
  set(table, 0xa0, 0xa2, none);
  table[0xa4] = table[0xac] = modrm | imm8;
  set(table, 0xa6, 0xa7, invalid);
  set(table, 0xa8, 0xaa, none);
  table[0xba] = table[0xc2] = modrm | imm8;
  set(table, 0xc4, 0xc6, modrm | imm8);
  set(table, 0xc8, 0xcf, none);
  return table;
}();

constexpr bool is_in(unsigned value, unsigned first, unsigned last) {
  return value >= first && value <= last;
}

// Instructions of VEX on 256 bits that are AVX2, and AVX on 128 bits: those of integers.
constexpr bool is_of_integers(unsigned map, unsigned prefix, unsigned opcode) {
  if (map == 1 && opcode == 0x70) return true;
  if (prefix != 1) return false;
  if (map == 1) {
    return is_in(opcode, 0x60, 0x6d) || is_in(opcode, 0x71, 0x76) || is_in(opcode, 0xd1, 0xd5) ||
           is_in(opcode, 0xd7, 0xe5) || is_in(opcode, 0xe8, 0xef) || is_in(opcode, 0xf1, 0xf6) ||
           is_in(opcode, 0xf8, 0xfe);
  }
  if (map == 2) {
    return is_in(opcode, 0x00, 0x0b) || is_in(opcode, 0x1c, 0x1e) || is_in(opcode, 0x20, 0x2b) ||
           is_in(opcode, 0x30, 0x40);
  }
  return opcode == 0x0e || opcode == 0x0f || opcode == 0x42 || opcode == 0x4c;
}

// Instructions of VEX that are AVX2 on 128 bits, too.
constexpr bool is_of_avx2(unsigned map, unsigned opcode) {
  if (map == 2) {
    return opcode == 0x16 || opcode == 0x36 || is_in(opcode, 0x45, 0x47) ||
           is_in(opcode, 0x58, 0x5a) || is_in(opcode, 0x78, 0x79) || opcode == 0x8c ||
           opcode == 0x8e || is_in(opcode, 0x90, 0x93);
  }
  return map == 3 && (is_in(opcode, 0x00, 0x02) || is_in(opcode, 0x38, 0x39) || opcode == 0x46);
}

// prefix   [in]   0, 1 (66), 2 (f3) or 3 (f2)
constexpr std::string_view feature_of_vex(unsigned map, unsigned prefix, unsigned opcode,
                                          bool is_256) {
  // Masks of AVX-512.
  if (map == 1 && (is_in(opcode, 0x41, 0x4b) || is_in(opcode, 0x90, 0x99))) return "avx512f";
  if (map == 3 && is_in(opcode, 0x30, 0x33)) return "avx512f";
  if (map == 2 && (opcode == 0xf2 || opcode == 0xf3 || (opcode == 0xf7 && prefix == 0)))
    return "bmi";
  if (map == 2 && is_in(opcode, 0xf5, 0xf7)) return "bmi2";
  if (map == 3 && opcode == 0xf0) return "bmi2";
  const unsigned low = opcode & 0xf;
  if (map == 2 && is_in(opcode, 0x96, 0xbf) && low >= 6) return "fma";
  if (map == 3 &&
      (is_in(opcode, 0x5c, 0x5f) || is_in(opcode, 0x68, 0x6f) || is_in(opcode, 0x78, 0x7f)))
    return "fma4";
  if (is_of_avx2(map, opcode) || (is_256 && is_of_integers(map, prefix, opcode))) return "avx2";
  return "avx";
}

constexpr bool has_immediate_after_vex(unsigned map, unsigned opcode) {
  if (map == 3) return true;
  return map == 1 && (is_in(opcode, 0x70, 0x73) || opcode == 0xc2 || is_in(opcode, 0xc4, 0xc6));
}

constexpr std::string_view feature_of_legacy(unsigned map, unsigned opcode, bool has_f3) {
  if (map == 1) return opcode == 0xb8 && has_f3 ? "popcnt" : "";
  if (map == 2) {
    if (opcode <= 0x0b || is_in(opcode, 0x1c, 0x1e)) return "ssse3";
    if (opcode == 0x37) return "sse4.2";
    return is_in(opcode, 0x10, 0x41) ? "sse4.1" : "";
  }
  if (opcode == 0x0f) return "ssse3";
  if (is_in(opcode, 0x60, 0x63)) return "sse4.2";
  return is_in(opcode, 0x08, 0x42) ? "sse4.1" : "";
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> code) : code_(code) {}

  std::optional<X86Instruction> decode() {
    unsigned opcode = take();
    for (; is_prefix(opcode); opcode = take()) {
      if (opcode == 0x66) has_66_ = true;
      if (opcode == 0xf3) has_f3_ = true;
      if (opcode == 0x67) has_67_ = true;
    }
    if (opcode == 0x62) return evex();
    if (opcode == 0xc4 || opcode == 0xc5) return vex(opcode);
    // The register of POP is 0.
    if (opcode == 0x8f && (peek() & 0x1f) >= 8) return xop();
    if ((opcode & 0xf0) == 0x40) {
      has_rex_w_ = (opcode & 8) != 0;
      opcode = take();
    }
    if (opcode == 0x0f) return escaped();
    if ((opcode == 0xf6 || opcode == 0xf7) && (peek() & 0x30) == 0)
      return end(modrm | (opcode == 0xf6 ? imm8 : immz), {});
    return end(one_byte[opcode], {});
  }

 private:
  static bool is_prefix(unsigned byte) {
    switch (byte) {
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
      case 0x66:
      case 0x67:
      case 0xf0:
      case 0xf2:
      case 0xf3:
        return true;
      default:
        return false;
    }
  }

  std::optional<X86Instruction> escaped() {
    const unsigned opcode = take();
    if (opcode == 0x38 || opcode == 0x3a) {
      const unsigned map = opcode == 0x38 ? 2 : 3;
      return end(map == 2 ? modrm : modrm | imm8, feature_of_legacy(map, take(), has_f3_));
    }
    auto made = end(two_bytes[opcode], feature_of_legacy(1, opcode, has_f3_));
    if (made && opcode == 0xa2) made->is_cpuid = true;
    return made;
  }
  std::optional<X86Instruction> vex(unsigned form) {
    unsigned map = 1, last = take();
    if (form == 0xc4) {
      map = last & 0x1f;
      last = take();
    }
    if (map < 1 || map > 3) return std::nullopt;
    const unsigned opcode = take();
    if (map == 1 && opcode == 0x77) return end(none, "avx");
    return end(has_immediate_after_vex(map, opcode) ? modrm | imm8 : modrm,
               feature_of_vex(map, last & 3, opcode, (last & 4) != 0));
  }
  std::optional<X86Instruction> evex() {
    const unsigned map = take() & 7;
    if (map == 0 || map == 4 || map == 7) return std::nullopt;
    take();
    take();
    return end(has_immediate_after_vex(map, take()) ? modrm | imm8 : modrm, "avx512f");
  }
  std::optional<X86Instruction> xop() {
    const unsigned map = take() & 0x1f;
    if (map > 10) return std::nullopt;
    take();
    take();
    return end(map == 8 ? modrm | imm8 : map == 9 ? modrm : modrm | imm32, "xop");
  }

  std::optional<X86Instruction> end(unsigned operands, std::string_view feature) {
    if (operands == invalid) return std::nullopt;
    if ((operands & modrm) != 0) take_address();
    if ((operands & imm8) != 0) at_ += 1;
    if ((operands & imm16) != 0) at_ += 2;
    if ((operands & immz) != 0) at_ += has_66_ && !has_rex_w_ ? 2 : 4;
    if ((operands & imm32) != 0) at_ += 4;
    if ((operands & imm64) != 0) at_ += has_rex_w_ ? 8 : has_66_ ? 2 : 4;
    if ((operands & address) != 0) at_ += has_67_ ? 4 : 8;
    if (at_ > code_.size()) return std::nullopt;
    return X86Instruction{at_, feature, false};
  }
  void take_address() {
    const unsigned byte = take();
    const unsigned mode = byte >> 6;
    if (mode == 3) return;
    unsigned base = byte & 7;
    if (base == 4) base = take() & 7;
    if (mode == 1) at_ += 1;
    if (mode == 2 || (mode == 0 && base == 5)) at_ += 4;
  }

  // 0 after the end, where end() fails.
  unsigned peek() const { return at_ < code_.size() ? code_[at_] : 0; }
  unsigned take() {
    const unsigned byte = peek();
    ++at_;
    return byte;
  }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
  bool has_66_ = false, has_f3_ = false, has_67_ = false, has_rex_w_ = false;
};

}  // namespace

std::optional<X86Instruction> decode_x86(std::span<const std::uint8_t> code) {
  return Decoder(code).decode();
}

}  // namespace gantry
