// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

namespace gantry::cuda {

Plugin::Plugin(Host given) : host(given), gpus(given), compiler(given) {
  for (const auto rows : {sort_scan_functions(), tensor_map_functions()}) {
    for (const FunctionRow& row : rows) functions.emplace(row.name, NamedFunction{this, &row});
  }
}

}  // namespace gantry::cuda

GANTRY_PLUGIN(gantry::cuda::Plugin);
