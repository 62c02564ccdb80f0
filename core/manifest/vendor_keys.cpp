// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/vendor_keys.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <iterator>

namespace gantry {
namespace {

// Sorted bytewise.
//
// source   apache/tvm v0.2 to v0.26, the run-time modules of src/runtime and src/runtime/contrib
constexpr VendorKey kVendor[] = {
    {"VitisAIRuntime", "AMD", "DPUs with Vitis AI"},
    {"aocl", "Intel", "FPGAs with OpenCL"},
    {"aocl_sw_emu", "Intel", "an emulator of FPGAs with OpenCL"},
    {"arm_compute_lib", "Arm", "Arm CPUs with the Arm Compute Library"},
    {"bnns_json", "Apple", "Apple CPUs with BNNS"},
    {"clml", "Qualcomm", "Adreno GPUs with OpenCL ML"},
    {"coreml", "Apple", "Apple devices with Core ML"},
    {"cublas_json", "NVIDIA", "CUDA GPUs with cuBLAS"},
    {"cudnn_json", "NVIDIA", "CUDA GPUs with cuDNN"},
    {"ethos-n", "Arm", "Ethos-N NPUs"},
    {"hexagon", "Qualcomm", "Hexagon DSPs"},
    {"hip", "AMD", "ROCm GPUs"},
    {"hipblas_json", "AMD", "ROCm GPUs with hipBLAS"},
    {"hsaco", "AMD", "ROCm GPUs"},
    {"metal", "Apple", "Apple GPUs with Metal"},
    {"mrvl_hw", "Marvell", "Marvell machine-learning accelerators"},
    {"mrvl_sim", "Marvell", "a simulator of Marvell machine-learning accelerators"},
    {"msc_tensorrt", "NVIDIA", "CUDA GPUs with TensorRT"},
    {"nnapi", "Google", "Android devices with NNAPI"},
    {"sdaccel", "AMD", "Xilinx FPGAs with SDAccel"},
    {"tensorrt", "NVIDIA", "CUDA GPUs with TensorRT"},
    {"torch", "the PyTorch Foundation", "LibTorch"},
};

}  // namespace

std::span<const VendorKey> vendor_keys() { return kVendor; }

const VendorKey* find_vendor_key(std::string_view key) {
  const auto* const found = std::ranges::find(kVendor, key, &VendorKey::key);
  return found != std::end(kVendor) ? found : nullptr;
}

std::string vendor_advice(const VendorKey& key) {
  return concat("it runs on ", key.device, ", by a plugin of ", key.vendor,
                "; gantry contains none");
}

}  // namespace gantry
