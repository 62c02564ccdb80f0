// SPDX-License-Identifier: Apache-2.0
//
// Writes kernel tables in the form of another generation.
#pragma once

#include "core/formats/generation.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <string_view>

namespace gantry {

struct KernelTableForm {
  std::string_view type_key;
  ArgumentTags argument_tags = ArgumentTags::no;
  bool has_private_float_codes = false;
};

// returns  unsupported  a launch tag, an argument tag or an element type that the generation lacks
Status convert_kernel(KernelInfo& kernel, const KernelTableForm& from, const GenerationFacts& to);

// in       [in]   at the table; is_end after it
// returns  malformed    the table
//          unsupported  see convert_kernel()
Status write_converted_kernels(ByteReader in, const KernelTableForm& from,
                               const GenerationFacts& to, dmlc::Stream& out);

}  // namespace gantry
