// SPDX-License-Identifier: Apache-2.0
#include "kv_tables.hpp"

#include <algorithm>
#include <cassert>

namespace gantry::relax {
namespace {
constexpr std::size_t line_size = 16;
constexpr std::size_t table_alignment = 4;
}  // namespace

void KvTableBuffer::reserve(std::size_t size) {
  const std::size_t needed = (size + line_size - 1) / line_size;
  if (needed > lines_.size()) lines_.resize(std::max(needed, 2 * lines_.size()));
}

KvTable KvTableBuffer::add(std::size_t size) noexcept {
  const std::size_t offset = (size_ + table_alignment - 1) / table_alignment * table_alignment;
  assert(offset + size <= lines_.size() * line_size);
  size_ = offset + size;
  return {static_cast<std::int32_t>(offset), static_cast<std::int32_t>(size)};
}

}  // namespace gantry::relax
