// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a CUDA module, as they lie in the artifact.
//
//   str  format        "ptx", "cubin", "fatbin"; "cuda": C++ source
//   kernel table       gantry/kernel_table.hpp
//   str  code          image.hpp
//
// No driver is needed for any of it.
#pragma once

#include "image.hpp"

#include <gantry/loader.h>
#include <gantry/handle.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/kernel_table.hpp>

#include <string_view>
#include <vector>

namespace gantry::cuda {

struct Payload {
  std::string_view format;
  KernelTable kernels;
  // one for each kernel of the table
  std::vector<KernelCall> calls;
  // as in the file
  std::string_view code;
  // of the code
  Image image;
  // keeps the bytes that all views above look into
  ObjectRef pin;
};

// Reads a payload.
//
// blob     [in]   its pin is retained
// consumed [out]  bytes, all of them where the blob is EXACT
// returns  MALFORMED    at the first wrong field, with its offset
//          UNSUPPORTED  C++ source (CUDA_SOURCE), a kernel that KernelCall::parse refuses
// costs    O(kernels + headers of the code); of PTX O(bytes)
// source   apache/tvm src/runtime/cuda/cuda_module.cc
Result<Payload> read_payload(const gantry_blob& blob, std::uint64_t* consumed);

// Writes a payload, byte for byte as it was read.
//
// throws   ErrorThrown where the sink fails, as SinkStream does: call it behind abi_boundary()
void write_payload(const Payload& payload, const gantry_sink& sink);

}  // namespace gantry::cuda
