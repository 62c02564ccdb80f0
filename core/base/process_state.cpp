// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_state.hpp"

#include "core/base/mapped_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstring>
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

bool same_file(int a, int b) {
  struct stat first {
  }, second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 &&
         identity_of(first) == identity_of(second);
}

// The duplicate is not a standard descriptor.
Descriptor duplicate(int number) { return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3)); }

Descriptor open_working_directory() {
  // takes the number of a standard descriptor that is closed
  const Descriptor directory(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return duplicate(directory.get());
}

// Returns the mask from /proc. umask() returns it only while it sets another one, which would
// affect files that other threads create at that moment.
std::optional<mode_t> read_creation_mask() {
  const Descriptor status(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  // The first line is the name of the program, up to 64 characters; the second one is the mask.
  char text[128];
  const ssize_t size = status ? ::read(status.get(), text, sizeof text) : 0;
  if (size <= 0) return std::nullopt;
  const std::string_view lines(text, static_cast<std::size_t>(size));
  constexpr std::string_view label = "\nUmask:\t";
  const std::size_t at = lines.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = lines.substr(at + label.size());
  mode_t mask = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 8);
  return read.ec == std::errc() ? std::optional(mask) : std::nullopt;
}

// As the kernel numbers them; glibc uses the first two itself.
constexpr int first_real_time_signal = 32;

bool same_action(const struct sigaction& a, const struct sigaction& b) {
  // The kernel writes so many bytes of the mask.
  constexpr std::size_t mask_bytes = (NSIG - 1) / 8;
  // SA_RESTORER, which the C library adds to each action that it sets.
  constexpr int added_flags = 0x04000000;
  return ((a.sa_flags ^ b.sa_flags) & ~added_flags) == 0 && a.sa_handler == b.sa_handler &&
         std::memcmp(&a.sa_mask, &b.sa_mask, mask_bytes) == 0;
}

}  // namespace

constexpr ProcessState::Item ProcessState::items[] = {
    {"the floating-point control register", &ProcessState::restore_floating_point, Scope::artifact},
    {"the signal mask", &ProcessState::restore_signals, Scope::artifact},
    {"the working directory", &ProcessState::restore_directory, Scope::artifact},
    {"standard input", &ProcessState::restore_standard<0>, Scope::artifact},
    {"standard output", &ProcessState::restore_standard<1>, Scope::artifact},
    {"standard error", &ProcessState::restore_standard<2>, Scope::artifact},
    {"the locale", &ProcessState::restore_locale, Scope::plugin},
    {"the file mode creation mask", &ProcessState::restore_creation_mask, Scope::plugin},
    {"the action of a signal", &ProcessState::restore_actions, Scope::signals},
};

ProcessState::ProcessState(Scope scope)
    : scope_(scope),
      control_(control_bits()),
      directory_(open_working_directory()),
      standard_{duplicate(0), duplicate(1), duplicate(2)} {
  std::fegetenv(&floating_point_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
  if (scope == Scope::artifact) return;
  cxx_locale_.emplace();
  c_locale_ = std::setlocale(LC_ALL, nullptr);
  thread_locale_ = ::uselocale(locale_t{});
  creation_mask_ = read_creation_mask();
  if (scope == Scope::plugin) return;
  actions_.resize(first_real_time_signal);
  for (int number = 1; number < first_real_time_signal; ++number)
    ::sigaction(number, nullptr, &actions_[static_cast<std::size_t>(number)]);
}

std::vector<std::string_view> ProcessState::restore() {
  std::vector<std::string_view> changed;
  for (const Item& item : items) {
    if (item.scope <= scope_ && (this->*item.restore)()) changed.push_back(item.name);
  }
  return changed;
}

bool ProcessState::restore_floating_point() {
  if (control_bits() == control_) return false;
  std::fesetenv(&floating_point_);
  return true;
}

bool ProcessState::restore_signals() {
  sigset_t now{};
  pthread_sigmask(SIG_SETMASK, &signals_, &now);
  return std::memcmp(&now, &signals_, sizeof now) != 0;
}

bool ProcessState::restore_directory() {
  // By path: a new descriptor would take the number of a closed standard one.
  struct stat before {
  }, here{};
  const bool is_known = ::fstat(directory_.get(), &before) == 0;
  if (!is_known || (::stat(".", &here) == 0 && identity_of(before) == identity_of(here)))
    return false;
  (void)!::fchdir(directory_.get());
  return true;
}

template <int Number>
bool ProcessState::restore_standard() {
  // Closed before, too, or no descriptor is left.
  if (!standard_[Number] || same_file(Number, standard_[Number].get())) return false;
  ::dup2(standard_[Number].get(), Number);
  return true;
}

bool ProcessState::restore_locale() {
  bool is_changed = false;
  // Replaces the locale of C if the one of C++ has a name.
  if (std::locale() != *cxx_locale_) {
    std::locale::global(*cxx_locale_);
    is_changed = true;
  }
  if (std::setlocale(LC_ALL, nullptr) != c_locale_) {
    std::setlocale(LC_ALL, c_locale_.c_str());
    is_changed = true;
  }
  return ::uselocale(thread_locale_) != thread_locale_ || is_changed;
}

bool ProcessState::restore_actions() {
  bool is_changed = false;
  for (int number = 1; number < first_real_time_signal; ++number) {
    const struct sigaction& before = actions_[static_cast<std::size_t>(number)];
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || same_action(before, now)) continue;
    ::sigaction(number, &before, nullptr);
    is_changed = true;
  }
  return is_changed;
}

bool ProcessState::restore_creation_mask() {
  const std::optional<mode_t> now = read_creation_mask();
  if (!creation_mask_ || !now || *now == *creation_mask_) return false;
  ::umask(*creation_mask_);
  return true;
}

}  // namespace gantry
