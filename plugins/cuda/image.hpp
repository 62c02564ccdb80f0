// SPDX-License-Identifier: Apache-2.0
//
// Device code: its format, size and architectures, read from its bytes without a driver.
//
//   PTX     text; ".version 8.4" and ".target sm_75" follow comments; compiled at load
//   cubin   ELF, machine 190; runs on its own architecture
//   fatbin  50 ed 55 ba, u16 1, u16 header size, u64 size of the entries; entries of both kinds
//
//     fatbin entry  u16 kind (1 PTX, 2 cubin), u16, u32 header size, u64 size of the code,
//                   u32 compressed size, u32, u16 minor, u16 major (of PTX), u32 architecture
//
// The driver receives an address without a size and reads as far as these headers state, so the
// headers are compared with the available bytes first. The bytes determine the format; the
// payload's format name does not ("cubin" may contain a fatbin).
#pragma once

#include <gantry/loader.h>
#include <gantry/byte_reader.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::cuda {

// {7, 5} is compute capability 7.5, sm_75.
struct Architecture {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// Code for one architecture.
struct ImagePart {
  bool is_ptx = false;
  // {0, 0}: not stated in the code.
  Architecture target;
  // PTX only: 'a' runs on its target only, 'f' on its target's major version, 0 on all later
  // targets.
  char variant = 0;
  // PTX only: the version of the language.
  Architecture language;
  friend bool operator==(const ImagePart&, const ImagePart&) = default;
};

struct Image {
  enum class Kind : std::uint8_t { ptx, cubin, fatbin };
  Kind kind = Kind::ptx;
  // The bytes for the driver. PTX excludes the NULs at its end; the caller appends one.
  std::span<const std::uint8_t> code;
  // In the order of the bytes; may be empty for a fatbin.
  std::vector<ImagePart> parts;

  // "PTX 8.4 for sm_75", "cubin for sm_90", "fatbin with cubin for sm_75, PTX 9.0 for sm_90"
  std::string text() const;

  // Returns GANTRY_VERDICT_* of the best part for a device. Does not consider whether the driver
  // supports the PTX version, see below.
  std::int32_t verdict(Architecture device) const;

  // True if the code contains PTX of a later version than `latest`; false for {0, 0}, unknown.
  bool has_later_ptx(Architecture latest) const;
};

// Returns "sm_90", "sm_90a".
std::string architecture_text(Architecture architecture, char variant = 0);

// True if the code begins as a cubin or a fatbin.
bool has_binary_magic(const ByteReader& in);

// Reads device code.
//
// in       [in]   contains only the code; its offsets are those of the payload
// returns  MALFORMED  none of the three formats (BLOB_FORMAT), or the headers exceed the bytes
//                     (BLOB_TRUNCATED)
// lifetime the image views the reader's bytes
// costs    O(sections or entries); O(bytes) for PTX
Result<Image> read_image(ByteReader in);

}  // namespace gantry::cuda
