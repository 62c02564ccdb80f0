// SPDX-License-Identifier: Apache-2.0
//
// gantry/descriptor.hpp - a file descriptor that the destructor closes, and complete writes to one.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

namespace gantry {

class Descriptor {
 public:
  // number   [in]   negative: none
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Not a cancellation point, as close() of libc is: pthread_cancel() must not unwind a destructor.
  // Calls that function, because thread sanitizers follow it and not system calls.
  void close() {
    if (number_ < 0) return;
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    ::close(std::exchange(number_, -1));
    pthread_setcancelstate(before, nullptr);
  }
  // Transfers the descriptor to the caller.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Writes all bytes to an open descriptor.
//
// returns  0 or an errno
inline int write_all(int descriptor, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace gantry
