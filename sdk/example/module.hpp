// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions.
#pragma once

#include <gantry/loader.h>

namespace abacus {

// the plugin's self is a Plugin*
extern const gantry_loader_table loader;

}  // namespace abacus
