// SPDX-License-Identifier: Apache-2.0
#include "core/native/library_imports.hpp"
#include "core/native/linker_file.hpp"
#include "core/native/packed/tvm_abi.hpp"
#include "tests/support/files.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
// These tests open a library twice, which the sanitizer would report as a violation of the
// one-definition rule.
extern "C" GANTRY_EXPORT const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_odr_violation=0"; }
#endif

namespace gantry {
namespace {

// A private copy of libgantry_tvm.so, whose slot is not filled.
class TvmSymbols : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes = test::read_file(test::build_tree() / "lib" / "libgantry_tvm.so");
    copy = std::move(LinkerFile::copy("libgantry_tvm.so", bytes)).value();
    library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
  }
  void TearDown() override {
    if (library) dlclose(library);
  }
  template <class Function>
  Function* get(const char* name) {
    void* address = dlsym(library, name);
    EXPECT_NE(address, nullptr) << name;
    return reinterpret_cast<Function*>(address);
  }

  std::vector<std::uint8_t> bytes;
  LinkerFile copy;
  void* library = nullptr;
};

TEST_F(TvmSymbols, ExportsEveryListedName) {
  for (const std::string_view name : names_of_tvm_symbols()) get<void>(std::string(name).c_str());
  EXPECT_EQ(static_cast<TvmFunctions*>(dlsym(library, kTvmFunctionsSymbol))->struct_size, 0u);
}

TEST_F(TvmSymbols, ImportsNothingOfTheCore) {
  const auto elf = ElfFile::parse(bytes);
  ASSERT_TRUE(elf.ok());
  for (const ElfSymbol& symbol : elf->symbols()) {
    if (!symbol.defined()) {
      EXPECT_EQ(symbol.name.find("gantry"), std::string_view::npos) << symbol.name;
    }
  }
}

TEST_F(TvmSymbols, ReturnsFailuresBeforeItIsFilled) {
  EXPECT_EQ(get<int(void*, PackedValue*, int*, int, PackedValue*, int*)>("TVMFuncCall")(
                nullptr, nullptr, nullptr, 0, nullptr, nullptr),
            -1);
  get<void(const char*)>("TVMAPISetLastError")("text");
  void* function = nullptr;
  EXPECT_EQ(
      get<int(void*, const char*, void**)>("TVMBackendGetFuncFromEnv")(nullptr, "f", &function),
      -1);
  EXPECT_EQ(
      get<void*(int, int, std::uint64_t, int, int)>("TVMBackendAllocWorkspace")(1, 0, 64, 2, 32),
      nullptr);
  EXPECT_EQ(get<int(int, int, void*)>("TVMBackendFreeWorkspace")(1, 0, nullptr), -1);
  EXPECT_EQ(get<int(ParallelTask, void*, int)>("TVMBackendParallelLaunch")(nullptr, nullptr, 0),
            -1);
  EXPECT_EQ(get<int(int, ParallelEnv*)>("TVMBackendParallelBarrier")(0, nullptr), -1);
}

TEST_F(TvmSymbols, RunsOnceUnlessTheRunFails) {
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

TEST_F(TvmSymbols, RunsOnceForThreadsThatWaitForEachOther) {
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

TEST_F(TvmSymbols, ConvertsEveryHalfThereAndBack) {
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

TEST_F(TvmSymbols, RoundsToNearestAndTiesToEvenInOneStep) {
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
__extension__ typedef _Float16 Half;

TEST_F(TvmSymbols, PassesHalvesAsNewerCompilersDo) {
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

TEST(LinkerFile, HasAPathThatNoOpenLibraryHas) {
  const auto bytes = test::read_file(test::build_tree() / "lib" / "libgantry_tvm.so");
  void* first = nullptr;
  std::string path;
  {
    auto copy = LinkerFile::copy("one", bytes);
    ASSERT_TRUE(copy.ok());
    path = copy->path();
    first = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(first, nullptr);
    // The descriptor is closed; the library is still open under its path.
  }

  const auto next = LinkerFile::copy("two", bytes);
  ASSERT_TRUE(next.ok());
  void* second = dlopen(next->path().c_str(), RTLD_NOW | RTLD_LOCAL);

  EXPECT_NE(next->path(), path);
  EXPECT_EQ(truncate(next->path().c_str(), 0), -1) << "it is sealed";
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(second, first);
  dlclose(second);
  dlclose(first);
}

}  // namespace
}  // namespace gantry
