// SPDX-License-Identifier: Apache-2.0
//
// Finds the parts of a payload whose form depends on the exporter's release. All other bytes of a
// payload are the same in every release.
#pragma once

#include "core/formats/payload_layout.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

struct PayloadPart {
  enum class Kind : std::uint8_t {
    // map<str,funcinfo>, from its count on
    kernel_table,
    // a kernel record that is not in a table
    kernel,
    // an array record, which contains a dtype
    array,
    dtype,
  };
  Kind kind = Kind::dtype;
  // offset in the payload
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  // within a field that follows its length, or before an alignment
  bool has_fixed_size = false;
};

struct PayloadParts {
  // the end of each field of the layout
  std::vector<std::uint64_t> field_ends;
  // in order; they do not overlap
  std::vector<PayloadPart> parts;
};

// measured  [in]   of the payload
// returns   malformed, as measuring the payload would
// costs     O(items); the content of texts and arrays of numbers is skipped
Result<PayloadParts> find_parts(std::span<const std::uint8_t> payload, const Measured& measured);

}  // namespace gantry
