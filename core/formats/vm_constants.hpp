// SPDX-License-Identifier: Apache-2.0
//
// The constants in the code of virtual machines: their values, their boundaries, and which of them
// are fillers. relax_code.hpp and relay_code.hpp have them.
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry {

// First word of the code of both machines.
constexpr std::uint64_t vm_magic_first = 0xD225DE2F4214151D;
// Of Relax since v0.23: with memory scopes.
constexpr std::uint64_t vm_magic_second = 0xD225DE2F4214151E;

// Malformed code of either machine.
template <class... Parts>
Failure refuse_code(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

// Reads a number of items of which real files have far fewer than `max`.
//
// min_bytes  [in]  of each item, at least 1
Result<std::uint64_t> read_limited_count(ByteReader& in, std::uint64_t min_bytes, std::uint64_t max,
                                         const char* items);

// A constant: an array, a dtype, a shape, a text, an integer or a number. Array data and texts are
// views into the code. Types have the codes of the file; see dtype_codes.hpp.
using VmConstant = std::variant<ArrayRecord, gantry_dtype, std::vector<std::int64_t>,
                                std::string_view, std::int64_t, double>;

struct VmConstantKind {
  std::int32_t tag;
  // Reads what follows the tag.
  Result<VmConstant> (*read)(ByteReader& in);
};

// The constants of a machine: each is a tag and its content.
struct VmConstantForm {
  // Relax: in the order of VmConstant's types. Empty: arrays without tags.
  std::span<const VmConstantKind> kinds;
  // What an error about an unknown tag ends with.
  std::string_view expected;
  std::uint64_t max_count = UINT64_MAX;
};

constexpr std::uint64_t max_relax_constants = std::uint64_t{1} << 20;

// The constants of Relax. Their tags are run-time type numbers, which differ between the
// numberings:
//
//     content                v0.16 to v0.20   v0.21   since v0.22
//     array record                        0      72            70
//     dtype                               1       5             5
//     shape: vec<i64>                     2      71            69
//     text: str                           3      65            65
//     integer: i64                        4       1             1
//     number: f64                         5       3             3
//
// numbering  unknown: as ffi
const VmConstantForm& relax_constant_form(Numbering numbering);
// Those of Relay since v0.9, an array or the name of a late-bound one; and of v0.8, arrays without
// tags.
const VmConstantForm& relay_constant_form(bool has_tags);

// Bytes with the offset of the first one, as errors report it.
struct BytesAt {
  std::span<const std::uint8_t> bytes;
  std::uint64_t at = 0;

  std::span<const std::uint8_t> slice(std::uint64_t begin, std::uint64_t end) const {
    return bytes.subspan(begin - at, end - begin);
  }
  ByteReader reader(std::uint64_t begin) const {
    return ByteReader(bytes.subspan(begin - at), begin);
  }
};

struct VmConstants {
  // bytes of a tag: 4, or 0 for constants without tags
  std::uint64_t tag_bytes = 0;
  // of each constant with its tag, then the end of the last one
  std::vector<std::uint64_t> at;
  std::vector<VmConstant> values;

  std::size_t size() const { return values.size(); }
  // Returns NULL for a constant that is not an array.
  const ArrayRecord* array(std::size_t i) const { return std::get_if<ArrayRecord>(&values[i]); }
  std::span<const std::uint8_t> bytes_of(std::size_t i, const BytesAt& code) const {
    return code.slice(at[i], at[i + 1]);
  }
};

// Reads a u64 count, then the constants.
//
// constants  [out]  after a failure, those before the malformed one
// returns  malformed  an unknown tag, or malformed content
//          unsupported  an element type that is not supported in files
// costs    O(constants); array data are not read
Status read_vm_constants(ByteReader& in, const VmConstantForm& form, VmConstants& constants);

// Checks that the data of an array have all bytes of its type and shape: a record of vectors may omit
// their lanes, so that a tensor would extend beyond the data.
//
// returns  malformed, at the data
Status check_array_bytes(const ArrayRecord& array);

// Returns for each constant whether it is a filler (gantry/aligned_record.hpp): a vector of zero
// bytes that no code refers to, before an array.
//
// is_used  [in]   for each constant, whether the code refers to it
// costs    O(constants + bytes of fillers)
std::vector<bool> find_fillers(const VmConstants& constants, const std::vector<bool>& is_used);

}  // namespace gantry
