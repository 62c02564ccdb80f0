// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/runtime_functions.hpp"

#include "core/formats/container_symbols.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace gantry {
namespace {

ExporterFacts facts_of(Dialect dialect) {
  ExporterFacts facts;
  facts.dialect = dialect;
  return facts;
}

template <class Function>
Function* get(std::string_view name) {
  const RuntimeFunction* function = find_runtime_function(name, facts_of(Dialect::packed));
  EXPECT_NE(function, nullptr) << name;
  return reinterpret_cast<Function*>(function->address);
}

TEST(RuntimeFunctions, AreThoseOfTheDialect) {
  EXPECT_NE(find_runtime_function("TVMFuncCall", facts_of(Dialect::packed)), nullptr);
  EXPECT_EQ(find_runtime_function("TVMFuncCall", facts_of(Dialect::ffi)), nullptr);
  EXPECT_NE(find_runtime_function("TVMFFIFunctionCall", facts_of(Dialect::ffi)), nullptr);
  EXPECT_EQ(find_runtime_function("TVMFFIFunctionCall", facts_of(Dialect::packed)), nullptr);
  EXPECT_NE(find_runtime_function("TVMBackendAllocWorkspace", facts_of(Dialect::unknown)), nullptr);
  EXPECT_EQ(find_runtime_function("TVMBackendAllocWorkspac", facts_of(Dialect::packed)), nullptr);
}

// Of the functions for lists, which exist in both dialects, with other parameters.
TEST(RuntimeFunctions, DifferUnderOneName) {
  for (const char* const name :
       {"TVMBackendAnyListSetPackedArg", "TVMBackendAnyListMoveFromPackedReturn"}) {
    EXPECT_NE(find_runtime_function(name, facts_of(Dialect::packed))->address,
              find_runtime_function(name, facts_of(Dialect::ffi))->address)
        << name;
  }
}

// Code of TVM 0.21 passes values in another form.
TEST(RuntimeFunctions, AreThoseOfTheRelease) {
  for (const char* const name : {"TVMFFIFunctionCall", "TVMBackendAnyListSetPackedArg",
                                 "TVMBackendAnyListMoveFromPackedReturn"}) {
    EXPECT_NE(find_runtime_function(name, facts_of(Dialect::ffi_0_21))->address,
              find_runtime_function(name, facts_of(Dialect::ffi))->address)
        << name;
  }
  EXPECT_EQ(find_runtime_function("TVMFFIErrorSetRaisedFromCStr", facts_of(Dialect::ffi_0_21)),
            find_runtime_function("TVMFFIErrorSetRaisedFromCStr", facts_of(Dialect::ffi)));
}

// Constructors of a system library call it, so that it is resolved when the library is opened.
TEST(RuntimeFunctions, RegisterTheSymbolsOfEveryForm) {
  for (const std::string_view name : register_functions) {
    const Dialect dialect = name == packed_register_function ? Dialect::packed : Dialect::ffi;
    const RuntimeFunction* const found = find_runtime_function(name, facts_of(dialect));
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(found->is_called_at_load) << name;
    EXPECT_EQ(reinterpret_cast<int (*)(const char*, void*)>(found->address)("f", nullptr), 0);
  }
}

TEST(RunOnce, RunsOnceUnlessTheRunFails) {
  auto* run_once = get<int(void**, int (*)(void*), void*, int)>("TVMBackendRunOnce");
  struct State {
    int runs = 0;
    int code = -7;
  } state;
  const auto run = [](void* closure) {
    auto& s = *static_cast<State*>(closure);
    ++s.runs;
    return s.code;
  };
  void* slot = nullptr;

  EXPECT_EQ(run_once(&slot, run, &state, 0), -7);
  state.code = 0;
  EXPECT_EQ(run_once(&slot, run, &state, 0), 0);
  EXPECT_EQ(run_once(&slot, run, &state, 0), 0);

  EXPECT_EQ(state.runs, 2);
}

TEST(RunOnce, RunsOnceForThreadsThatWaitForEachOther) {
  auto* run_once = get<int(void**, int (*)(void*), void*, int)>("TVMBackendRunOnce");
  struct State {
    std::atomic<int> runs{0};
    std::atomic<bool> may_end{false};
  } state;
  const auto run = [](void* closure) {
    auto& s = *static_cast<State*>(closure);
    ++s.runs;
    while (!s.may_end) std::this_thread::yield();
    return 0;
  };
  void* slot = nullptr;
  std::thread first([&] { EXPECT_EQ(run_once(&slot, run, &state, 0), 0); });
  while (state.runs == 0) std::this_thread::yield();
  std::atomic<bool> is_back{false};
  std::thread second([&] {
    EXPECT_EQ(run_once(&slot, run, &state, 0), 0);
    is_back = true;
  });

  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_back);

