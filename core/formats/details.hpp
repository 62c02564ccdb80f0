// SPDX-License-Identifier: Apache-2.0
//
// Describes the content of payloads for users: kernels and formats, parameter names and shapes,
// versions, functions.
#pragma once

#include "core/formats/detail.hpp"
#include "core/formats/entry.hpp"
#include "core/formats/payload_layout.hpp"

#include <string>
#include <vector>

namespace gantry {

struct PayloadDetails {
  // a record
  Detail root;
  // one for each part that could not be decoded
  std::vector<Message> warnings;
};

// Describes a payload. Errors become warnings. The number of details is limited (limits.hpp); a
// warning reports omitted ones.
//
//   device code     format, as stated in the payload; kernels: {args, launch}; data bytes
//   graph, AOT      module_name; params: {dtype, shape, bytes}; graph_json bytes
//   constants       constants: {dtype, shape, bytes}; symbols
//   JSON runtimes   symbol; constants; graph_json bytes; nodes: {name, op, inputs, outputs}
//   VMs             version; functions; constants; fillers: indices of constants
//   any bytes       for a field `data` also data_format, if it is detected
PayloadDetails describe_payload(const Entry& entry, const ExporterFacts& facts,
                                const PayloadLayouts& layouts);

}  // namespace gantry
