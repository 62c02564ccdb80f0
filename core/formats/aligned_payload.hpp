// SPDX-License-Identifier: Apache-2.0
//
// Rewrites a payload so that its array data are aligned in the file and can be used in place. A
// filler before each array moves its data (gantry/aligned_record.hpp); FORMAT.md, "Fillers",
// describes them for each key.
//
//     PayloadOutput to{stream, position};
//     GANTRY_CHECK(write_aligned_payload(entry.type_key, entry.payload, container.facts, to));
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

struct PayloadOutput {
  // Its failures are not reported: it throws, or stores them.
  dmlc::Stream& stream;
  // file offset of the payload's first byte
  std::uint64_t position = 0;
  // of array data: a power of two up to max_record_data_alignment. See data_alignment()
  std::uint64_t alignment = record_data_alignment;
};

// Writes a payload with new fillers, in place of those that it has: the result of a second call is
// the same. Payloads of keys without array data are written unchanged.
//
//   graph, AOT              parameters
//   constants               named constants
//   virtual machines        constants; the code refers to the same constants by their new indices
//
// payload  the whole payload; Write() gets array data as spans of it
// facts    of the container: the numbering of constants
// returns  malformed    the payload, before anything is written
//          unsupported  functions that are compiled into the library refer to constants by index;
//                       a version of code, or an element type, that is not supported
//          invalid      the alignment
// costs    O(bytes); memory O(names + constants + words of code), array data are not copied
Status write_aligned_payload(std::string_view type_key, std::span<const std::uint8_t> payload,
                             const ExporterFacts& facts, const PayloadOutput& to);

}  // namespace gantry