  state.may_end = true;
  first.join();
  second.join();
  EXPECT_EQ(state.runs, 1);
}

TEST(HalfHelpers, ConvertsEveryHalfThereAndBack) {
  auto* to_float = get<float(std::uint16_t)>("__gnu_h2f_ieee");
  auto* to_half = get<std::uint16_t(float)>("__gnu_f2h_ieee");
  for (std::uint32_t half = 0; half <= 0xffff; ++half) {
    const float number = to_float(static_cast<std::uint16_t>(half));
    const std::uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0x1f && fraction != 0) {
      ASSERT_TRUE(std::isnan(number)) << half;
      ASSERT_EQ(to_half(number), half | 0x200) << half;
      continue;
    }
    const double size = exponent == 0x1f ? HUGE_VAL
                        : exponent == 0
                            ? std::ldexp(fraction, -24)
                            : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    ASSERT_EQ(number, static_cast<float>(half & 0x8000 ? -size : size)) << half;
    ASSERT_EQ(to_half(number), half);
  }
}

TEST(HalfHelpers, RoundsToNearestAndTiesToEvenInOneStep) {
  auto* to_half = get<std::uint16_t(double)>("__truncdfhf2");
  // a tie, down to even
  EXPECT_EQ(to_half(1.0 + 1.0 / 2048), 0x3c00);
  // a tie, up to even
  EXPECT_EQ(to_half(1.0 + 3.0 / 2048), 0x3c02);
  // a tie after a conversion to float
  EXPECT_EQ(to_half(1.0 + 1.0 / 2048 + std::ldexp(1, -40)), 0x3c01);
  EXPECT_EQ(to_half(65519.999), 0x7bff);
  EXPECT_EQ(to_half(65520.0), 0x7c00);
  EXPECT_EQ(to_half(1e300), 0x7c00);
  EXPECT_EQ(to_half(-1e300), 0xfc00);
  EXPECT_EQ(to_half(std::ldexp(1, -25)), 0x0000);
  EXPECT_EQ(to_half(std::ldexp(1.001, -25)), 0x0001);
  EXPECT_EQ(to_half(std::ldexp(1, -26)), 0x0000);
  EXPECT_EQ(to_half(-0.0), 0x8000);
  // carries out of the subnormal range
  EXPECT_EQ(to_half(std::ldexp(2047, -25)), 0x0400);
}

#if defined(__FLT16_MAX__)
#if defined(__aarch64__)
using Half = __fp16;
#else
__extension__ typedef _Float16 Half;
#endif

TEST(HalfHelpers, PassesHalvesAsNewerCompilersDo) {
  const auto bits_of = [](Half half) {
    std::uint16_t bits;
    std::memcpy(&bits, &half, sizeof bits);
    return bits;
  };
  EXPECT_EQ(bits_of(get<Half(double)>("__truncdfhf2")(1.5)), 0x3e00);
  EXPECT_EQ(bits_of(get<Half(float)>("__truncsfhf2")(-2.0f)), 0xc000);
  Half half;
  const std::uint16_t bits = 0x3555;
  std::memcpy(&half, &bits, sizeof half);
  EXPECT_EQ(get<float(Half)>("__extendhfsf2")(half), 0.333251953125f);
}
#endif

}  // namespace
}  // namespace gantry
