// SPDX-License-Identifier: Apache-2.0
#include "core/formats/type_key.hpp"

#include "core/base/near_name.hpp"
#include "core/formats/limits.hpp"

#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

// The releases that write a layout are in FORMAT.md.
namespace layouts {
using Layouts = std::string_view[];

constexpr Layouts device_code = {"format:format kernels:map<str,funcinfo> data:bytes"};
// Source; as SPIR-V, v0.13 to v0.23: begins without a format.
constexpr Layouts opencl = {"format:format kernels:map<str,funcinfo> data:bytes",
                            "kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"};
// Source; v0.13 to v0.23 with a runtime; v0.24 and later.
constexpr Layouts metal = {
    "format:format kernels:map<str,funcinfo> data:bytes",
    "version:\"0.1.0\" shaders:map<str,bytes> kernels:map<str,funcinfo> format:format",
    "format:format kernels:map<str,funcinfo> shaders:map<str,bytes>"};
// Since v0.24 each shader follows its length.
constexpr Layouts vulkan = {
    "format:format kernels:map<str,funcinfo> shaders:map<str,sized<{flag:u32,vec<u32>}>>",
    "format:format kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"};
constexpr Layouts webgpu = {"kernels:map<str,funcinfo> shaders:map<str,bytes>"};

constexpr Layouts constants = {
    "names:vec<str> constants:vec<ndarray> symbols:vec<str> wanted:vec<vec<str>>"};
constexpr Layouts graph = {
    "graph_json:bytes count:u64 names:vec<str> params:count*ndarray module_name:str"};
constexpr Layouts ahead_of_time = {"count:u64 names:vec<str> params:count*ndarray module_name:str"};
constexpr Layouts empty = {""};
constexpr Layouts relay_code = {"code:bytes"};
// Up to v0.21 the code follows its length.
constexpr Layouts relax_code = {"code:bytes", "code:rest"};

constexpr Layouts subgraph = {"symbol:str graph_json:bytes constants:vec<str>"};
constexpr Layouts archive = {"symbol:str archive:bytes"};
constexpr Layouts ethos_n = {
    "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,outputs:u64,outputs*u32}>",
    "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,inputs*u32,outputs:u64,"
    "outputs*u32,outputs*u32}>"};
constexpr Layouts vitis_ai = {"module:bytes export_path:str symbol:str constants:vec<str>"};
// v0.16, then v0.17 and later. The shorter one is tried first: it matches if a known key follows, which
// the longer one would read as `code`.
constexpr Layouts marvell_simulator = {"symbol:str nodes_json:bytes",
                                       "symbol:str nodes_json:bytes code:bytes"};
constexpr Layouts marvell = {
    "symbol:str nodes_json:bytes code:bytes inputs:i32 outputs:i32 batch_size:i32"};
constexpr Layouts example = {"graph_json:bytes"};
constexpr Layouts static_library = {"object:bytes functions:vec<str>"};
// Development builds of December 2019 wrote an empty payload.
constexpr Layouts c_source = {"code:bytes format:str functions:vec<str> constants:vec<str>", ""};
}  // namespace layouts

