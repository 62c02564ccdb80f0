// SPDX-License-Identifier: Apache-2.0
//
// The weights that a model lists in its metadata: the JSON text that the function "_metadata" of its
// executable returns. They are in the order of the tuple that its other functions take.
//
//     {"params": [{"name": "fc.weight", "shape": ["rows", 64], "dtype": "float16", ...}, ...], ...}
//
// An extent that is a name or -1 is symbolic. All other keys are ignored.
#pragma once

#include <gantry/result.hpp>
#include <gantry/tensor_type.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Longer metadata are refused. They have about 150 bytes for each weight.
constexpr std::size_t max_model_metadata_bytes = std::size_t{16} << 20;

struct ModelParam {
  std::string name;
  TensorType type;
  // "float16[rows, 64]"
  std::string type_text;
};

// Parses metadata.
//
// json     [in]   UTF-8, untrusted
// returns  the weights; empty if "params" is absent or has no item; malformed, reason
//          MODEL_METADATA: the text is too long or not JSON, a key of an item is missing, or a value
//          has another kind. The offset is in the text
// costs    time and memory O(json)
Result<std::vector<ModelParam>> parse_model_metadata(std::string_view json);

}  // namespace gantry::cli
