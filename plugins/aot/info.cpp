// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"

#include "functions.hpp"

#include <gantry/dtype_text.hpp>

namespace gantry::aot {

Result<Value> info_of(const Host& host, const std::vector<AotTensor>& tensors,
                      const std::function<bool(std::size_t)>& is_listed) {
  std::vector<Host::Entry> shapes, dtypes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_listed && !is_listed(i)) continue;
    GANTRY_TRY(const Value name, host.text(tensors[i].name));
    GANTRY_TRY(const Value shape, host.shape(tensors[i].shape));
    GANTRY_TRY(const Value dtype, host.text(dtype_text(tensors[i].dtype)));
    shapes.emplace_back(name, shape);
    dtypes.emplace_back(name, dtype);
  }
  GANTRY_TRY(const Value shape, host.text("shape"));
  GANTRY_TRY(const Value all_shapes, host.map(shapes));
  GANTRY_TRY(const Value dtype, host.text("dtype"));
  GANTRY_TRY(const Value all_dtypes, host.map(dtypes));
  return host.map({{shape, all_shapes}, {dtype, all_dtypes}});
}

Result<Value> get_input_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return info_of(executor.host(), executor.metadata().inputs,
                 [&](std::size_t i) { return !executor.memory().is_parameter(i); });
}

Result<Value> get_output_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return info_of(executor.host(), executor.metadata().outputs);
}

}  // namespace gantry::aot
