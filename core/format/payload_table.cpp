// SPDX-License-Identifier: Apache-2.0
//
// The payload layouts of every type key that a known exporter writes. One row is one layout of its
// keys; the rows of a key are tried from top to bottom. The releases are in FORMAT.md.
#include "core/format/payload_layout.hpp"

#include "core/base/text.hpp"

#include <cassert>

namespace gantry {
namespace {

struct Row {
  // separated by blanks
  std::string_view keys;
  // separated by blanks
  std::string_view fields;
};

constexpr Row rows[] = {
    // Device code.
    {"cuda hip hsaco opencl hexagon aocl aocl_sw_emu sdaccel opengl metal",
     "format:format kernels:map<str,funcinfo> data:bytes"},
    // OpenCL as SPIR-V, v0.13 to v0.23: begins without a format.
    {"opencl", "kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"},
    // Metal: v0.13 to v0.23 with a runtime, then v0.24 and later.
    {"metal", "version:\"0.1.0\" shaders:map<str,bytes> kernels:map<str,funcinfo> format:format"},
    {"metal", "format:format kernels:map<str,funcinfo> shaders:map<str,bytes>"},
    // Vulkan: since v0.24 each shader follows its length.
    {"vulkan",
     "format:format kernels:map<str,funcinfo> shaders:map<str,sized<{flag:u32,vec<u32>}>>"},
    {"vulkan", "format:format kernels:map<str,funcinfo> shaders:map<str,{flag:u32,vec<u32>}>"},
    {"webgpu", "kernels:map<str,funcinfo> shaders:map<str,bytes>"},

    // Constants and executors.
    {"const_loader metadata",
     "names:vec<str> constants:vec<ndarray> symbols:vec<str> wanted:vec<vec<str>>"},
    {"GraphExecutorFactory GraphRuntimeFactory",
     "graph_json:bytes count:u64 names:vec<str> params:count*ndarray module_name:str"},
    {"AotExecutorFactory", "count:u64 names:vec<str> params:count*ndarray module_name:str"},
    {"metadata_module", ""},
    {"VMExecutable relax.Executable relax.VMExecutable", "code:bytes"},
    {"relax.Executable relax.VMExecutable", "code:rest"},

    // Other compilers and other modules.
    {"dnnl_json arm_compute_lib tensorrt bnns_json clml cublas_json cudnn_json hipblas_json nnapi "
     "msc_tensorrt example_npu_json",
     "symbol:str graph_json:bytes constants:vec<str>"},
    {"coreml", "symbol:str archive:bytes"},
    {"torch", "symbol:str archive:bytes"},
    {"ethos-n",
     "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,outputs:u64,outputs*u32}>"},
    {"ethos-n",
     "networks:vec<{name:str,command_stream:bytes,inputs:u64,inputs*u32,inputs*u32,outputs:u64,"
     "outputs*u32,outputs*u32}>"},
    {"VitisAIRuntime", "module:bytes export_path:str symbol:str constants:vec<str>"},
    // v0.16, then v0.17 and later. The shorter one is tried first: it matches if a known key
    // follows, which the longer one would read as `code`.
    {"mrvl_sim", "symbol:str nodes_json:bytes"},
    {"mrvl_sim", "symbol:str nodes_json:bytes code:bytes"},
    {"mrvl_hw", "symbol:str nodes_json:bytes code:bytes inputs:i32 outputs:i32 batch_size:i32"},
    {"examplejson", "graph_json:bytes"},
    {"static_library", "object:bytes functions:vec<str>"},
    {"c", "code:bytes format:str functions:vec<str> constants:vec<str>"},
    // development builds of December 2019 wrote an empty payload
    {"c", ""},
};

}  // namespace

PayloadLayouts PayloadLayouts::built_in() {
  PayloadLayouts layouts;
  for (const Row& row : rows) {
    const Result<PayloadLayout> layout = parse_payload_layout(words_of(row.fields));
    assert(layout.ok() && "a row of the table above does not parse");
    for (const std::string& key : words_of(row.keys)) layouts.add(key, *layout);
  }
  return layouts;
}

}  // namespace gantry
