// SPDX-License-Identifier: Apache-2.0
#include "subgraph_plugin.hpp"

GANTRY_PLUGIN(gantry::cuda_libraries::SubgraphPlugin<gantry::cuda_libraries::CublasJson>);
