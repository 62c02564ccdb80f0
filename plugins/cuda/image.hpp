// SPDX-License-Identifier: Apache-2.0
//
// Device code as the driver takes it: recognised, measured and described from its bytes, without a driver.
//
//   PTX     text; ".version 8.4" and ".target sm_75" come first behind comments      compiled by the driver at load
//   cubin   ELF, machine 190                                                         runs on its own architecture
//   fatbin  50 ed 55 ba, u16 1, u16 header size, u64 size of the entries; entries of both kinds
//
//     fatbin entry  u16 kind (1 PTX, 2 cubin), u16, u32 header size, u64 size of what follows the header,
//                   u32 compressed size, u32, u16 minor, u16 major (of PTX), u32 architecture
//
// The driver is given an address and no size: it reads as far as these headers say. So they are compared with the bytes
// that are there before any driver sees them. A format's name decides nothing ("cubin" may hold a fatbin), bytes do.
#pragma once

#include <gantry/loader.h>
#include <gantry/byte_reader.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

// 7.5 is {7, 5}, sm_75 too.
struct Architecture {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// One piece of code for one architecture.
struct ImagePart {
  bool is_ptx = false;
  // {0, 0}: the code does not say
  Architecture target;
  // of PTX: 'a' runs on its target alone, 'f' on its target's major version, 0 on all later
  char variant = 0;
  // of PTX: the version of the language
  Architecture language;
  friend bool operator==(const ImagePart&, const ImagePart&) = default;
};

struct Image {
  enum class Kind : std::uint8_t { ptx, cubin, fatbin };
  Kind kind = Kind::ptx;
  // What the driver reads: of PTX the text without NULs at its end, to which the caller adds one.
  std::span<const std::uint8_t> code;
  // in the order of the bytes; a fatbin may have none
  std::vector<ImagePart> parts;

  // "PTX 8.4 for sm_75", "cubin for sm_90", "fatbin with cubin for sm_75, PTX 9.0 for sm_90"
  std::string text() const;

  // How well the device can run it: GANTRY_VERDICT_*, that of the best part. Whether the driver knows the version of the
  // PTX language is another question.
  std::int32_t verdict(Architecture device) const;

  // Has it PTX of a later version of the language? {0, 0}: that is not known, so no.
  bool has_later_ptx(Architecture latest) const;
};

// "sm_90", "sm_90a"
std::string architecture_text(Architecture architecture, char variant = 0);

// Reads what begins at `in`, to its end.
//
// in       [in]   over the code alone; its offset counts in the payload
// returns  MALFORMED  (BLOB_FORMAT)     neither of the three
//                     (BLOB_TRUNCATED)  headers say more than there is
// lifetime the image views the reader's bytes
// costs    O(sections or entries); of PTX O(bytes)
Result<Image> read_image(ByteReader in);

}  // namespace gantry::cuda
