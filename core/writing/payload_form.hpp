// SPDX-License-Identifier: Apache-2.0
//
// The forms that the releases of each generation give to payloads, and the type keys that they know.
#pragma once

#include "core/formats/exporter_facts.hpp"
#include "core/writing/container.hpp"

#include <gantry/tensor.h>
#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <string>
#include <string_view>

namespace gantry {

struct PayloadForm {
  Generation generation = Generation::g3;
  // "v0.8 to v0.20"
  std::string_view releases;
  // of CPU code
  Dialect dialect = Dialect::packed;
  // the form of kernel records
  ArgumentTags argument_tags = ArgumentTags::no;
  // kernel records repeat the kernel's name
  bool has_kernel_names = false;
  // of launch tags that are flags
  std::string_view flag_prefix;
  // shaders of Vulkan follow their length
  bool has_sized_shaders = false;
  // of constants in Relax code
  Numbering numbering = Numbering::packed;
  // Relax code follows its length
  bool has_code_length = false;
  // dtype codes 6 to 8 are float8 and float4 types
  bool has_private_float_codes = false;
};

// G5 has the form of v0.24 and later.
//
// generation  [in]   G1 to G5
const PayloadForm& payload_form(Generation generation);

// True if all payloads have the same form in both generations.
bool have_same_payloads(Generation a, Generation b);

// Returns the type key that modules of a key have in another generation: mostly the same.
//
// returns  unsupported: no release of the generation has such modules
Result<std::string> converted_type_key(std::string_view type_key, Generation to);

// Offset of the dtype in an array record; see gantry/array_record.hpp.
constexpr std::uint64_t record_dtype_at = 28;

// Returns the number of an element type in another generation.
//
// is_private  codes 6 to 8 of `dtype` are float8 and float4 types
// returns     unsupported: the other generation has no number for it
Result<gantry_dtype> converted_dtype(gantry_dtype dtype, bool is_private, const PayloadForm& to);
// Reads one and writes it.
Status write_converted_dtype(ByteReader in, bool is_private, const PayloadForm& to,
                             dmlc::Stream& out);

}  // namespace gantry
