// SPDX-License-Identifier: Apache-2.0
//
// Describes the code of virtual machines: version, functions, constants. Part of details.cpp.
#pragma once

#include "core/formats/payload_walk.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// Adds `version`, `functions`, `constants` and other fields to the sink, as far as they can be
// decoded. The list `fillers` has the indices of constants that only align others; it is absent if
// there are none.
//
// code       the payload from its magic number on
// numbering  numbering of the constants; unknown: the one with which the code ends at its last
//            field
// returns    an error for the first field that cannot be decoded; previous fields remain in the
//            sink
Status describe_virtual_machine(std::string_view type_key, ByteReader code, Numbering numbering,
                                DetailSink& sink);

}  // namespace gantry
