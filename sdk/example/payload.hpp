// SPDX-License-Identifier: Apache-2.0
//
// A payload of type key "example.abacus", bytes to struct; touches no device.
//
//     str  format, "beads"
//     kernel table (gantry/kernel_table.hpp), the layout that `gantry pack` writes for format and kernels
//     str  programs (program.hpp)
#pragma once

#include "program.hpp"

#include <gantry/loader.h>
#include <gantry/kernel_args.hpp>

namespace abacus {

struct Kernel {
  gantry::KernelCall call;
  std::vector<Step> steps;
};

struct Payload {
  std::vector<Kernel> kernels;
  // bytes read
  std::uint64_t size = 0;
};

// returns  MALFORMED    at the field, or at the line of a program
//          UNSUPPORTED  another format, a parameter's type, or a launch in more than one dimension
gantry::Result<Payload> read_payload(const gantry_blob& blob);

}  // namespace abacus
