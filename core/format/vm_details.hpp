// SPDX-License-Identifier: Apache-2.0
//
// The code of a virtual machine: version, functions, constants. Part of details.cpp.
#pragma once

#include "core/format/payload_walk.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

bool is_virtual_machine(std::string_view type_key);

// Adds `version`, `functions`, `constants` and more to the sink, as far as they can be decoded.
//
// code       the payload without a length in front of the magic
// numbering  of the constants; unknown: the one with which the code ends at its last field
// returns    the first field that cannot be decoded; what was added stays
Status describe_virtual_machine(std::string_view type_key, ByteReader code,
                                ExporterFacts::Numbering numbering, DetailSink& sink);

}  // namespace gantry
