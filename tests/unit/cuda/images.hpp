// SPDX-License-Identifier: Apache-2.0
//
// Builds minimal device code of each format, with fields that tests can change.
#pragma once

#include "tests/support/words.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda::test {

using gantry::test::Words;
using Bytes = std::vector<std::uint8_t>;

inline Bytes bytes_of_words(const Words& words) {
  return {words.bytes().begin(), words.bytes().end()};
}
inline Bytes text_bytes(std::string_view text) { return {text.begin(), text.end()}; }

inline std::string ptx_text(std::string_view version = "8.4", std::string_view target = "sm_75") {
  return std::string("//\n// made for a test\n//\n\n.version ") + std::string(version) +
         "\n.target " + std::string(target) +
         "\n.address_size 64\n.visible .entry axpy2_kernel0() { ret; }\n";
}

struct CubinFields {
  std::uint8_t elf_class = 2;
  std::uint8_t elf_data = 1;
  // Version of CUDA's ELF ABI.
  std::uint8_t elf_version = 7;
  std::uint16_t machine = 190;
  std::uint32_t flags = 90;
  std::uint64_t section_at = 64 + 56;
  std::uint16_t section_bytes = 64;
  std::uint16_t section_count = 3;
  std::uint64_t text_at = 64 + 56 + 3 * 64;
  std::uint64_t text_size = 16;
  std::uint64_t segment_size = 16;
  std::uint64_t nobits_size = 1 << 20;
};

// Returns a header, one segment, three sections (null, code, no bits) and 16 bytes of code.
inline Bytes cubin(const CubinFields& fields = {}) {
  Words words;
  words
      .text(
          "\x7f"
          "ELF")
      .u8(fields.elf_class)
      .u8(fields.elf_data)
      .u8(1)
      .u8(0x33)
      .u8(fields.elf_version);
  for (int i = 9; i < 16; ++i) words.u8(0);
  words.u16(2).u16(fields.machine).u32(1).u64(0).u64(64).u64(fields.section_at);
  words.u32(fields.flags).u16(64).u16(56).u16(1).u16(fields.section_bytes);
  words.u16(fields.section_count).u16(0);
  words.u32(1).u32(5).u64(fields.text_at).u64(0).u64(0).u64(fields.segment_size).u64(0).u64(8);
  const auto section = [&](std::uint32_t type, std::uint64_t at, std::uint64_t size) {
    words.u32(0).u32(type).u64(0).u64(0).u64(at).u64(size).u32(0).u32(0).u64(0).u64(0);
  };
  section(0, 0, 0);
  section(1, fields.text_at, fields.text_size);
  section(8, fields.text_at, fields.nobits_size);
  for (int i = 0; i < 16; ++i) words.u8(0xc0);
  return bytes_of_words(words);
}

struct FatbinEntry {
  std::uint16_t kind = 2;
  std::uint32_t architecture = 75;
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint64_t size = 8;
  std::uint32_t header_size = 64;
};

inline Bytes fatbin(const std::vector<FatbinEntry>& entries, std::uint64_t more_than_there_is = 0,
                    std::uint16_t version = 1, std::uint16_t header_size = 16) {
  Words all;
  for (const FatbinEntry& entry : entries) {
    all.u16(entry.kind).u16(0x101).u32(entry.header_size).u64(entry.size).u64(0);
    all.u16(entry.minor).u16(entry.major).u32(entry.architecture);
    for (std::uint32_t i = 32; i < 64; ++i) all.u8(0);
    for (int i = 0; i < 8; ++i) all.u8(0xc0);
  }
  Words words;
  words.u32(0xba55ed50).u16(version).u16(header_size).u64(all.size() + more_than_there_is);
  words.bytes(all.bytes());
  return bytes_of_words(words);
}

}  // namespace gantry::cuda::test
