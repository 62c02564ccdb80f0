// SPDX-License-Identifier: Apache-2.0
#include "core/base/owned_range.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace gantry {
namespace {

constinit std::atomic_flag range_lock;
// Guarded by range_lock.
constinit OwnedRange* newest_range = nullptr;

// Not held for longer than a few instructions.
void lock_ranges() noexcept {
  while (range_lock.test_and_set(std::memory_order_acquire)) usleep(1);
}

bool try_to_lock_ranges() noexcept {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (!range_lock.test_and_set(std::memory_order_acquire)) return true;
    usleep(1000);
  }
  return false;
}

void unlock_ranges() noexcept { range_lock.clear(std::memory_order_release); }

}  // namespace

OwnedRange::OwnedRange(RangeKind kind, std::span<const std::byte> addresses,
                       std::string_view title) noexcept
    : kind_(kind), addresses_(addresses), title_(title) {
  lock_ranges();
  before_ = newest_range;
  if (before_ != nullptr) before_->after_ = this;
  newest_range = this;
  unlock_ranges();
}

OwnedRange::~OwnedRange() {
  lock_ranges();
  if (before_ != nullptr) before_->after_ = after_;
  (after_ != nullptr ? after_->before_ : newest_range) = before_;
  unlock_ranges();
}

bool FoundRange::find(std::uintptr_t address) noexcept {
  if (!try_to_lock_ranges()) return false;
  const OwnedRange* range = newest_range;
  for (; range != nullptr; range = range->before_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(range->addresses_.data());
    if (address - begin < range->addresses_.size()) break;
  }
  if (range != nullptr) {
    kind = range->kind_;
    first = reinterpret_cast<std::uintptr_t>(range->addresses_.data());
    title[range->title_.copy(title, sizeof title - 1)] = 0;
  }
  unlock_ranges();
  return range != nullptr;
}

std::span<const std::byte> library_at(const void* address) noexcept {
  struct Search {
    std::uintptr_t address;
    std::span<const std::byte> found;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* given) {
        auto& wanted = *static_cast<Search*>(given);
        std::uintptr_t first = std::numeric_limits<std::uintptr_t>::max(), end = 0;
        for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (segment.p_type != PT_LOAD) continue;
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          first = std::min(first, begin);
          end = std::max(end, begin + segment.p_memsz);
        }
        if (wanted.address < first || wanted.address >= end) return 0;
        wanted.found = {reinterpret_cast<const std::byte*>(first), end - first};
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace gantry
