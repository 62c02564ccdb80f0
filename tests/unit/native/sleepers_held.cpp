// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/native/sleepers_held.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <thread>

namespace gantry::test {
namespace {

std::atomic<bool> holding{false};
std::atomic<int> held{0};
thread_local bool exempt = false;

void hold() {
  ++held;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (holding && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  --held;
}

}  // namespace

SleepersHeld::SleepersHeld() {
  exempt = true;
  holding = true;
}

SleepersHeld::~SleepersHeld() {
  holding = false;
  exempt = false;
}

void SleepersHeld::wait_for(int threads) {
  while (held < threads) std::this_thread::yield();
}

}  // namespace gantry::test

// Replaces the function of libc in this program. Like that, it reads six arguments whatever their
// number, which AddressSanitizer would report.
extern "C" [[gnu::no_sanitize_address]] long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  namespace test = gantry::test;
  if (number == SYS_futex && a[1] == FUTEX_WAIT_PRIVATE && test::holding && !test::exempt) {
    test::hold();
    return 0;
  }
  static const auto real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
