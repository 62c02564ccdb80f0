// SPDX-License-Identifier: Apache-2.0
//
// Types of parameters as compilers of Relax write them:
//
//     R.Tensor((n, 1, 8, 8), dtype="float32")   R.Shape([n])   T.Tuple(R.Tensor(...), R.Any)   T.int64
#pragma once

#include <gantry/tensor_type.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TensorAnnotation {
  TensorType type;
  // "float32[n, 1, 8, 8]"
  std::string text;
  // Of each extent that is known when it runs, the text: "n", "2 * n". Empty: a number.
  std::vector<std::string> extents;
};

// returns  nullopt: no tensor, or one without a known shape and dtype
std::optional<TensorAnnotation> tensor_annotation(std::string_view annotation);

// The extents of a list, as those of TensorAnnotation.
struct ExtentList {
  // -1: known when it runs
  std::vector<std::int64_t> shape;
  std::vector<std::string> extents;
};

// returns  nullopt: no shape, or one whose extents are not stated
std::optional<ExtentList> shape_annotation(std::string_view annotation);

// True if a tensor may be passed: the annotation is that of a tensor or of any object, or empty.
bool accepts_tensor(std::string_view annotation);

// True for "T.Tuple(...)" and, up to v0.25, "R.Tuple(...)".
bool is_tuple(std::string_view annotation);

// Returns the items of a tuple, each nested tuple being one.
//
// annotation [in] is_tuple()
std::vector<std::string_view> tuple_items(std::string_view annotation);

// Returns the items of a tuple, those of nested tuples one by one; the annotation itself if it is no
// tuple, or longer than 16 KiB.
std::vector<std::string_view> flat_annotations(std::string_view annotation);

// The type of a parameter or a result, from a constant that checks of the code refer to:
//
//     ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((1, 64), dtype="float32"))
//     ErrorContext(fn=main, loc=return, annotation=R.Tensor((1, 10), dtype="float32"))
struct StatedAnnotation {
  std::string_view function;
  // empty: the result
  std::string_view param;
  std::string_view type;
};

// returns  nullopt: the text of another constant
std::optional<StatedAnnotation> stated_annotation(std::string_view constant);

// Returns the annotation, with "..." in place of what follows its first 240 characters: those of
// tuples of all weights are long.
std::string shown_annotation(std::string_view annotation);

}  // namespace gantry
