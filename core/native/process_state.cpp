// SPDX-License-Identifier: Apache-2.0
#include "core/native/process_state.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gantry {
namespace {

// Rounding, exceptions that trap, flush-to-zero and denormals-are-zero; without the flags of
// exceptions that have occurred.
std::uint64_t control_bits() {
#if defined(__x86_64__)
  constexpr std::uint32_t occurred = 0x3f;
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return std::uint64_t{x87} << 32 | (_mm_getcsr() & ~occurred);
#else
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#endif
}

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool same_file(int a, int b) {
  struct stat first {
  }, second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && same(first, second);
}

Descriptor duplicate(int number) { return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3)); }

constexpr int signal_count = 64;

bool same_signals(const sigset_t& a, const sigset_t& b) {
  for (int i = 1; i <= signal_count; ++i) {
    if (sigismember(&a, i) != sigismember(&b, i)) return false;
  }
  return true;
}

}  // namespace

ProcessState::ProcessState()
    : control_(control_bits()),
      directory_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      standard_{duplicate(0), duplicate(1), duplicate(2)} {
  std::fegetenv(&floating_point_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
}

std::vector<std::string_view> ProcessState::restore() {
  std::vector<std::string_view> changed;
  if (control_bits() != control_) {
    std::fesetenv(&floating_point_);
    changed.push_back("the floating-point control register");
  }
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, &signals_, &now);
  if (!same_signals(now, signals_)) changed.push_back("the signal mask");
  // By path: a new descriptor would take the number of a closed standard one.
  struct stat before {
  }, here{};
  const bool is_known = ::fstat(directory_.get(), &before) == 0;
  if (is_known && (::stat(".", &here) != 0 || !same(before, here))) {
    (void)!::fchdir(directory_.get());
    changed.push_back("the working directory");
  }
  constexpr std::string_view names[] = {"standard input", "standard output", "standard error"};
  for (int i = 0; i < 3; ++i) {
    // Closed before, too, or no descriptor is left.
    if (!standard_[i] || same_file(i, standard_[i].get())) continue;
    ::dup2(standard_[i].get(), i);
    changed.push_back(names[i]);
  }
  return changed;
}

}  // namespace gantry
