// SPDX-License-Identifier: Apache-2.0
//
// Writes a payload in the form of another generation.
//
//     kernel tables        argument tags, the kernel's second name, prefixes of launch tags
//     Vulkan               the length before each shader
//     Metal                the order of the fields
//     OpenCL C             for G3 and later, a line with each kernel's name before its program
//     Relax                tags of constants, the length before the code
//     all                  numbers of element types
//
// All other bytes are the same in every generation. A payload that was converted there and back is
// the original one, unless it had argument tags that are only optional, or an OpenCL text without
// names of kernels.
#pragma once

#include "core/formats/exporter_facts.hpp"
#include "core/formats/payload_layout.hpp"

#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// True if all payloads have the same form in both generations, except that of OpenCL C.
//
// a, b      [in]   generations that are written
bool have_same_payloads(Generation a, Generation b);

// Returns the type key that modules of a key have in another generation: mostly the same.
//
// returns  unsupported: no release of the generation has such modules
Result<std::string> converted_type_key(std::string_view type_key, Generation to);

// type_key  [in]   in the generation of the payload
// facts     [in]   of the container of the payload
// out       [in]   receives large data as spans of `payload`
// returns   unsupported  the key has no layout, so that its form in another generation is unknown;
//                        the payload has something that the generation cannot express, which is
//                        named. Something may have been written then. Of Relax: memory scopes, if
//                        the generation has none; a version of code that is not supported
//           malformed    the payload matches no layout of its key
// costs     O(bytes); memory O(items)
Status write_converted_payload(std::string_view type_key, std::span<const std::uint8_t> payload,
                               const ExporterFacts& facts, const PayloadLayouts& layouts,
                               Generation to, dmlc::Stream& out);

}  // namespace gantry
