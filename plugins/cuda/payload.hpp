// SPDX-License-Identifier: Apache-2.0
//
// The payload of the type key "cuda". No driver is used.
//
//   str  format        "ptx", "cubin", "fatbin"; "cuda": C++ source
//   kernel table       gantry/kernel_table.hpp
//   str  code          image.hpp
#pragma once

#include "image.hpp"

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/kernel_table.hpp>

#include <string_view>
#include <vector>

namespace gantry::cuda {

// Views into the bytes that were read.
struct Payload {
  std::string_view format;
  KernelTable kernels;
  // As kernels.kernels().
  std::vector<KernelCall> calls;
  // Of the code.
  Image image;
  PayloadBytes kept;
};

// returns  MALFORMED    at the first wrong field, with its offset
//          UNSUPPORTED  C++ source (CUDA_SOURCE), a kernel that KernelCall::parse refuses
// costs    O(kernels + headers of the code); of PTX O(bytes)
// source   apache/tvm src/runtime/cuda/cuda_module.cc
Result<Payload> read_payload(Blob& blob);

}  // namespace gantry::cuda
