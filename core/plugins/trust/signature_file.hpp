// SPDX-License-Identifier: Apache-2.0
//
// The signature of a manifest: `<manifest>.minisig` beside it, or beside the file that it leads to.
#pragma once

#include "core/plugins/trust/minisign.hpp"

#include <gantry/result.hpp>

#include <optional>
#include <string>

namespace gantry {

// Returns the path of the signature of a manifest; the file need not exist.
std::string signature_path(const std::string& manifest_file);

// Reads the file of a signature. nullopt: it does not exist.
//
// returns  malformed or unavailable, reason SIGNATURE_INVALID
Result<std::optional<MinisignSignature>> read_signature_file(const std::string& file);

}  // namespace gantry
