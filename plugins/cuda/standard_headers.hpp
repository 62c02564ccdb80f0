// SPDX-License-Identifier: Apache-2.0
//
// Minimal texts for headers of NVIDIA's C++ library that TVM's CUDA sources include, passed to NVRTC
// with the source, so that a host without a CUDA Toolkit compiles it.
#pragma once

#include <span>

namespace gantry::cuda {

struct StandardHeader {
  // As in the #include.
  const char* name;
  const char* text;
};

// Static.
//
// source   apache/tvm, the beginning of the sources of src/target/source/codegen_cuda.cc since v0.20
std::span<const StandardHeader> standard_headers();

}  // namespace gantry::cuda
