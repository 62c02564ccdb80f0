// SPDX-License-Identifier: Apache-2.0
//
// Type keys of other vendors' libraries that this plugin serves, and what the libraries run on.
// core/manifest/vendor_keys.cpp, which plugins cannot include, has the same facts; a test compares
// them.
#pragma once

#include <string_view>

namespace gantry::dnnl_plugin {

struct Vendor {
  std::string_view key;
  std::string_view name;
  // "CUDA GPUs with cuBLAS"
  std::string_view device;
};
constexpr Vendor vendors[] = {
    {"arm_compute_lib", "Arm", "Arm CPUs with the Arm Compute Library"},
    {"bnns_json", "Apple", "Apple CPUs with BNNS"},
    {"clml", "Qualcomm", "Adreno GPUs with OpenCL ML"},
    {"cublas_json", "NVIDIA", "CUDA GPUs with cuBLAS"},
    {"cudnn_json", "NVIDIA", "CUDA GPUs with cuDNN"},
    {"tensorrt", "NVIDIA", "CUDA GPUs with TensorRT"},
};

}  // namespace gantry::dnnl_plugin
