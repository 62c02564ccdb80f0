// SPDX-License-Identifier: Apache-2.0
//
// The records of the zip format that .npz files use. All numbers are little-endian.
//
//     ZipLocalHeader, name, extra fields, data       for each member
//     ZipDirectoryEntry, name, extra fields          for each member
//     Zip64End, Zip64Locator                         if a number is too large for ZipEnd
//     ZipEnd, comment
//
// If a 32-bit size or offset has all bits set, a zip64 extra field contains the 64-bit number.
//
// source   PKWARE, APPNOTE.TXT 6.3.10
#pragma once

#include <cstdint>

namespace gantry {

constexpr std::uint16_t zip_stored = 0;
constexpr std::uint16_t zip_deflated = 8;

// Flags. zip_encrypted combines encryption of the data, strong encryption, and encryption of the
// directory.
constexpr std::uint16_t zip_encrypted = 1u << 0 | 1u << 6 | 1u << 13;
constexpr std::uint16_t zip_utf8_name = 1u << 11;

constexpr std::uint16_t zip_max16 = 0xffff;
constexpr std::uint32_t zip_max32 = 0xffffffff;

// The common fields of local headers and directory entries.
struct [[gnu::packed]] ZipFields {
  // format version that a reader must support, times ten
  std::uint16_t version;
  std::uint16_t flags;
  std::uint16_t method;
  std::uint16_t time;
  std::uint16_t date;
  // CRC-32 of the decompressed data
  std::uint32_t crc;
  std::uint32_t packed_bytes;
  std::uint32_t bytes;
  std::uint16_t name_bytes;
  std::uint16_t extra_bytes;
};

struct [[gnu::packed]] ZipLocalHeader {
  static constexpr std::uint32_t expected = 0x04034b50;
  std::uint32_t signature = expected;
  ZipFields fields;
};
static_assert(sizeof(ZipLocalHeader) == 30);

struct [[gnu::packed]] ZipDirectoryEntry {
  static constexpr std::uint32_t expected = 0x02014b50;
  std::uint32_t signature = expected;
  std::uint16_t made_by;
  ZipFields fields;
  std::uint16_t comment_bytes;
  std::uint16_t disk;
  std::uint16_t internal_attributes;
  std::uint32_t external_attributes;
  // offset of the local header
  std::uint32_t header_at;
};
static_assert(sizeof(ZipDirectoryEntry) == 46);

// An extra field. In a local header it has no header_at; in a directory entry it has only the
// numbers that do not fit in the entry.
struct [[gnu::packed]] Zip64Field {
  static constexpr std::uint16_t expected = 1;
  std::uint16_t id = expected;
  // without id and size
  std::uint16_t size;
  std::uint64_t bytes;
  std::uint64_t packed_bytes;
  std::uint64_t header_at;
};

struct [[gnu::packed]] Zip64End {
  static constexpr std::uint32_t expected = 0x06064b50;
  std::uint32_t signature = expected;
  // without signature and size
  std::uint64_t size = 44;
  std::uint16_t made_by;
  std::uint16_t version;
  std::uint32_t disk;
  std::uint32_t directory_disk;
  std::uint64_t count_here;
  std::uint64_t count;
  std::uint64_t directory_bytes;
  std::uint64_t directory_at;
};
static_assert(sizeof(Zip64End) == 56);

struct [[gnu::packed]] Zip64Locator {
  static constexpr std::uint32_t expected = 0x07064b50;
  std::uint32_t signature = expected;
  std::uint32_t disk;
  // offset of Zip64End
  std::uint64_t end_at;
  std::uint32_t disks;
};
static_assert(sizeof(Zip64Locator) == 20);

struct [[gnu::packed]] ZipEnd {
  static constexpr std::uint32_t expected = 0x06054b50;
  std::uint32_t signature = expected;
  std::uint16_t disk;
  std::uint16_t directory_disk;
  std::uint16_t count_here;
  std::uint16_t count;
  std::uint32_t directory_bytes;
  std::uint32_t directory_at;
  std::uint16_t comment_bytes;
};
static_assert(sizeof(ZipEnd) == 22);

}  // namespace gantry
