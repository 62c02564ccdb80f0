// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/outputs.hpp"

#include "tools/gantry/script/script_values.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gantry::cli {
namespace {

// Returns the tensor of an output, or a new one that contains its number; an empty one for other
// values.
Result<Tensor> tensor_of(const Runtime& runtime, const Any& output) {
  const gantry_value& value = output.value();
  const auto scalar = [&](gantry_dtype dtype, const void* number) -> Result<Tensor> {
    GANTRY_TRY(Tensor tensor, runtime.tensor({}, dtype));
    std::memcpy(tensor.data(), number, tensor.byte_size());
    return tensor;
  };
  switch (value.kind) {
    case GANTRY_TENSOR:
      return output.tensor();
    case GANTRY_INT:
    case GANTRY_BOOL:
      return scalar(dtypes::int64, &value.i);
    case GANTRY_FLOAT:
      return scalar(dtypes::float64, &value.f);
    default:
      return Tensor();
  }
}

}  // namespace

Status Outputs::add(std::int64_t run, std::span<const NamedValue> outputs) {
  texts_.clear();
  std::size_t index = 0;
  for (const NamedValue& output : outputs) {
    GANTRY_TRY(const Tensor tensor, tensor_of(runtime_, output.value));
    if (tensor) {
      GANTRY_CHECK(add_tensor(run, index++, output.name, tensor));
    } else {
      NamedText text{output.name, {}};
      GANTRY_TRY(text.text, value_line(runtime_, output.value));
      texts_.push_back(std::move(text));
    }
  }
  if (index != arrays_.size()) {
    return invalid("run ", run, " has ", index, " outputs that are arrays, run 0 has ",
                   arrays_.size(), "; --each requires the same of each run");
  }
  return {};
}

Status Outputs::add_tensor(std::int64_t run, std::size_t index, const std::string& name,
                           const Tensor& tensor) {
  if (run == 0) {
    std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    if (each_) shape.insert(shape.begin(), count_);
    GANTRY_TRY(Tensor array, runtime_.tensor(shape, tensor.dtype()));
    arrays_.push_back({name, std::move(array)});
  }
  if (!each_) return runtime_.copy(tensor, arrays_[index].tensor);
  const Tensor none;
  const Tensor& array = index < arrays_.size() ? arrays_[index].tensor : none;
  const bool fits = array && same_dtype(array.dtype(), tensor.dtype()) &&
                    std::ranges::equal(array.shape().subspan(1), tensor.shape());
  if (!fits) {
    return invalid("output ", quoted(name), " of run ", run, " is ",
                   type_text(tensor.dtype(), tensor.shape()), ", expected ",
                   array ? type_text(array.dtype(), array.shape().subspan(1)) : "no such output",
                   " as in run 0; --each requires the same of each run");
  }
  GANTRY_TRY(const Tensor row, array.row(run));
  return runtime_.copy(tensor, row);
}

}  // namespace gantry::cli
