// SPDX-License-Identifier: Apache-2.0
//
// Does one work several times; tests/bench/instructions counts the instructions from one call of
// gantry_bench_mark() to the next.
//
//     gantry_instruction_works <work>    in a directory with models, share and tests as tests/bench/instructions
//                                        makes it
//     gantry_instruction_works --list    prints the names of the works
#include "tests/bench/suite.hpp"

#include <gantry/value.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string_view>

extern "C" [[gnu::noinline, gnu::used]] void gantry_bench_mark() { asm volatile(""); }

namespace gantry::bench {
namespace {

using Work = std::function<void()>;

// The first ones bind symbols and fill caches; the script takes the minimum.
constexpr int kRepetitions = 8;
// of a work that calls a function or runs a model
constexpr int kCalls = 100;

const std::string kModels = "models/";

// One thread, so that the order of events does not depend on the machine.
Runtime here() {
  const std::filesystem::path tree = std::filesystem::current_path();
  return make_runtime({tree / "models", tree / "models", tree, {}}, 1);
}

Work discovery() {
  return [options = options_with({std::filesystem::absolute("models/manifests20")}, 1)] {
    discover(options);
  };
}

// Loads a file and unloads it.
Work load(const std::string& file) {
  return [runtime = here(), file]() mutable { or_fail(runtime.load(kModels + file)); };
}

Work executor() {
  Runtime runtime = here();
  const Module model = or_fail(runtime.load(kModels + "resnet20_llvm.so"));
  return [runtime, model]() mutable { or_fail(Executor::create(runtime, model, {"cpu"})); };
}

Work calls_of(const std::string& file, const char* name) {
  return [function = or_fail(or_fail(here().load(kModels + file)).function(name))] {
    Four four;
    for (int i = 0; i < kCalls; ++i) {
      four.hide();
      auto sum = function(four.a, four.b, four.c, four.d);
      if (!sum.ok() || value_int(sum->value()) != 18) throw Failed("sum4 is wrong");
    }
  };
}

// Look-ups of a function of a library.
Work lookups() {
  return [module = or_fail(here().load(kModels + "calls.so"))] {
    for (int i = 0; i < kCalls; ++i) or_fail(module.function("sum4"));
  };
}

// Look-ups of a function that was added to the runtime.
Work runtime_lookups() {
  Runtime runtime = here();
  or_fail(runtime.add_function("added", [](std::span<const gantry_value>) { return Any(); }));
  return [runtime] {
    for (int i = 0; i < kCalls; ++i) or_fail(runtime.function("added"));
  };
}

// Calls with a list of values, as bindings of other languages make them.
Work calls_with_lists() {
  return [function = or_fail(or_fail(here().load(kModels + "calls.so")).function("sum4"))] {
    gantry_value args[4]{};
    args[0] = int_value(3), args[1] = int_value(4);
    args[2].kind = args[3].kind = GANTRY_FLOAT;
    args[2].f = 5, args[3].f = 6;
    for (int i = 0; i < kCalls; ++i) or_fail(function.call(args));
  };
}

Work calls_with_tensors() {
  Runtime runtime = here();
  std::vector<Tensor> tensors;
  for (int i = 0; i < 3; ++i) tensors.push_back(or_fail(runtime.tensor({1}, {2, 32, 1})));
  return [tensors,
          function = or_fail(or_fail(runtime.load(kModels + "calls.so")).function("add_first"))] {
    for (int i = 0; i < kCalls; ++i) or_fail(function(tensors[0], tensors[1], tensors[2]));
  };
}

// Runs of the executor of a graph or of an ahead-of-time model.
Work runs(const std::string& file, int count) {
  Runtime runtime = here();
  const Module model = or_fail(runtime.load(kModels + file));
  return [count, executor = or_fail(Executor::create(runtime, model, {"cpu"}))]() mutable {
    for (int i = 0; i < count; ++i) or_fail(executor.run());
  };
}

// A tensor of ones.
Tensor ones(Runtime& runtime, std::initializer_list<std::int64_t> shape) {
  Tensor made = or_fail(runtime.tensor(shape, {2, 32, 1}));
  std::ranges::fill(made.elements<float>(), 1.0f);
  return made;
}

// Runs of the function main of a Relay or Relax machine.
Work machine_runs(const std::string& file, std::initializer_list<std::int64_t> shape) {
  Runtime runtime = here();
  return [machine = VmMain(runtime, kModels + file, ones(runtime, shape))] {
    for (int i = 0; i < kCalls; ++i) or_fail(machine.main(machine.input));
  };
}

// Parallel regions on two threads. The workers do not sleep, because waking one is a system call, after which
// either thread may run first.
Work regions() {
  RuntimeOptions options = options_with({}, 2);
  options.spin_us = 1'000'000;
  const Runtime runtime = or_fail(Runtime::create(options));
  return [function = or_fail(or_fail(runtime.load(kModels + "calls.so")).function("regions")),
          times = std::vector<std::int64_t>(kCalls)]() mutable {
    gantry_value args[2]{};
    args[0].kind = GANTRY_POINTER;
    args[0].p = times.data();
    args[1].kind = GANTRY_INT;
    args[1].i = static_cast<std::int64_t>(times.size());
    or_fail(function.call(args));
  };
}

// The golden decoder with its cache, as in tools/demo/generate.cpp.
class Decoder {
 public:
  Decoder() {
    const gantry_device_id cpu{1, 0};
    const Module file = or_fail(runtime_.load(kModels + "lm_paged_llvm.so"));
    vm_ = or_fail(or_fail(or_fail(file.function("vm_load_executable"))(cpu)).module());
    call(runtime_, "vm.builtin.tensor_cache.load", kModels + "lm_paged.weights", cpu.type,
         cpu.index);
    params_ = call(runtime_, "vm.builtin.param_array_from_cache", "param", -1);
    cache_ = call(vm_, "create_tir_paged_kv_cache", shape({1}), shape({2048}), shape({32}),
                  shape({16}), shape({0}));
    call(runtime_, "vm.builtin.kv_state_add_sequence", cache_, 0);
    token_ = or_fail(runtime_.tensor({1}, {0, 32, 1}));
    token_.elements<std::int32_t>()[0] = 84;
  }

