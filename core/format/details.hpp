// SPDX-License-Identifier: Apache-2.0
//
// What a payload holds, for people: kernels and formats, parameter names and shapes, versions,
// functions.
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
  // what could not be decoded
  std::vector<std::string> warnings;
};

// Describes a payload. Never fails. The details of one payload are limited (limits.hpp); a cut is a
// warning.
//
//   device code     format, as the payload says; kernels: {args, launch}; data bytes
//   graph, AOT      module_name; params: {dtype, shape, bytes}; graph_json bytes
//   constants       constants: {dtype, shape, bytes}; symbols
//   JSON runtimes   symbol; constants; graph_json bytes
//   VMs             version; functions; constants
//   any bytes       beside `data`: data_format, where the first bytes show it (data_format.hpp)
PayloadDetails describe_payload(const Entry& entry, const ExporterFacts& facts,
                                const PayloadLayouts& layouts);

}  // namespace gantry
