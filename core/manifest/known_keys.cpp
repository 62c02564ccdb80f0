// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/known_keys.hpp"

#include "core/base/near_name.hpp"

#include <algorithm>

namespace gantry {
namespace {

// Sorted bytewise.
//
// source   apache/tvm v0.2 to v0.26, the type keys of all runtime modules
constexpr KnownKey kKnown[] = {
    {"AotExecutorFactory", "gantry.aot", "", "ahead-of-time executor"},
    {"GraphExecutorFactory", "gantry.graph", "", "graph executor"},
    {"GraphRuntimeFactory", "gantry.graph", "GraphExecutorFactory", "graph executor of v0.7"},
    {"VMExecutable", "gantry.relay-vm", "", "Relay virtual machine"},
    {"arm_compute_lib", "gantry.dnnl", "", "Arm Compute Library graph"},
    {"bnns_json", "gantry.dnnl", "", "BNNS graph"},
    {"clml", "gantry.dnnl", "", "OpenCL ML graph"},
    {"const_loader", "gantry.const-loader", "", "constants of partitioned graphs"},
    {"coreml", "", "", "Core ML model"},
    {"cublas_json", "gantry.dnnl", "", "cuBLAS graph"},
    {"cuda", "gantry.cuda", "", "CUDA kernels"},
    {"cudnn_json", "gantry.dnnl", "", "cuDNN graph"},
    {"dnnl_json", "gantry.dnnl", "", "oneDNN graph"},
    {"ethos-n", "", "", "Ethos-N network"},
    {"hexagon", "", "", "Hexagon kernels"},
    {"hip", "", "hsaco", "ROCm kernels"},
    {"hipblas_json", "", "", "hipBLAS graph"},
    {"hsaco", "", "", "ROCm kernels"},
    {"metadata", "gantry.const-loader", "const_loader",
     "constants of partitioned graphs, v0.7 and v0.8"},
    {"metadata_module", "gantry.aot", "", "metadata of the ahead-of-time executor"},
    {"metal", "", "", "Metal kernels"},
    {"msc_tensorrt", "", "", "TensorRT graph of MSC"},
    {"nnapi", "", "", "NNAPI graph"},
    {"opencl", "gantry.opencl", "", "OpenCL kernels"},
    {"opengl", "", "", "OpenGL kernels"},
    {"relax.Executable", "gantry.relax", "relax.VMExecutable",
     "Relax virtual machine of v0.16 to v0.19"},
    {"relax.VMExecutable", "gantry.relax", "", "Relax virtual machine"},
    {"static_library", "", "", "object code"},
    {"tensorrt", "gantry.dnnl", "", "TensorRT graph"},
    {"vulkan", "gantry.vulkan", "", "Vulkan kernels"},
    {"webgpu", "", "", "WebGPU kernels"},
};

}  // namespace

std::span<const KnownKey> known_keys() { return kKnown; }

const KnownKey* find_known_key(std::string_view key) {
  for (const KnownKey& known : kKnown) {
    if (known.key == key) return &known;
  }
  return nullptr;
}

std::vector<std::string> near_keys(std::string_view key, const std::vector<std::string>& served) {
  std::vector<std::string> near;
  const auto add = [&](std::string_view name) {
    const bool offered = std::find(served.begin(), served.end(), name) != served.end();
    if (offered && name != key && std::find(near.begin(), near.end(), name) == near.end())
      near.emplace_back(name);
  };
  for (const KnownKey& known : kKnown) {
    if (known.key == key) add(known.renamed);
    if (known.renamed == key) add(known.key);
  }
  for (const std::string& name : near_names(key, {served.begin(), served.end()})) add(name);
  return near;
}

}  // namespace gantry