  void step() {
    const Tensor rows = or_fail(call(vm_, "embed", token_, params_).tensor());
    const Any input = call(runtime_, "vm.builtin.reshape", rows, shape({1, 1, rows.shape()[1]}));
    call(runtime_, "vm.builtin.kv_state_begin_forward", cache_, shape({0}), shape({1}));
    const Any result = call(vm_, "decode", input, cache_, params_);
    call(runtime_, "vm.builtin.kv_state_end_forward", cache_);
    call(runtime_, "vm.builtin.sample_top_p_from_logits", or_fail(result.items())[0], 1.0, 0.95,
         0.5);
  }

 private:
  Any shape(std::initializer_list<std::int64_t> extents) const {
    return or_fail(runtime_.shape(extents));
  }
  template <class... Args>
  static Any call(const auto& owner, const char* name, const Args&... args) {
    return or_fail(or_fail(owner.function(name))(args...));
  }

  Runtime runtime_ = here();
  Module vm_;
  Any params_, cache_;
  Tensor token_;
};

Work decode() {
  return [decoder = std::make_shared<Decoder>()] { decoder->step(); };
}

constexpr struct {
  std::string_view name;
  Work (*prepare)();
} kWorks[] = {
    {"discovery", discovery},
    {"load", [] { return load("resnet20_llvm.so"); }},
    {"executor", executor},
    {"modules", [] { return load("stubs1000.so"); }},
    {"lookups", lookups},
    {"runtime_lookups", runtime_lookups},
    {"packed", [] { return calls_of("calls.so", "sum4"); }},
    {"lists", calls_with_lists},
    {"tensors", calls_with_tensors},
    {"plugin", [] { return calls_of("stubs1.so", "stub_sum4"); }},
    {"ffi", [] { return calls_of("ffi_calls.so", "sum4"); }},
    {"graph", [] { return runs("chain1000.so", 1); }},
    {"aot", [] { return runs("digits_mlp_aot_llvm.so", kCalls); }},
    {"relay", [] { return machine_runs("relay_chain10.so", {1}); }},
    {"relax", [] { return machine_runs("chain10_llvm.so", {1}); }},
    {"relax_compiled",
     [] {
       return machine_runs("cnn_compiled_llvm.so", {1, 1, 8, 8});
     }},
    {"regions", regions},
    {"decode", decode},
};

int run(std::string_view name) {
  const auto work = std::ranges::find(kWorks, name, [](const auto& each) { return each.name; });
  if (work == std::end(kWorks)) {
    std::fprintf(stderr, "error: no work has this name; --list prints the names\n");
    return 2;
  }
  const Work prepared = work->prepare();
  for (int i = 0; i < kRepetitions; ++i) {
    gantry_bench_mark();
    prepared();
  }
  gantry_bench_mark();
  return 0;
}

}  // namespace
}  // namespace gantry::bench

int main(int argc, char** argv) {
  using namespace gantry::bench;
  if (argc != 2) {
    std::fprintf(stderr, "usage: gantry_instruction_works <work> | --list\n");
    return 2;
  }
  if (std::string_view(argv[1]) == "--list") {
    for (const auto& work : kWorks)
      std::printf("%.*s\n", static_cast<int>(work.name.size()), work.name.data());
    return 0;
  }
  try {
    return run(argv[1]);
  } catch (const Failed& failed) {
    std::fprintf(stderr, "error: %s\n", failed.what());
    return 1;
  }
}
