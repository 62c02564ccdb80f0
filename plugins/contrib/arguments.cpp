// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <gantry/device_name.hpp>

#include <algorithm>

namespace gantry::contrib {

Result<std::vector<std::int64_t>> dims_at(const Host& host, const Call& call, std::size_t i) {
  std::vector<std::int64_t> dims;
  if (i >= call.args.size() || call.args[i].kind != GANTRY_ARRAY) {
    GANTRY_TRY(const auto shape, call.shape(i));
    dims.assign(shape.begin(), shape.end());
    return dims;
  }
  GANTRY_TRY(const auto items, host.items(call.args[i].object));
  for (const gantry_value& item : items) {
    const auto number = value_int(item);
    if (!number) return call.wrong(i, "a shape, or an array of integers");
    dims.push_back(*number);
  }
  return dims;
}

Result<Axis> axis_of(const Host& host, const gantry_tensor& tensor, std::int64_t number) {
  const std::int64_t index = number < 0 ? number + tensor.ndim : number;
  if (index < 0 || index >= tensor.ndim) {
    return raise(host, "ValueError", "axis is ", number, ", the tensor has ", tensor.ndim,
                 " dimensions");
  }
  Axis axis;
  axis.index = static_cast<std::size_t>(index);
  const auto shape = shape_of(tensor);
  axis.size = shape[axis.index];
  // The product of the other extents says nothing about the memory then, and may overflow.
  if (is_empty(tensor)) {
    axis.outer = 0;
    return axis;
  }
  // Neither product overflows then.
  GANTRY_CHECK(tensor_bytes(shape, dtypes::uint8));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis.index) (i < axis.index ? axis.outer : axis.inner) *= shape[i];
  }
  return axis;
}

}  // namespace gantry::contrib
