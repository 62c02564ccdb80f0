// SPDX-License-Identifier: Apache-2.0
//
// Bars and lines of a histogram in text: with block elements where the terminal shows UTF-8, else
// in ASCII.
#pragma once

#include "tools/gantry/common/terminal.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace gantry::cli {

// "######" or "█████▌": a bar of a share of `width` columns. A share above 0 has at least the
// shortest one.
//
// share    [in]   0 to 1; others are taken as the nearest of these
std::string bar_text(double share, int width, const Terminal& terminal);

// " .=@*:.." or "▁▂▅█▄▂▁▁": one character for each count, higher or darker for a larger one. A count
// of 0 is a blank.
std::string levels_text(std::span<const std::size_t> counts, const Terminal& terminal);

}  // namespace gantry::cli
