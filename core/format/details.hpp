// SPDX-License-Identifier: Apache-2.0
//
// What a payload tells a reader: kernels and formats, parameter names and shapes, versions, functions.
// For people; nothing is loaded by it.
#pragma once

#include "core/format/detail.hpp"
#include "core/format/entry.hpp"
#include "core/format/payload_layout.hpp"

#include <string>
#include <vector>

namespace gantry {

struct PayloadDetails {
  // a record
  Detail root;
  // what could not be decoded; the file is as good as before
  std::vector<std::string> warnings;
};

// Never fails. What is shown of one payload is limited (limits.hpp); a cut is a warning.
//
//   device code     format, as the payload says; kernels: {args, launch}; data bytes
//   graph, AOT      module_name; params: {dtype, shape, bytes}; graph_json bytes
//   constants       constants: {dtype, shape, bytes}; symbols
//   JSON runtimes   symbol; constants; graph_json bytes
//   VMs             version; functions; constants
//   bytes of any    beside `data`: data_format, where the first bytes tell (data_format.hpp)
PayloadDetails describe_payload(const Entry& entry, const PayloadContext& context,
                                const PayloadLayouts& layouts);

}  // namespace gantry
