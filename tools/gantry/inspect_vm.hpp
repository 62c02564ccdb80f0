// SPDX-License-Identifier: Apache-2.0
//
// The text of an executable of a virtual machine for `inspect`: its functions with their parameters, and with
// --code its constants and instructions.
#pragma once

#include "tools/gantry/common/text_sink.hpp"

#include "core/formats/detail.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// True if this text is that of the module with these details.
bool is_executable(std::string_view type_key, const Detail& details);

// Returns for each constant of a virtual machine whether it only aligns others; empty if the
// details have no constants.
std::vector<bool> fillers_of(const Detail& details);

// details  [in]   of the module, see core/formats/details.hpp
// code     [in]   lines; NULL: neither code nor constants are written
void write_executable(const Detail& details, const std::vector<std::string>* code,
                      const TextSink& sink);

}  // namespace gantry::cli
