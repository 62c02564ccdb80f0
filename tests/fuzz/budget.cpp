// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/budget.hpp"

#include <malloc.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GANTRY_FUZZ_HOOKS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GANTRY_FUZZ_HOOKS 1
#endif
#ifdef GANTRY_FUZZ_HOOKS
// Declared in sanitizer/allocator_interface.h, which GCC's packages do not contain.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             std::size_t),
                                                         void (*free_hook)(const volatile void*));
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
#endif

namespace gantry::fuzz {
namespace {

// Slowdown measured on the golden files: sanitizers and coverage counters 4 to 15 times, assertions
// and low optimisation 1.5 to 2 times. Machines differ by as much as the latter.
#if defined(GANTRY_FUZZ_HOOKS)
constexpr std::int64_t slower_by = 20;
// Replays on the release build check the time.
constexpr std::int64_t replays_slower_by = 100;
#else
constexpr std::int64_t slower_by = 2;
constexpr std::int64_t replays_slower_by = 2;
#endif

// `live` becomes negative if blocks that are older than the budget are freed.
struct Account {
  bool open = false;
  std::int64_t allocations = 0;
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::int64_t max = 0;
};
constinit thread_local Account account;

// Retries of the current input of a replay.
struct Chances {
  bool are_given = false;
  int left = 0;
  bool taken = false;
};
constinit thread_local Chances chances;

void add(std::size_t size) {
  if (!account.open) return;
  ++account.allocations;
  account.live += static_cast<std::int64_t>(size);
  if (account.live <= account.peak) return;
  account.peak = account.live;
  if (account.peak <= account.max) return;
  account.open = false;
  std::fprintf(stderr, "fuzz: memory over budget: %lld bytes at once, maximum is %lld\n",
               static_cast<long long>(account.peak), static_cast<long long>(account.max));
  std::abort();
}

void subtract(std::size_t size) {
  if (account.open) account.live -= static_cast<std::int64_t>(size);
}

std::int64_t thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

#ifdef GANTRY_FUZZ_HOOKS
const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) { add(size); },
    [](const volatile void* memory) {
      if (memory != nullptr && account.open) {
        subtract(__sanitizer_get_allocated_size(const_cast<const void*>(memory)));
      }
    });
#endif

}  // namespace

Budget::Budget(std::size_t input_bytes, const Cost& cost) : begun_at_(thread_nanoseconds()) {
  const auto bytes = static_cast<std::int64_t>(input_bytes);
  max_nanoseconds_ = (cost.nanoseconds_per_input_byte * bytes + cost.nanoseconds_for_free) *
                     (chances.are_given ? replays_slower_by : slower_by);
  account = {
      true, 0, 0, 0,
      static_cast<std::int64_t>(cost.bytes_per_input_byte * static_cast<double>(input_bytes)) +
          static_cast<std::int64_t>(cost.bytes_for_free)};
}

Budget::~Budget() {
  account.open = false;
  const std::int64_t spent = nanoseconds();
  if (spent <= max_nanoseconds_) return;
  if (chances.left > 0) {
    --chances.left;
    chances.taken = true;
    return;
  }
  std::fprintf(stderr, "fuzz: time over budget: %lld us, maximum is %lld us\n",
               static_cast<long long>(spent / 1000),
               static_cast<long long>(max_nanoseconds_ / 1000));
  std::abort();
}

void Budget::give_chances(int count) { chances = {true, count, false}; }
bool Budget::took_chance() { return std::exchange(chances.taken, false); }

std::int64_t Budget::peak_bytes() const { return account.peak; }
std::int64_t Budget::allocations() const { return account.allocations; }
std::int64_t Budget::nanoseconds() const { return thread_nanoseconds() - begun_at_; }

#ifndef GANTRY_FUZZ_HOOKS
namespace detail {
// Used by the operators below, which must be in the global namespace.
void* allocate(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  add(malloc_usable_size(memory));
  return memory;
}
void release(void* memory) {
  if (memory != nullptr) subtract(malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace detail
#endif

}  // namespace gantry::fuzz

#ifndef GANTRY_FUZZ_HOOKS
void* operator new(std::size_t size) { return gantry::fuzz::detail::allocate(size); }
void* operator new[](std::size_t size) { return gantry::fuzz::detail::allocate(size); }
void operator delete(void* memory) noexcept { gantry::fuzz::detail::release(memory); }
void operator delete[](void* memory) noexcept { gantry::fuzz::detail::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { gantry::fuzz::detail::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  gantry::fuzz::detail::release(memory);
}
#endif
