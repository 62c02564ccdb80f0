// SPDX-License-Identifier: Apache-2.0
//
// Memory of zeros that ends at a page without access: code that no sanitizer instruments, such as
// code that a library generates, is stopped where it reads or writes behind the end.
#pragma once

#include "tests/fuzz/fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace gantry::fuzz {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (size + page - 1) / page * page;
    mapped_ = whole + page;
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    expect(memory_ != MAP_FAILED && mprotect(memory_ + whole, page, PROT_NONE) == 0,
           "pages are mapped");
    data_ = memory_ + (whole - size);
  }
  GuardedBytes(GuardedBytes&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        data_(other.data_),
        mapped_(other.mapped_) {}
  GuardedBytes& operator=(GuardedBytes&&) = delete;
  ~GuardedBytes() {
    if (memory_ != nullptr) munmap(memory_, mapped_);
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* memory_;
  std::byte* data_;
  std::size_t mapped_;
};

}  // namespace gantry::fuzz
