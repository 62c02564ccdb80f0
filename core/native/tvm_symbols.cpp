// SPDX-License-Identifier: Apache-2.0
//
// libgantry_tvm.so: the TVM... symbols that some artifacts import by name (every artifact compiled
// from C with a workspace). It is opened globally when the first such artifact is loaded. It
// imports nothing from the core, which fills the slot below; until then every function returns a
// failure.
#include "core/native/packed/tvm_abi.hpp"

#include <gantry/abi.h>

#include <sched.h>

#include <cstdint>
#include <cstring>

// The core finds the slot by its exported name, kTvmFunctionsSymbol. The functions below use a
// hidden alias, which a symbol of another library cannot replace.
extern "C" {
__attribute__((visibility("hidden"))) gantry::TvmFunctions gantry_tvm_slot{};
extern GANTRY_EXPORT gantry::TvmFunctions gantry_tvm_functions
    __attribute__((alias("gantry_tvm_slot")));
}

namespace {

using gantry::PackedValue;
using gantry::ParallelEnv;
using gantry::ParallelTask;

// Rounds to nearest, ties to even, in one step: a conversion by way of float would round twice.
std::uint16_t half_of(double number) {
  std::uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000u);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction != 0) {
    // a quiet NaN
    return static_cast<std::uint16_t>(sign | 0x7e00u | (fraction >> 42));
  }
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (exponent < -25) return sign;
  // 52 bits of fraction to 10
  int shift = 42;
  std::uint64_t half = static_cast<std::uint64_t>(exponent + 15) << 10;
  // subnormal: the leading 1 moves into the fraction
  if (exponent < -14) {
    shift += -14 - exponent;
    fraction |= std::uint64_t{1} << 52;
    half = 0;
  }
  half |= fraction >> shift;
  const std::uint64_t rest = fraction & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (shift - 1);
  // A carry into the exponent is correct, also to infinity.
  if (rest > middle || (rest == middle && (half & 1) != 0)) ++half;
  return static_cast<std::uint16_t>(sign | half);
}

float float_of(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1fu;
  std::uint32_t fraction = half & 0x3ffu;
  std::uint32_t bits = sign;
  if (exponent == 0x1f) {
    bits |= 0x7f800000u | (fraction << 13);
  } else if (exponent != 0) {
    bits |= ((exponent + 112) << 23) | (fraction << 13);
  } else if (fraction != 0) {
    exponent = 113;
    while ((fraction & 0x400u) == 0) {
      fraction <<= 1;
      --exponent;
    }
    bits |= (exponent << 23) | ((fraction & 0x3ffu) << 13);
  }
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

}  // namespace

extern "C" {

GANTRY_EXPORT int TVMFuncCall(void* function, PackedValue* args, int* codes, int count,
                              PackedValue* result, int* result_code) {
  const auto call = gantry_tvm_slot.func_call;
  return call ? call(function, args, codes, count, result, result_code) : -1;
}

GANTRY_EXPORT void TVMAPISetLastError(const char* text) {
  if (const auto set = gantry_tvm_slot.set_last_error) set(text);
}

GANTRY_EXPORT int TVMBackendGetFuncFromEnv(void* context, const char* name, void** function) {
  const auto get = gantry_tvm_slot.get_func_from_env;
  return get ? get(context, name, function) : -1;
}

GANTRY_EXPORT void* TVMBackendAllocWorkspace(int type, int index, std::uint64_t bytes,
                                             int code_hint, int bits_hint) {
  const auto alloc = gantry_tvm_slot.alloc_workspace;
  return alloc ? alloc(type, index, bytes, code_hint, bits_hint) : nullptr;
}

GANTRY_EXPORT int TVMBackendFreeWorkspace(int type, int index, void* data) {
  const auto free_workspace = gantry_tvm_slot.free_workspace;
  return free_workspace ? free_workspace(type, index, data) : -1;
}

GANTRY_EXPORT int TVMBackendParallelLaunch(ParallelTask task, void* closure, int task_count) {
  const auto launch = gantry_tvm_slot.parallel_launch;
  return launch ? launch(task, closure, task_count) : -1;
}

GANTRY_EXPORT int TVMBackendParallelBarrier(int task, ParallelEnv* env) {
  const auto barrier = gantry_tvm_slot.parallel_barrier;
  return barrier ? barrier(task, env) : -1;
}

// Runs f(closure) once for each slot; concurrent callers wait. A run that fails may be repeated.
//
// slot     [in,out]  NULL at first; 1 while f runs, 2 after it succeeded
GANTRY_EXPORT int TVMBackendRunOnce(void** slot, int (*f)(void*), void* closure, int) {
  static_assert(sizeof(std::uintptr_t) == sizeof(void*));
  auto* state = reinterpret_cast<std::uintptr_t*>(slot);
  for (;;) {
    std::uintptr_t seen = 0;
    if (__atomic_compare_exchange_n(state, &seen, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      break;
    if (seen == 2) return 0;
    sched_yield();
  }
  const int code = f(closure);
  __atomic_store_n(state, code == 0 ? 2 : 0, __ATOMIC_RELEASE);
  return code;
}

// Objects of system-library mode register their names when they are opened. This runtime reads the
// names from the symbol table instead.
GANTRY_EXPORT int TVMBackendRegisterSystemLibSymbol(const char*, void*) { return 0; }

// Half-precision helpers. The first two pass halves as 16-bit integers with every compiler.
GANTRY_EXPORT std::uint16_t __gnu_f2h_ieee(float number) {
  return half_of(static_cast<double>(number));
}
GANTRY_EXPORT float __gnu_h2f_ieee(std::uint16_t half) { return float_of(half); }

// The other helpers are called by compilers that pass halves in floating-point registers (LLVM 15
// and newer). Older compilers call __truncdfhf2, too, and expect an integer; on x86-64 it returns
// the result in both registers.
#if defined(__x86_64__)
__attribute__((used, visibility("hidden"))) std::uint16_t gantry_half_of_double(double number) {
  return half_of(number);
}
asm(R"(
    .text
    .globl __truncdfhf2
    .type __truncdfhf2, @function
__truncdfhf2:
    subq $8, %rsp
    call gantry_half_of_double
    movzwl %ax, %eax
    movd %eax, %xmm0
    addq $8, %rsp
    ret
    .size __truncdfhf2, . - __truncdfhf2
)");
#endif

#if defined(__FLT16_MAX__)
__extension__ typedef _Float16 Half;
static Half half_from_bits(std::uint16_t bits) {
  Half half;
  std::memcpy(&half, &bits, sizeof half);
  return half;
}
#if !defined(__x86_64__)
GANTRY_EXPORT Half __truncdfhf2(double number) { return half_from_bits(half_of(number)); }
#endif
GANTRY_EXPORT Half __truncsfhf2(float number) {
  return half_from_bits(half_of(static_cast<double>(number)));
}
GANTRY_EXPORT float __extendhfsf2(Half half) {
  std::uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return float_of(bits);
}
#endif

}  // extern "C"
