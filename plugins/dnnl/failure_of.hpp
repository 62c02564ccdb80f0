// SPDX-License-Identifier: Apache-2.0
//
// oneDNN's status codes as errors.
#pragma once

#include "onednn.hpp"

#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry::dnnl_plugin {

// "oneDNN 2.6.3"
std::string library_text();

// what     [in]   the operator or the action that failed
// at       [in]   offset of the operator in the payload
// returns  UNSUPPORTED  oneDNN has no implementation (SUBGRAPH_OPERATOR)
//          MALFORMED    shapes and attributes do not fit together (SUBGRAPH)
//          EXHAUSTED    memory (MEMORY)
//          UNAVAILABLE  any other failure (DRIVER_CALL)
Failure failure_of(dnnl_status_t status, std::string_view what, std::uint64_t at = no_offset);

}  // namespace gantry::dnnl_plugin
