// SPDX-License-Identifier: Apache-2.0
//
// Types of parameters as compilers of Relax write them:
//
//     R.Tensor((n, 1, 8, 8), dtype="float32")   R.Shape([n])   T.Tuple(R.Tensor(...), R.Any)   T.int64
#pragma once

#include <gantry/tensor_type.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TensorAnnotation {
  TensorType type;
  // "float32[n, 1, 8, 8]"
  std::string text;
};

// returns  nullopt: no tensor, or one without a known shape and dtype
std::optional<TensorAnnotation> tensor_annotation(std::string_view annotation);

// True if a tensor may be passed: the annotation is that of a tensor or of any object, or empty.
bool accepts_tensor(std::string_view annotation);

// True for "T.Tuple(...)" and, up to v0.25, "R.Tuple(...)".
bool is_tuple(std::string_view annotation);

// Returns the items of a tuple, those of nested tuples one by one; the annotation itself if it is no
// tuple, or longer than 16 KiB.
std::vector<std::string_view> flat_annotations(std::string_view annotation);

}  // namespace gantry
