// SPDX-License-Identifier: Apache-2.0
//
// gantry/blob_facts.hpp - what the host states about the exporter of a payload.
#pragma once

#include <gantry/loader.h>

#include <cstdint>
#include <iterator>

namespace gantry {

// The form of kernel records: whether they have the field of argument tags. A later form has all
// fields of the earlier ones; kernel_table.hpp has the table.
enum class ArgumentTags : std::uint32_t {
  unknown = GANTRY_ARGUMENT_TAGS_UNKNOWN,
  no = GANTRY_ARGUMENT_TAGS_NO,
  yes = GANTRY_ARGUMENT_TAGS_YES,
};

// The numbering of value kinds in stored constants.
enum class Numbering : std::uint32_t {
  unknown = GANTRY_NUMBERING_UNKNOWN,
  packed = GANTRY_NUMBERING_PACKED,
  ffi_0_21 = GANTRY_NUMBERING_FFI_0_21,
  ffi = GANTRY_NUMBERING_FFI,
};

// The forms, in the order of their releases.
inline constexpr ArgumentTags kernel_forms[] = {ArgumentTags::no, ArgumentTags::yes};

// Numbers of later versions are `unknown`.
constexpr ArgumentTags argument_tags_of(const gantry_blob& blob) {
  return blob.argument_tags > static_cast<std::uint32_t>(*std::rbegin(kernel_forms))
             ? ArgumentTags::unknown
             : ArgumentTags{blob.argument_tags};
}
constexpr Numbering numbering_of(const gantry_blob& blob) {
  return blob.numbering > GANTRY_NUMBERING_FFI ? Numbering::unknown : Numbering{blob.numbering};
}

}  // namespace gantry
