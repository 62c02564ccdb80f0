// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/guarded_bytes.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace gantry::kit {

GuardedBytes::GuardedBytes(std::span<const std::uint8_t> bytes, std::size_t before_the_end,
                           Access access)
    : size_(bytes.size()) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t usable = (size_ + before_the_end + page - 1) / page * page;
  mapped_ = usable + page;
  void* const base =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::uint8_t*>(base);
  at_ = base_ + usable - size_ - before_the_end;
  if (size_ != 0) std::memcpy(at_, bytes.data(), size_);
  if (access == Access::read_only) ::mprotect(base_, usable, PROT_READ);
  ::mprotect(base_ + usable, page, PROT_NONE);
}

void GuardedBytes::revoke() { ::mprotect(base_, mapped_, PROT_NONE); }

GuardedBytes::~GuardedBytes() { ::munmap(base_, mapped_); }

}  // namespace gantry::kit
