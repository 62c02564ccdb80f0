// SPDX-License-Identifier: Apache-2.0
//
// The fields of a payload as text, in lines of at most 100 columns.
#pragma once

#include "tools/gantry/common/text_sink.hpp"

#include "core/formats/detail.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace gantry::cli {

constexpr std::size_t max_columns = 100;

// A list or record as one line, "args [handle, int32], launch [blockIdx.x]"; an array as
// "float32[1, 64], 256 B".
std::string inline_text(const Detail& detail);

// Writes a field, and the fields in it on lines of their own if they do not fit on one.
//
// indent   [in]   columns before it
void write_detail_text(const Detail& detail, std::size_t indent, const TextSink& sink);

// Writes texts with commas between them, as many on a line as fit.
//
// indent   [in]   columns before the first line
// further  [in]   columns before the others
void write_list(std::span<const std::string> texts, std::size_t indent, std::size_t further,
                const TextSink& sink);

}  // namespace gantry::cli
