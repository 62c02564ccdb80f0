// SPDX-License-Identifier: Apache-2.0
//
// What a payload tells a reader: kernels and formats, parameter names and shapes, versions, functions.
// For people; nothing is loaded by it.
#pragma once

#include "core/blob/container.hpp"
#include "core/blob/payload_layout.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A small tree that a tool prints as text or JSON. Text comes from the file as it is: escape it.
struct Detail {
  enum class Kind : std::uint8_t {
    text,    // value
    number,  // value, decimal
    size,    // value, a count of bytes: the field holds data
    list,    // children, in order; names repeat nothing and may be empty
    record,  // children, by name
  };
  Kind kind = Kind::record;
  std::string name;
  std::string value;
  std::vector<Detail> children;

  // The child of that name, or null.
  const Detail* find(std::string_view child) const;
};

struct PayloadDetails {
  Detail root;                        // a record
  std::vector<std::string> warnings;  // what could not be decoded; the file is as good as before
};

// Never fails. What is shown of one payload is limited (limits.hpp); a cut is a warning.
//
//   device code     format; kernels: {args, launch}; data bytes
//   graph, AOT      module_name; params: {dtype, shape, bytes}; graph_json bytes
//   constants       constants: {dtype, shape, bytes}; symbols
//   JSON runtimes   symbol; constants; graph_json bytes
//   VMs             version; functions; constants
PayloadDetails describe_payload(const Entry& entry, const PayloadContext& context,
                                const PayloadLayouts& layouts);

}  // namespace gantry
