// SPDX-License-Identifier: Apache-2.0
//
// The text of a Relax executable for `inspect`: its functions with their parameters, and with
// --code its constants and instructions.
#pragma once

#include "tools/gantry/common/text_sink.hpp"

#include "core/format/detail.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// True if this text is that of the module with these details.
bool is_executable(std::string_view type_key, const Detail& details);

// details  [in]   of the module, see core/format/details.hpp
// code     [in]   lines; NULL: neither code nor constants are written
void write_executable(const Detail& details, const std::vector<std::string>* code,
                      const TextSink& sink);

}  // namespace gantry::cli
