// SPDX-License-Identifier: Apache-2.0
//
// The payload of the type key "cuda". Parsing it needs no driver.
//
//   str  format        "ptx", "cubin", "fatbin"; "cuda": C++ source
//   kernel table       gantry/kernel_table.hpp
//   str  code          image.hpp; text for the format "cuda", unless it begins as a binary does
#pragma once

#include "image.hpp"

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/sink.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

// Views into the payload's bytes.
struct Payload {
  std::string_view format;
  KernelTable kernels;
  // As in the file; `image` or `source` is its content.
  std::string_view code;
  // Parallel to kernels.kernels().
  std::vector<KernelCall> calls;
  // Of the code; empty for source.
  Image image;
  // CUDA C++ without a NUL; empty: the code is `image`.
  std::string_view source;
  PayloadBytes kept;

  bool is_source() const { return !source.empty(); }
  // "PTX 8.4 for sm_75", "CUDA C++ source"
  std::string text() const { return is_source() ? "CUDA C++ source" : image.text(); }
};

// returns  MALFORMED    at the first wrong field, with its offset
//          UNSUPPORTED  a kernel that KernelCall::parse() rejects
// costs    O(kernels + headers of the code); O(bytes) for PTX
// source   apache/tvm src/runtime/cuda/cuda_module.cc
Result<Payload> read_payload(Blob& blob);

// Writes a payload from its parts: the bytes that were read.
//
// returns  the sink's error
// throws   ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, const Sink& sink);

}  // namespace gantry::cuda
