// SPDX-License-Identifier: Apache-2.0
//
// Compares the ahead-of-time executor with raw calls of the model's function: the overhead of a run.
#include "tests/bench/bare_graph.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include "core/engine/native/packed/tvm_abi.hpp"

#include <array>

namespace gantry::bench {
namespace {

// A call of call_all makes this number of raw calls, so that its own share is below a nanosecond.
constexpr std::size_t raw_calls = 64;

// layout of the same struct in kernels.c
struct RawCall {
  PackedCall call;
  PackedValue* args;
  int* codes;
  int count;
};

// The model's function with the executor's input and output.
class RawModel {
 public:
  RawModel(Executor executor, const std::filesystem::path& library)
      : executor_(std::move(executor)) {
    const Function get_input = or_fail(executor_.module().function("get_input"));
    input_ = or_fail(or_fail(get_input(0)).tensor());
    output_ = or_fail(executor_.output(0));
    tensors_ = {tensor_of(input_, in_shape_), tensor_of(output_, out_shape_)};
    for (std::size_t i = 0; i < tensors_.size(); ++i) args_[i].p = &tensors_[i];
    const auto call =
        reinterpret_cast<PackedCall>(symbol_of(library, "tvmgen_default___tvm_main__"));
    calls_.fill({call, args_.data(), codes_.data(), static_cast<int>(args_.size())});
  }
  RawModel(const RawModel&) = delete;

  const void* calls() const { return calls_.data(); }

 private:
  static gantry_tensor tensor_of(const Tensor& tensor, std::vector<std::int64_t>& shape) {
    shape.assign(tensor.shape().begin(), tensor.shape().end());
    return {const_cast<void*>(static_cast<const void*>(tensor.data())),
            {1, 0},
            static_cast<std::int32_t>(shape.size()),
            tensor.dtype(),
            shape.data(),
            nullptr,
            0};
  }

  Executor executor_;
  Tensor input_, output_;
  std::vector<std::int64_t> in_shape_, out_shape_;
  std::array<gantry_tensor, 2> tensors_{};
  std::array<PackedValue, 2> args_{};
  std::array<int, 2> codes_{kPackedTensor, kPackedTensor};
  std::array<RawCall, raw_calls> calls_{};
};

// Adds <name>: the function call_all of kernels.c with a table of calls.
void add_raw(const std::string& name, const Function& call_all, std::shared_ptr<const void> owner,
             const void* calls, std::int64_t count) {
  bench(name, [=](benchmark::State& state) {
    (void)owner;
    gantry_value args[2]{};
    args[0].kind = GANTRY_POINTER;
    args[0].p = const_cast<void*>(calls);
    args[1].kind = GANTRY_INT;
    args[1].i = count;
    for ([[maybe_unused]] auto _ : state) or_fail(call_all.call(args));
  });
}

// Sets the only input to numbers of usual size: memory that nothing was written to may contain denormals, with which one side
// computes many times as long.
Executor with_input(Executor executor) {
  Tensor input = or_fail(or_fail(or_fail(executor.module().function("get_input"))(0)).tensor());
  for (float& element : input.elements<float>()) element = 0.5f;
  return executor;
}

void add_runs(const std::string& name, Executor executor) {
  bench(name,
        [executor = std::make_shared<Executor>(std::move(executor))](benchmark::State& state) {
          for ([[maybe_unused]] auto _ : state) or_fail(executor->run());
        });
}

// The operators of resnet20, called by the function of an ahead-of-time model and by the bare loop.
void add_resnet(Suite& suite, Runtime& runtime, const Function& call_all) {
  const std::filesystem::path file =
      suite.copy_of(suite.golden / "tvm-0.12/resnet20_llvm.so", "aot_resnet.so");
  const Module graph = or_fail(runtime.load(file.c_str()));
  const auto bare = std::make_shared<const BareGraph>(
      graph, file, or_fail(Executor::create(runtime, graph, {"cpu"})));
  const std::filesystem::path loop = suite.build_tree / "tests/bench/aot_loop.so";
  const Module model = or_fail(runtime.load(loop.c_str()));
  *static_cast<const void**>(symbol_of(loop, "aot_loop_calls")) = bare->calls();
  *static_cast<std::int64_t*>(symbol_of(loop, "aot_loop_count")) = bare->call_count();
  add_runs("aot_resnet20/gantry", or_fail(Executor::create(runtime, model, {"cpu"})));
  add_raw("aot_resnet20/raw", call_all, bare, bare->calls(), bare->call_count());
  suite.figure("ahead-of-time executor, resnet20 steady run, 2 threads", [](const Times& times) {
    const double raw = times.median("aot_resnet20/raw");
    return Row{1.03, times.median("aot_resnet20/gantry") / raw, "x",
               format("bare loop %.2f ms", raw / 1e6)};
  });
}

}  // namespace

void add_aot(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  const std::filesystem::path loop = suite.copy_of(suite.fixtures / "calls.so", "aot_calls.so");
  const Function call_all = or_fail(or_fail(runtime.load(loop.c_str())).function("call_all"));
  const std::filesystem::path file =
      suite.copy_of(suite.golden / "tvm-0.12/digits_mlp_aot_llvm.so", "aot.so");
  const Module model = or_fail(runtime.load(file.c_str()));
  const auto raw = std::make_shared<const RawModel>(
      with_input(or_fail(Executor::create(runtime, model, {"cpu"}))), file);
  add_runs("aot/gantry", with_input(or_fail(Executor::create(runtime, model, {"cpu"}))));
  add_raw("aot/raw", call_all, raw, raw->calls(), raw_calls);
  suite.figure("ahead-of-time executor, a run above its raw call", [](const Times& times) {
    const double each = times.median("aot/raw") / raw_calls;
    return Row{200, times.median("aot/gantry") - each, "ns", format("raw %.0f ns", each)};
  });
  add_resnet(suite, runtime, call_all);
}

}  // namespace gantry::bench
