// SPDX-License-Identifier: Apache-2.0
#include "subgraph_plugin.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cuda_libraries {

Status SubgraphHost::check_device(std::string_view type_key, std::size_t i,
                                  const gantry_tensor& tensor) const {
  if (tensor.device.type == dlpack_number("cuda")) return {};
  return unsupported(
             "argument ", i, " is ", tensor_text(tensor), " on ", host.device_text(tensor.device),
             ", ", quoted(type_key),
             " sub-graphs run here with tensors on cuda; on the CPU they run with gantry.dnnl, "
             "which plugins.overrides in runtime.yaml chooses")
      .with_reason("ARGUMENT_DEVICE");
}

}  // namespace gantry::cuda_libraries
