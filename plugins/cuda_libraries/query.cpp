// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

GANTRY_PLUGIN(gantry::cuda_libraries::Plugin);