constexpr TypeKey rows[] = {
    {.key = aot_factory_key,
     .what = "ahead-of-time executor",
     .content = PayloadContent::ahead_of_time,
     .layouts = layouts::ahead_of_time,
     .first = Generation::g3,
     .last = Generation::g3,
     .plugin = "gantry.aot"},
    {.key = graph_factory_key,
     .what = "graph executor",
     .content = PayloadContent::graph,
     .layouts = layouts::graph,
     .first = Generation::g3,
     .last = Generation::g3,
     .plugin = "gantry.graph"},
    {.key = old_graph_factory_key,
     .what = "graph executor of v0.7",
     .content = PayloadContent::graph,
     .layouts = layouts::graph,
     .first = Generation::g2,
     .last = Generation::g3,
     .renamed = graph_factory_key,
     .plugin = "gantry.graph"},
    {.key = relay_executable_key,
     .what = "Relay virtual machine",
     .content = PayloadContent::relay_code,
     .layouts = layouts::relay_code,
     .first = Generation::g3,
     .last = Generation::g3,
     .plugin = "gantry.relay-vm"},
    {.key = "VitisAIRuntime",
     .layouts = layouts::vitis_ai,
     .vendor = "AMD",
     .device = "DPUs with Vitis AI"},
    {.key = "aocl",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .vendor = "Intel",
     .device = "FPGAs with OpenCL"},
    {.key = "aocl_sw_emu",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .vendor = "Intel",
     .device = "an emulator of FPGAs with OpenCL"},
    {.key = "arm_compute_lib",
     .what = "Arm Compute Library graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "Arm",
     .device = "Arm CPUs with the Arm Compute Library"},
    {.key = "bnns_json",
     .what = "BNNS graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "Apple",
     .device = "Apple CPUs with BNNS"},
    {.key = "c", .layouts = layouts::c_source},
    {.key = "clml",
     .what = "OpenCL ML graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "Qualcomm",
     .device = "Adreno GPUs with OpenCL ML"},
    {.key = constants_key,
     .what = "constants of partitioned graphs",
     .content = PayloadContent::constants,
     .layouts = layouts::constants,
     .first = Generation::g3,
     .plugin = "gantry.const-loader"},
    {.key = "coreml",
     .what = "Core ML model",
     .layouts = layouts::archive,
     .vendor = "Apple",
     .device = "Apple devices with Core ML"},
    {.key = "cublas_json",
     .what = "cuBLAS graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "NVIDIA",
     .device = "CUDA GPUs with cuBLAS"},
    {.key = "cuda",
     .what = "CUDA kernels",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .plugin = "gantry.cuda"},
    {.key = "cudnn_json",
     .what = "cuDNN graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "NVIDIA",
     .device = "CUDA GPUs with cuDNN"},
    {.key = "dnnl_json",
     .what = "oneDNN graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl"},
    {.key = "ethos-n",
     .what = "Ethos-N network",
     .layouts = layouts::ethos_n,
     .vendor = "Arm",
     .device = "Ethos-N NPUs"},
    {.key = "example_npu_json", .layouts = layouts::subgraph},
    {.key = "examplejson", .layouts = layouts::example},
    {.key = "hexagon",
     .what = "Hexagon kernels",
     .content = PayloadContent::kernels,
     .conversion = PayloadConversion::hexagon_data,
     .layouts = layouts::device_code,
     .vendor = "Qualcomm",
     .device = "Hexagon DSPs"},
    {.key = "hip",
     .what = "ROCm kernels",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .renamed = "hsaco",
     .kind = "rocm",
     .vendor = "AMD",
     .device = "ROCm GPUs"},
    {.key = "hipblas_json",
     .what = "hipBLAS graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "AMD",
     .device = "ROCm GPUs with hipBLAS"},
    {.key = "hsaco",
     .what = "ROCm kernels",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .kind = "rocm",
     .vendor = "AMD",
     .device = "ROCm GPUs"},
    {.key = "metadata",
     .what = "constants of partitioned graphs, v0.7 and v0.8",
     .content = PayloadContent::constants,
     .layouts = layouts::constants,
     .first = Generation::g2,
     .last = Generation::g3,
     .renamed = constants_key,
     .plugin = "gantry.const-loader"},
    {.key = aot_metadata_key,
     .what = "metadata of the ahead-of-time executor",
     .layouts = layouts::empty,
     .first = Generation::g3,
     .last = Generation::g3,
     .plugin = "gantry.aot"},
    {.key = "metal",
     .what = "Metal kernels",
     .content = PayloadContent::kernels,
     .conversion = PayloadConversion::metal_fields,
     .layouts = layouts::metal,
     .vendor = "Apple",
     .device = "Apple GPUs with Metal"},
    {.key = "mrvl_hw",
     .layouts = layouts::marvell,
     .vendor = "Marvell",
     .device = "Marvell machine-learning accelerators"},
    {.key = "mrvl_sim",
     .layouts = layouts::marvell_simulator,
     .vendor = "Marvell",
     .device = "a simulator of Marvell machine-learning accelerators"},
    {.key = "msc_tensorrt",
     .what = "TensorRT graph of MSC",
     .layouts = layouts::subgraph,
     .vendor = "NVIDIA",
     .device = "CUDA GPUs with TensorRT"},
    {.key = "nnapi",
     .what = "NNAPI graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "Google",
     .device = "Android devices with NNAPI"},
    {.key = "opencl",
     .what = "OpenCL kernels",
     .content = PayloadContent::kernels,
     .conversion = PayloadConversion::opencl_text,
     .layouts = layouts::opencl,
     .plugin = "gantry.opencl"},
    {.key = "opengl",
     .what = "OpenGL kernels",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code},
    {.key = "relax.Executable",
     .what = "Relax virtual machine of v0.16 to v0.19",
     .content = PayloadContent::relax_code,
     .layouts = layouts::relax_code,
     .first = Generation::g3,
     .last = Generation::g3,
     .renamed = relax_executable_key,
     .plugin = "gantry.relax"},
    {.key = relax_executable_key,
     .what = "Relax virtual machine",
     .content = PayloadContent::relax_code,
     .layouts = layouts::relax_code,
     .first = Generation::g3,
     .plugin = "gantry.relax"},
    {.key = "sdaccel",
     .content = PayloadContent::kernels,
     .layouts = layouts::device_code,
     .vendor = "AMD",
     .device = "Xilinx FPGAs with SDAccel"},
    {.key = "static_library", .what = "object code", .layouts = layouts::static_library},
    {.key = "tensorrt",
     .what = "TensorRT graph",
     .layouts = layouts::subgraph,
     .plugin = "gantry.dnnl",
     .vendor = "NVIDIA",
     .device = "CUDA GPUs with TensorRT"},
    {.key = "torch",
     .layouts = layouts::archive,
     .vendor = "the PyTorch Foundation",
     .device = "LibTorch"},
    {.key = "vulkan",
     .what = "Vulkan kernels",
     .content = PayloadContent::kernels,
     .conversion = PayloadConversion::vulkan_shaders,
     .layouts = layouts::vulkan,
     .plugin = "gantry.vulkan"},
    {.key = "webgpu",
     .what = "WebGPU kernels",
     .content = PayloadContent::kernels,
     .conversion = PayloadConversion::webgpu_kernels,
     .layouts = layouts::webgpu},
};

