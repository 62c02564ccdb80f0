// SPDX-License-Identifier: Apache-2.0
//
// Compares a call through the public handle with the raw call: of four scalars and of three tensors
// into packed CPU code of an artifact, and of four scalars into CPU code of the ffi dialect and
// into a function of a plugin.
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include "core/engine/native/ffi/ffi_call.hpp"
#include "core/engine/native/packed/tvm_abi.hpp"

namespace gantry::bench {
namespace {

void add_ours(const std::string& name, const Function& function) {
  bench(name, [function](benchmark::State& state) {
    Four four;
    for ([[maybe_unused]] auto _ : state) {
      four.hide();
      auto sum = function(four.a, four.b, four.c, four.d);
      if (!sum.ok() || value_int(sum->value()) != 18) throw Failed("sum4 is wrong");
    }
  });
}

void add_raw_packed(PackedCall call) {
  bench("call/packed/raw", [call](benchmark::State& state) {
    Four four;
    for ([[maybe_unused]] auto _ : state) {
      four.hide();
      PackedValue values[4], result;
      int codes[4] = {kPackedInt, kPackedInt, kPackedFloat, kPackedFloat}, code;
      values[0].i = four.a, values[1].i = four.b, values[2].f = four.c, values[3].f = four.d;
      if (call(values, codes, 4, &result, &code, nullptr) != 0 || result.i != 18)
        throw Failed("sum4 is wrong");
    }
  });
}

// out = in + parameter, each of one element.
void add_tensors(Runtime& runtime, const Function& function, PackedCall call) {
  const std::int64_t shape[] = {1};
  std::vector<Tensor> tensors;
  for (int i = 0; i < 3; ++i) {
    tensors.push_back(or_fail(runtime.tensor(shape, {2, 32, 1})));
    tensors.back().elements<float>()[0] = 1;
  }
  bench("call/tensors/gantry", [function, tensors](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      benchmark::ClobberMemory();
      if (!function(tensors[0], tensors[1], tensors[2]).ok()) throw Failed("add_first fails");
    }
  });
  bench("call/tensors/raw", [call, tensors](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      benchmark::ClobberMemory();
      PackedValue values[3], result;
      int codes[3] = {kPackedTensor, kPackedTensor, kPackedTensor}, code;
      for (std::size_t i = 0; i < 3; ++i) values[i].p = tensors[i].dlpack();
      if (call(values, codes, 3, &result, &code, nullptr) != 0) throw Failed("add_first fails");
    }
  });
}

// call     returns a gantry_code; takes four values and the address of the result
template <class Call>
void add_raw_values(const std::string& name, Call call) {
  bench(name, [call](benchmark::State& state) {
    Four four;
    for ([[maybe_unused]] auto _ : state) {
      four.hide();
      gantry_value values[4], result{};
      values[0] = {GANTRY_INT, 0, {four.a}}, values[1] = {GANTRY_INT, 0, {four.b}};
      values[2] = {GANTRY_FLOAT, 0, {}}, values[2].f = four.c;
      values[3] = {GANTRY_FLOAT, 0, {}}, values[3].f = four.d;
      if (call(values, &result) != GANTRY_OK || result.i != 18) throw Failed("sum4 is wrong");
    }
  });
}

std::function<Row(const Times&)> above_raw(const std::string& name, double limit) {
  return [=](const Times& times) {
    const double raw = times.median(name + "/raw");
    return Row{limit, times.median(name + "/gantry") - raw, "ns",
               "raw call " + format("%.2f ns", raw)};
  };
}

}  // namespace

void add_calls(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  const std::filesystem::path calls = suite.fixtures / "calls.so";
  add_ours("call/packed/gantry", or_fail(or_fail(runtime.load(calls.c_str())).function("sum4")));
  add_raw_packed(reinterpret_cast<PackedCall>(symbol_of(calls, "sum4")));
  suite.figure("call into packed CPU code, 4 scalars, above the raw call",
               above_raw("call/packed", 7));
  add_tensors(runtime, or_fail(or_fail(runtime.load(calls.c_str())).function("add_first")),
              reinterpret_cast<PackedCall>(symbol_of(calls, "add_first")));
  suite.figure("call into packed CPU code, 3 tensors, above the raw call",
               above_raw("call/tensors", 9));

  const std::filesystem::path ffi = suite.fixtures / "ffi_calls.so";
  add_ours("call/host_ffi/gantry", or_fail(or_fail(runtime.load(ffi.c_str())).function("sum4")));
  add_raw_values("call/host_ffi/raw",
                 [call = reinterpret_cast<ffi::CpuCode>(symbol_of(ffi, "__tvm_ffi_sum4"))](
                     const gantry_value* values, gantry_value* result) {
                   return call(nullptr, values, 4, result);
                 });
  suite.figure("call into CPU code of the ffi dialect, 4 scalars, above the raw call",
               above_raw("call/host_ffi", 1.5));

  const Module stubs = or_fail(runtime.load((suite.fixtures / "stubs1.so").c_str()));
  const Function plugin = or_fail(stubs.function("stub_sum4"));
  add_ours("call/plugin/gantry", plugin);
  add_raw_values("call/plugin/raw",
                 [target = reinterpret_cast<const gantry_function_cell*>(plugin.get())->target](
                     const gantry_value* values, gantry_value* result) {
                   const gantry_env env{{1, 0}, nullptr, nullptr, nullptr};
                   return target.table->call(target.self, &env, values, 4, result, nullptr);
                 });
  suite.figure("call into a plugin's function, 4 scalars, above the raw call",
               above_raw("call/plugin", 1.5));
}

}  // namespace gantry::bench
