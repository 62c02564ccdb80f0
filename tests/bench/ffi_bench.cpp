// SPDX-License-Identifier: Apache-2.0
//
// The peer of calls: Apache tvm-ffi from its wheel, with its C++ layer and with its C function. The
// raw call is that of the function pointer that tvm-ffi stores.
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/function.h>

namespace gantry::bench {
namespace {

// Arguments and result have the types of stub_sum4, see stub_plugin.c.
int sum4(void*, const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result) {
  if (count != 4) return -1;
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + args[1].v_int64 +
                    static_cast<std::int64_t>(args[2].v_float64 + args[3].v_float64);
  return 0;
}

// Benchmarks `call`, which takes four arguments and a result and returns a status.
template <class Call>
void add_c(const std::string& name, Call call) {
  bench(name, [call](benchmark::State& state) {
    Four four;
    for ([[maybe_unused]] auto _ : state) {
      four.hide();
      TVMFFIAny values[4]{}, result{};
      values[0].type_index = values[1].type_index = kTVMFFIInt;
      values[2].type_index = values[3].type_index = kTVMFFIFloat;
      values[0].v_int64 = four.a, values[1].v_int64 = four.b;
      values[2].v_float64 = four.c, values[3].v_float64 = four.d;
      if (call(values, &result) != 0 || result.v_int64 != 18) throw Failed("sum4 is wrong");
    }
  });
}

}  // namespace

void add_ffi_calls(Suite& suite) {
  const auto function = tvm::ffi::Function::FromExternC(nullptr, sum4, nullptr);
  const TVMFFIObjectHandle handle =
      tvm::ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);

  TVMFFISafeCallType volatile target = sum4;
  add_c("call/ffi/raw", [call = TVMFFISafeCallType{target}](TVMFFIAny* values, TVMFFIAny* result) {
    return call(nullptr, values, 4, result);
  });
  add_c("call/ffi/c", [handle, function](TVMFFIAny* values, TVMFFIAny* result) {
    return TVMFFIFunctionCall(handle, values, 4, result);
  });
  bench("call/ffi/c++", [function](benchmark::State& state) {
    Four four;
    for ([[maybe_unused]] auto _ : state) {
      four.hide();
      if (function(four.a, four.b, four.c, four.d).cast<std::int64_t>() != 18)
        throw Failed("sum4 is wrong");
    }
  });
  suite.figure("call into a plugin's function, 4 scalars, x tvm-ffi's C++ call",
               [](const Times& times) {
                 const double raw = times.median("call/ffi/raw");
                 const double peer = times.median("call/ffi/c++");
                 return Row{1, times.median("call/plugin/gantry") / peer, "x",
                            format("tvm-ffi: C++ %.2f ns", peer) +
                                format(", C %.2f ns", times.median("call/ffi/c")) +
                                format(", raw %.2f ns", raw)};
               });
}

}  // namespace gantry::bench