const TypeKey* find_renamed_to(std::string_view key) {
  const auto* const found = std::ranges::find(rows, key, &TypeKey::renamed);
  return found != std::end(rows) ? found : nullptr;
}

bool exists_in(Generation generation, const TypeKey& key) {
  return generation >= key.first && generation <= key.last;
}

}  // namespace

std::span<const TypeKey> type_keys() { return rows; }

const TypeKey* find_type_key(std::string_view key) {
  const auto* const found = std::ranges::lower_bound(rows, key, {}, &TypeKey::key);
  return found != std::end(rows) && found->key == key ? found : nullptr;
}

PayloadContent content_of(std::string_view type_key) {
  const TypeKey* const found = find_type_key(type_key);
  return found != nullptr ? found->content : PayloadContent::other;
}

PayloadConversion conversion_of(std::string_view type_key) {
  const TypeKey* const found = find_type_key(type_key);
  return found != nullptr ? found->conversion : PayloadConversion::parts;
}

std::string_view device_kind_of(const TypeKey& key) {
  if (key.content != PayloadContent::kernels) return {};
  const std::string_view kind = key.kind.empty() ? key.key : key.kind;
  return dlpack_number(kind) != 0 ? kind : std::string_view();
}

std::string_view type_key_in(Generation generation, std::string_view type_key) {
  const TypeKey* const key = find_type_key(type_key);
  if (key == nullptr || exists_in(generation, *key)) return type_key;
  const TypeKey* const other =
      generation < key->first ? find_renamed_to(type_key) : find_type_key(key->renamed);
  return other != nullptr && exists_in(generation, *other) ? other->key : std::string_view();
}

std::string vendor_advice(const TypeKey& key) {
  return concat("it runs on ", key.device, ", by a plugin of ", key.vendor,
                "; gantry contains none");
}

std::vector<std::string> near_keys(std::string_view key, const std::vector<std::string>& served) {
  std::vector<std::string> near;
  const auto add = [&](std::string_view name) {
    const bool offered = std::ranges::find(served, name) != served.end();
    if (offered && name != key && std::ranges::find(near, name) == near.end())
      near.emplace_back(name);
  };
  for (const TypeKey& known : rows) {
    if (known.key == key) add(known.renamed);
    if (known.renamed == key) add(known.key);
  }
  for (const std::string& name : near_names(key, {served.begin(), served.end()})) add(name);
  return near;
}

bool is_type_key(std::string_view key) {
  return !key.empty() && key.size() <= limits::type_key_bytes &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Failure type_key_error(std::string_view key, std::uint64_t offset, std::uint64_t entry) {
  const auto refusal = [&](const auto&... parts) {
    return malformed(offset, "type key of entry ", entry, parts...).with_reason("BLOB_KEY");
  };
  if (key.empty()) return refusal(" is empty: the entry before it does not end here");
  if (key.size() > limits::type_key_bytes) {
    return refusal(" has ", key.size(), " bytes, maximum is ", limits::type_key_bytes);
  }
  return refusal(" is ", quoted(key), ", expected printable ASCII");
}

}  // namespace gantry
