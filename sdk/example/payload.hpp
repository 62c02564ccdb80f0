// SPDX-License-Identifier: Apache-2.0
//
// A payload of type key "example.abacus", from bytes to structs. No device is used.
//
//     str  format, "beads"
//     kernel table (gantry/kernel_table.hpp), as `gantry pack` writes it
//     str  programs (program.hpp)
#pragma once

#include "program.hpp"

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>

namespace abacus {

struct Kernel {
  gantry::KernelCall call;
  std::vector<Step> steps;
};

struct Payload {
  std::vector<Kernel> kernels;
  gantry::PayloadBytes kept;
};

// returns  MALFORMED    at the field, or at the line of a program
//          UNSUPPORTED  another format, a parameter's type, a launch in more than one dimension
gantry::Result<Payload> read_payload(gantry::Blob& blob);

}  // namespace abacus
