// SPDX-License-Identifier: Apache-2.0
//
// Compares a sub-graph on the oneDNN plugin with a bare program of the same primitives: three
// convolutions with relu, two poolings. fixtures.cpp writes it.
#include "plugins/dnnl/onednn.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace gantry::bench {
namespace {

using Memory = ::dnnl::memory;
using Tag = Memory::format_tag;
constexpr auto f32 = Memory::data_type::f32;

// The primitives in their order, with memory of their own for everything but input and output.
class BareNetwork {
 public:
  BareNetwork(float* input, float* output) {
    omp_set_num_threads(1);
    Memory data({{1, 4, 24, 24}, f32, Tag::nchw}, engine_, input);
    for (const std::int64_t channels : {4, 16, 16}) data = convolution(data, channels);
    data = pooling(data, ::dnnl::algorithm::pooling_max, {12, 12}, {2, 2}, {2, 2});
    data = pooling(data, ::dnnl::algorithm::pooling_avg_exclude_padding, {1, 1}, {12, 12}, {1, 1});
    Memory out({{1, 16, 1, 1}, f32, Tag::nchw}, engine_, output);
    if (data.get_desc() != out.get_desc()) {
      add(::dnnl::reorder(data, out), {{DNNL_ARG_FROM, data}, {DNNL_ARG_TO, out}});
    } else {
      steps_.back().second[DNNL_ARG_DST] = out;
    }
  }

  void run() {
    for (const auto& [primitive, arguments] : steps_) primitive.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  using Arguments = std::unordered_map<int, Memory>;

  void add(::dnnl::primitive primitive, Arguments arguments) {
    steps_.emplace_back(std::move(primitive), std::move(arguments));
  }
  Memory in_layout(const Memory& from, const Memory::desc& desc) {
    if (from.get_desc() == desc) return from;
    Memory to(desc, engine_);
    add(::dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    return to;
  }

  static Memory::desc any(const Memory::dims& dims) { return {dims, f32, Tag::any}; }

  Memory convolution(const Memory& data, std::int64_t channels) {
    ::dnnl::post_ops post;
    dnnl_plugin::append_eltwise(post, ::dnnl::algorithm::eltwise_relu, 0, 0);
    ::dnnl::primitive_attr attributes;
    attributes.set_post_ops(post);
    attributes.set_scratchpad_mode(::dnnl::scratchpad_mode::user);
    const auto primitive = dnnl_plugin::describe<::dnnl::convolution_forward>(
        engine_, attributes, ::dnnl::prop_kind::forward_inference,
        ::dnnl::algorithm::convolution_direct, any({1, channels, 24, 24}),
        any({16, channels, 3, 3}), any({1, 16, 24, 24}), Memory::dims{1, 1}, Memory::dims{1, 1},
        Memory::dims{1, 1});
    const Memory from = in_layout(data, primitive.src_desc());
    Memory weights({{16, channels, 3, 3}, f32, Tag::oihw}, engine_);
    auto* const values = static_cast<float*>(weights.get_data_handle());
    std::fill_n(values, 16 * channels * 9, 0.01f);
    Memory packed(primitive.weights_desc(), engine_);
    ::dnnl::reorder(weights, packed).execute(stream_, weights, packed);
    stream_.wait();
    const Memory to(primitive.dst_desc(), engine_);
    Arguments arguments{{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, to}};
    if (!primitive.scratchpad_desc().is_zero())
      arguments[DNNL_ARG_SCRATCHPAD] = Memory(primitive.scratchpad_desc(), engine_);
    add(::dnnl::convolution_forward(primitive), std::move(arguments));
    return to;
  }

  Memory pooling(const Memory& data, ::dnnl::algorithm algorithm, Memory::dims extents,
                 const Memory::dims& kernel, const Memory::dims& strides) {
    extents.insert(extents.begin(), {1, 16});
    const Memory::dims zeros{0, 0};
    const auto primitive = dnnl_plugin::describe<dnnl_plugin::PoolingForward>(
        engine_, ::dnnl::primitive_attr(), ::dnnl::prop_kind::forward_inference, algorithm,
        data.get_desc(), any(extents), strides, kernel, zeros, zeros, zeros);
    const Memory to(primitive.dst_desc(), engine_);
    add(dnnl_plugin::PoolingForward(primitive), {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, to}});
    return to;
  }

  ::dnnl::engine engine_{::dnnl::engine::kind::cpu, 0};
  ::dnnl::stream stream_{engine_};
  std::vector<std::pair<::dnnl::primitive, Arguments>> steps_;
};

struct Network {
  Runtime runtime;
  Function function;
  Tensor input, output;
};

std::shared_ptr<Network> load_network(Suite& suite) {
  auto network = std::make_shared<Network>(Network{make_runtime(suite), {}, {}, {}});
  Runtime& runtime = network->runtime;
  const Module module = or_fail(runtime.load((suite.fixtures / "subgraph.so").c_str()));
  std::vector<Any> weights;
  for (const std::int64_t channels : {4, 16, 16}) {
    const Tensor tensor = or_fail(runtime.tensor({16, channels, 3, 3}, {2, 32, 1}));
    for (float& element : tensor.elements<float>()) element = 0.01f;
    weights.push_back(Any(tensor));
  }
  or_fail(or_fail(module.function("__init_main_0"))(or_fail(runtime.array(weights))));
  network->function = or_fail(module.function("main_0"));
  network->input = or_fail(runtime.tensor({1, 4, 24, 24}, {2, 32, 1}));
  network->output = or_fail(runtime.tensor({1, 16, 1, 1}, {2, 32, 1}));
  for (float& element : network->input.elements<float>()) element = 0.5f;
  return network;
}

}  // namespace

void add_dnnl(Suite& suite) {
  const auto network = load_network(suite);
  const auto copy =
      std::make_shared<Tensor>(or_fail(network->runtime.tensor({1, 16, 1, 1}, {2, 32, 1})));
  const auto bare = std::make_shared<BareNetwork>(static_cast<float*>(network->input.data()),
                                                  static_cast<float*>(copy->data()));
  or_fail(network->function(network->input, network->output));
  bare->run();
  if (network->output.elements<float>()[3] != copy->elements<float>()[3])
    throw Failed("the bare program of oneDNN gives another output than the plugin");
  bench("dnnl/gantry", [network](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state)
      or_fail(network->function(network->input, network->output));
  });
  bench("dnnl/raw", [bare, copy](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) bare->run();
  });
  suite.figure("sub-graph on oneDNN, as a multiple of a bare program", [](const Times& times) {
    const double gantry = times.median("dnnl/gantry"), raw = times.median("dnnl/raw");
    return Row{1.1, gantry / raw, "x",
               format("%.1f us, ", gantry / 1000) + format("raw %.1f us", raw / 1000)};
  });
}

}  // namespace gantry::bench
