// SPDX-License-Identifier: Apache-2.0
//
// What the code of a virtual machine says: version, functions, constants. Part of details.cpp.
#pragma once

#include "core/format/payload_walk.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

bool is_virtual_machine(std::string_view type_key);

// Adds `version`, `functions`, `constants` and more to the sink, as far as they can be decoded.
//
// code     the payload without a length in front of the magic
// returns  where it went no further; what was added stays
Status describe_virtual_machine(std::string_view type_key, ByteReader code,
                                const PayloadContext& context, DetailSink& sink);

}  // namespace gantry
