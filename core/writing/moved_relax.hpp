// SPDX-License-Identifier: Apache-2.0
//
// Writes a Relax executable in the form of another generation. Part of moved_payload.cpp.
#pragma once

#include "core/formats/exporter_facts.hpp"
#include "core/writing/payload_form.hpp"

#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <cstdint>
#include <span>

namespace gantry {

// Code of G5 has memory scopes, as v0.23 and later write it, code of older generations has none.
//
// returns  malformed    the payload
//          unsupported  the code has memory scopes and the generation has none; an element type that
//                       the generation lacks; a version of code that is not supported
Status write_moved_relax(std::span<const std::uint8_t> payload, const ExporterFacts& facts,
                         const PayloadForm& to, dmlc::Stream& out);

}  // namespace gantry
