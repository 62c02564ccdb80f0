// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph in JSON, lowered to a plan of oneDNN's primitives. Plans whose tensors are small run,
// with arguments and constants that end at a page without access.
#include "plugins/dnnl/frame.hpp"
#include "plugins/dnnl/infer.hpp"
#include "plugins/dnnl/lowering.hpp"
#include "plugins/dnnl/threads.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/guarded_bytes.hpp"
#include "tests/fuzz/subgraph_input.hpp"

#include <gantry/compact_tensor.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::dnnl_plugin;
using namespace gantry::fuzz;

namespace {

constexpr std::string_view keys[] = {"dnnl_json", "tensorrt",     "arm_compute_lib",
                                     "bnns_json", "cublas_json",  "cudnn_json",
                                     "clml",      "hipblas_json", "nnapi"};

// oneDNN generates the code of each primitive: 0.5 ms and 256 KiB for each kernel of it. An operator
// of 128 bytes is up to 4 primitives, with reorders of 2 kernels each.
constexpr Cost lowering_cost{.bytes_per_input_byte = 32 << 10,
                             .bytes_for_free = std::size_t{16} << 20,
                             .nanoseconds_per_input_byte = 30'000,
                             .nanoseconds_for_free = 20'000'000};
// Tensors of the graph. A layout with blocks may pad one to 16 times as many bytes in each of two
// dimensions.
constexpr std::uint64_t max_bytes = 16 << 10;

// Runs fit in milliseconds with them.
constexpr std::size_t max_steps = 16;
constexpr std::int64_t max_extent_of_window = 8;

std::uint64_t bytes_of_entries(const Subgraph& graph, std::span<const std::uint32_t> entries) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t entry : entries) {
    const TensorType& type = graph.entries[entry];
    const auto size = tensor_bytes(type.shape, type.dtype);
    bytes += std::min<std::uint64_t>(size.ok() ? *size : 0, max_bytes + 1);
  }
  return bytes;
}

bool has_small_windows(const Subgraph& graph) {
  for (const SubgraphNode& node : graph.nodes) {
    for (const char* name : {"pool_size", "padding", "strides", "dilation"}) {
      const SubgraphAttributes attributes(node);
      if (!attributes.has(name)) continue;
      const auto numbers = attributes.integers(name);
      if (!numbers.ok()) return false;
      for (const std::int64_t number : *numbers) {
        if (number > max_extent_of_window) return false;
      }
    }
  }
  return true;
}

bool are_disjoint(const Buffer& a, const Buffer& b) {
  return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

void expect_valid(const Plan& plan, std::size_t argument_count) {
  std::vector<const Buffer*> arena;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::argument)
      expect(buffer.argument < argument_count, "the arguments of a plan are those of the call");
    if (buffer.kind != BufferKind::temporary && buffer.kind != BufferKind::zeroed) continue;
    expect(buffer.offset + buffer.bytes <= plan.arena_bytes, "a temporary is in the arena");
    arena.push_back(&buffer);
  }
  for (const View& view : plan.views)
    expect(view.buffer < plan.buffers.size(), "the buffer of a view exists");
  for (const Step& step : plan.steps) {
    for (const StepArgument& argument : step.arguments)
      expect(argument.view < plan.views.size(), "the view of an argument exists");
  }
  constexpr std::size_t max_compared = 128;
  for (std::size_t i = 0; i < std::min(arena.size(), max_compared); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_kept =
          arena[i]->kind == BufferKind::zeroed || arena[j]->kind == BufferKind::zeroed;
      const bool overlaps = arena[i]->first_step <= arena[j]->last_step &&
                            arena[j]->first_step <= arena[i]->last_step;
      expect(!(is_kept || overlaps) || are_disjoint(*arena[i], *arena[j]),
             "buffers in use at the same time have memory of their own");
    }
  }
}

void run(const Plan& plan, const Subgraph& graph) {
  std::vector<std::uint32_t> entries = graph.inputs;
  entries.insert(entries.end(), graph.outputs.begin(), graph.outputs.end());
  if (bytes_of_entries(graph, entries) > max_bytes) return;
  if (plan.arena_bytes > 64 * max_bytes || plan.steps.size() > max_steps) return;
  if (!has_small_windows(graph)) return;
  std::vector<GuardedBytes> memory;
  std::vector<gantry_tensor> tensors;
  std::vector<const gantry_tensor*> arguments;
  for (const std::uint32_t entry : entries) {
    const TensorType& type = graph.entries[entry];
    memory.emplace_back(tensor_bytes(type.shape, type.dtype).value());
    tensors.push_back(
        compact_tensor(type.dtype, type.shape, {cpu_device_type, 0}, memory.back().data()));
  }
  for (const gantry_tensor& tensor : tensors) arguments.push_back(&tensor);
  const auto frame = Frame::create(plan);
  expect(frame.ok(), "a small plan has a frame");
  expect((*frame)->bind(arguments).ok(), "arguments are bound");
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    expect((*frame)->run(i).ok(), "a primitive that was created runs");
  expect((*frame)->wait().ok(), "the stream ends");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ::dnnl::engine engine(::dnnl::engine::kind::cpu, 0);
  // Primitives of earlier inputs would count for this one.
  static const auto uncached = dnnl_set_primitive_cache_capacity(0);
  expect(uncached == dnnl_success, "the cache of primitives is off");
  const ThreadCount one(1);
  if (size < 2) return 0;

  SubgraphInput input(keys[data[0] % std::size(keys)], {data, size});
  if (const Status read = input.read(); !read.ok()) return expect_refusal(read.error(), size);
  SubgraphCode& code = input.code;
  if (bytes_of_entries(code.graph, code.graph.constants) > max_bytes) return 0;

  std::vector<GuardedBytes> memory;
  std::vector<gantry_tensor> tensors;
  for (const std::uint32_t entry : code.graph.constants) {
    // Where the graph does not state an extent, it is that of the tensor.
    TensorType& type = code.graph.entries[entry];
    std::ranges::replace(type.shape, -1, 2);
    const auto bytes = tensor_bytes(type.shape, type.dtype);
    if (!bytes.ok() || *bytes > max_bytes) return 0;
    memory.emplace_back(*bytes);
    tensors.push_back(
        compact_tensor(type.dtype, type.shape, {cpu_device_type, 0}, memory.back().data()));
  }
  std::vector<Value> constants;
  for (gantry_tensor& tensor : tensors)
    constants.push_back(Value::adopt(tensor_ref_value(&tensor)));

  const Budget budget(size, lowering_cost);
  const auto operators = read_operators(code.type_key, code.graph);
  if (!operators.ok()) return expect_refusal(operators.error(), size);
  if (has_unknown_extents(code.graph)) {
    // A call with two of each.
    for (const auto* const arguments : {&code.graph.inputs, &code.graph.outputs}) {
      for (const std::uint32_t entry : *arguments)
        std::ranges::replace(code.graph.entries[entry].shape, -1, 2);
    }
    const Status known = infer_extents(code.graph, *operators);
    if (!known.ok()) return expect_refusal(known.error(), size);
  }
  const auto plan = lower_subgraph(engine, code.graph, *operators, constants);
  if (!plan.ok()) return expect_refusal(plan.error(), size);
  expect_valid(*plan, code.graph.inputs.size() + code.graph.outputs.size());
  run(*plan, code.graph);
  return 0;
}
