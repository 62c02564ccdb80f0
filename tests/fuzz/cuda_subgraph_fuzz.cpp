// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph in JSON for cuBLAS or cuDNN, run on a fake GPU with tensors that end with their memory.
#include "plugins/cuda_libraries/subgraph_plugin.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fake_gpu.hpp"
#include "tests/fuzz/subgraph_input.hpp"

#include <gantry/compact_tensor.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::cuda_libraries;
using namespace gantry::fuzz;

namespace {

constexpr std::uint8_t key_count = 9, cublas_key = 4;
// of the tensors of a graph, and of its numbers
constexpr std::uint64_t max_bytes = 16 << 10;
constexpr std::size_t max_entries = 32;

constexpr Cost cost{.bytes_per_input_byte = 32 * 1024,
                    .bytes_for_free = std::size_t{32} << 20,
                    .nanoseconds_per_input_byte = 500'000,
                    .nanoseconds_for_free = 100'000'000};

// Replaces extents that are known at the call. False for a graph that is too large.
bool make_small(Subgraph& graph) {
  if (graph.entries.size() > max_entries) return false;
  std::uint64_t all = 0;
  for (TensorType& type : graph.entries) {
    std::ranges::replace(type.shape, -1, 2);
    const auto bytes = tensor_bytes(type.shape, type.dtype);
    if (!bytes.ok() || *bytes > max_bytes) return false;
    all += *bytes;
  }
  return all <= max_bytes;
}

void run(SubgraphHost& plugin, OnFakeGpu& gpu, const SubgraphCode& code, std::size_t size) {
  std::vector<Value> constants, tensors;
  for (const std::uint32_t entry : code.graph.constants) {
    const TensorType& type = code.graph.entries[entry];
    auto made = plugin.host.tensor_new(compact_tensor(type.dtype, type.shape));
    if (!made.ok()) return;
    constants.push_back(std::move(*made));
  }
  const auto program = SubgraphProgram::build(plugin, code, constants);
  if (!program.ok()) {
    expect_refusal(program.error(), size);
    return;
  }
  std::vector<const gantry_tensor*> arguments;
  for (const auto* const entries : {&code.graph.inputs, &code.graph.outputs}) {
    for (const std::uint32_t entry : *entries) {
      const TensorType& type = code.graph.entries[entry];
      auto made = plugin.host.tensor_new(compact_tensor(type.dtype, type.shape, OnFakeGpu::device));
      if (!made.ok()) return;
      arguments.push_back(made->tensor());
      tensors.push_back(std::move(*made));
    }
  }
  const gantry_env env{OnFakeGpu::device, nullptr, nullptr, nullptr};
  const Status done = (*program)->run(&env, arguments);
  // The fake host frees tensors at once.
  gpu.wait();
  if (done.ok()) return;
  expect(!done.error().message.empty(), "a failure has a text");
  expect(done.error().code != Code::bug, "a failure is one of the caller");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool is_cublas = data[0] % key_count == cublas_key;
  SubgraphInput input(is_cublas ? "cublas_json" : "cudnn_json", {data, size});
  if (const Status read = input.read(); !read.ok()) return expect_refusal(read.error(), size);
  SubgraphCode& code = input.code;
  if (!make_small(code.graph)) return 0;

  const Budget budget(size, cost);
  gantry::test::FakeHost host;
  OnFakeGpu gpu(host);
  {
    SubgraphHost plugin(Host(host.table()));
    run(plugin, gpu, code, size);
  }
  return 0;
}
