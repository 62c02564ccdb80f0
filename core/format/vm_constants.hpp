// SPDX-License-Identifier: Apache-2.0
//
// The constants in the code of virtual machines: their tags, their boundaries, and which of them
// are fillers. Used by vm_details.cpp, relax_code.cpp and relay_code.cpp.
#pragma once

#include "core/format/exporter_facts.hpp"

#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>
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

// One kind of constant: its tag and its fields in the grammar of payload_layout.hpp.
struct VmConstantKind {
  std::uint32_t tag;
  std::string_view words;
};

constexpr std::string_view vm_text_words = "text:str";

// The kinds of constants; the first one is the array. The tags of Relax are run-time type numbers,
// which differ between the numberings.
//
// numbering  unknown: as ffi
std::span<const VmConstantKind> relax_constant_kinds(ExporterFacts::Numbering numbering);
// Relay since v0.9. Constants of v0.8 are arrays without tags.
std::span<const VmConstantKind> relay_constant_kinds();

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
  std::vector<bool> is_array;
  // the code refers to it; set by the reader of the code
  std::vector<bool> is_used;

  std::size_t size() const { return is_array.size(); }
  std::span<const std::uint8_t> bytes_of(std::size_t i, const BytesAt& code) const {
    return code.slice(at[i], at[i + 1]);
  }
};

// Reads a u64 count, then the constants.
//
// kinds    empty: arrays without tags
// returns  malformed  an unknown tag, or malformed content
//          unsupported  an element type that is not supported in files
// costs    O(constants); array data are not read
Result<VmConstants> read_vm_constants(ByteReader& in, std::span<const VmConstantKind> kinds);

// Checks that the data of an array have all bytes of its type and shape: a record of vectors may omit
// their lanes, so that a tensor would extend beyond the data.
//
// returns  malformed, at the data
Status check_array_bytes(const ArrayRecord& array);

// Returns for each constant whether it is a filler (gantry/aligned_record.hpp): a vector of zero
// bytes that no code refers to, before an array.
//
// costs    O(constants + bytes of fillers)
std::vector<bool> find_fillers(const VmConstants& constants, const BytesAt& code);

}  // namespace gantry
