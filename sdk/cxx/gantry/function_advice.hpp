// SPDX-License-Identifier: Apache-2.0
//
// gantry/function_advice.hpp - what to do about a function that compiled code names and nothing has.
//
// One table for the errors of executors and of look-ups by the host, and for reports of what an artifact
// requires.
#pragma once

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Names of functions, and why this host may lack them.
struct FunctionAdvice {
  // a name, or with a final '*' all names that begin with it; "" and "." stand for those that are not in
  // the table, without and with a dot
  std::string_view pattern;
  // what the functions are
  std::string_view what;
  // what to do
  std::string_view remedy;
};

namespace detail {
// The first that matches a name is its advice.
//
// source   apache/tvm v0.16 to v0.27: registrations and compilers; MLC-LLM
inline constexpr FunctionAdvice function_advice[] = {
    {"runtime.disco.*", "communication of several workers, for which the model is compiled",
     "compile it for one worker (without tensor or pipeline parallelism)"},
    {"runtime.nvshmem.*", "a function of NVSHMEM, NVIDIA's memory of several GPUs",
     "compile without NVSHMEM"},
    {"nvshmem.*", "a function of NVSHMEM, NVIDIA's memory of several GPUs",
     "compile without NVSHMEM"},
    {"flashinfer.*", "a kernel of FlashInfer", "compile without FlashInfer"},
    {"batch_prefill_*", "a kernel of FlashInfer, which the compiler links into the artifact",
     "compile without FlashInfer"},
    {"batch_decode_*", "a kernel of FlashInfer, which the compiler links into the artifact",
     "compile without FlashInfer"},
    {"batch_mla_*", "a kernel of FlashInfer, which the compiler links into the artifact",
     "compile without FlashInfer"},
    {"cutlass.*", "a CUTLASS kernel for NVIDIA GPUs that is linked into TVM's own runtime",
     "compile without CUTLASS"},
    {"fastertransformer.*",
     "a FasterTransformer kernel for NVIDIA GPUs that is linked into TVM's own runtime",
     "compile without CUTLASS and FasterTransformer"},
    {"tvm.contrib.vllm.*", "a vLLM kernel for NVIDIA GPUs that is linked into TVM's own runtime",
     "compile without vLLM's kernels"},
    {"topi.*", "a function of TVM's compiler, which TVM cannot run from an artifact either",
     "replace the operator in the model"},
    {"tvm.contrib.hipblas.*", "a function of AMD's hipBLAS", "compile without hipBLAS"},
    {"tvm.contrib.rocblas.*", "a function of AMD's rocBLAS", "compile without rocBLAS"},
    {"tvm.contrib.miopen.*", "a function of AMD's MIOpen", "compile without MIOpen"},
    {"tvm.contrib.mps.*", "a function of Apple's Metal Performance Shaders",
     "compile without Metal Performance Shaders"},
    {"tvm.contrib.nnpack.*", "a function of NNPACK", "compile without NNPACK"},
    {"contrib.nnpack.*", "a function of NNPACK", "compile without NNPACK"},
    {"runtime.amx_*", "a function of TVM for Intel's AMX", "compile for a target without AMX"},
    {"vm.builtin.hexagon.*", "a function of TVM's runtime for Qualcomm's Hexagon",
     "compile for another target"},
    {"device_api.hexagon*", "a function of TVM's runtime for Qualcomm's Hexagon",
     "compile for another target"},
    {"device_api.opencl.*", "memory of a scope of its own, such as OpenCL textures",
     "compile without textures"},
    {"device_api.*", "a function of a device of TVM's runtime",
     "compile for a device that a plugin serves"},
    {"vm.builtin.kv_cache_disagg_*", "transfer of a KV cache between processes on GPUs",
     "compile without disaggregation"},
    {"vm.builtin.paged_attention_kv_cache_create_reduced", "a KV cache of TVM before 0.20",
     "compile the model with a newer TVM"},
    {"mlc_llm.calibration_observer", "a function of MLC-LLM's calibration",
     "compile the calibrated model, or let the program add the function"},
    {"tvm.contrib.cublas.*", "a function of NVIDIA's cuBLAS",
     "install plugin gantry.cuda-libraries (gantry-plugin-cuda-libraries), or compile without "
     "cuBLAS"},
    {"tvm.contrib.cublaslt.*", "a function of NVIDIA's cuBLASLt",
     "install plugin gantry.cuda-libraries (gantry-plugin-cuda-libraries), or compile without "
     "cuBLAS"},
    {"tvm.contrib.cudnn.*", "a function of NVIDIA's cuDNN",
     "install plugin gantry.cuda-libraries (gantry-plugin-cuda-libraries), or compile without "
     "cuDNN"},
    {"tvm.contrib.thrust.*", "sorting and sums on NVIDIA's GPUs",
     "install plugin gantry.cuda (gantry-plugin-cuda), or compile without Thrust"},
    {"runtime.contrib.curand.*", "a function of NVIDIA's cuRAND",
     "install plugin gantry.cuda-libraries (gantry-plugin-cuda-libraries), or compile without "
     "cuRAND"},
    {"runtime.cuTensorMapEncodeTiled", "a function for kernels of NVIDIA's Hopper",
     "install plugin gantry.cuda (gantry-plugin-cuda), or compile for a GPU before Hopper (sm_80)"},
    {"runtime.get_cuda_stream", "a function for libraries of NVIDIA's GPUs",
     "compile without libraries of NVIDIA"},
    {"vm.builtin.*", "a function of Relax's virtual machine",
     "load the file with plugin gantry.relax of a version that has it"},
};
}  // namespace detail

// Returns the advice for a name of the table; NULL: it has none.
constexpr const FunctionAdvice* known_advice(std::string_view name) {
  for (const FunctionAdvice& one : detail::function_advice) {
    const bool is_prefix = one.pattern.ends_with('*');
    const std::string_view fixed = one.pattern.substr(0, one.pattern.size() - (is_prefix ? 1 : 0));
    if (is_prefix ? name.starts_with(fixed) : name == fixed) return &one;
  }
  return nullptr;
}

// Returns the advice for a name that nothing has. One without a dot is that of a function that the
// program adds.
constexpr FunctionAdvice advice_for_function(std::string_view name) {
  if (const FunctionAdvice* const known = known_advice(name)) return *known;
  constexpr std::string_view add =
      "add it before the load (Runtime::add_function, in Python Runtime.add_function)";
  if (name.find('.') == std::string_view::npos)
    return {"", "a function that the model's compiler left to the program", add};
  return {".", "a function of no release of TVM that gantry knows", add};
}

// Returns "a kernel of FlashInfer; compile without FlashInfer".
inline std::string advice_text(std::string_view name) {
  const FunctionAdvice advice = advice_for_function(name);
  return concat(advice.what, "; ", advice.remedy);
}

// Adds to an error about missing functions one line for each kind of them.
//
// names    [in]   of the missing functions
inline Failure with_advice(Failure failure, std::span<const std::string_view> names) {
  constexpr std::size_t max_lines = 8;
  std::vector<std::string_view> advised;
  for (const std::string_view name : names) {
    const std::string_view pattern = advice_for_function(name).pattern;
    if (advised.size() == max_lines) break;
    if (std::ranges::find(advised, pattern) != advised.end()) continue;
    advised.push_back(pattern);
    failure = std::move(failure).at(quoted(name), " is ", advice_text(name));
  }
  return failure;
}

}  // namespace gantry
