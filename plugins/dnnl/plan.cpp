// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <gantry/byte_count.hpp>

#include <unistd.h>

#include <algorithm>
#include <new>

namespace gantry::dnnl_plugin {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

std::size_t physical_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<AlignedBytes> new_aligned_bytes(std::size_t size) {
  // A system that promises more memory than it has would end the process when it is written.
  const std::size_t physical = physical_bytes();
  if (size > physical) {
    return exhausted("tensors need ", ByteCount(size), ", the machine has ", ByteCount(physical))
        .with_reason("MEMORY");
  }
  auto* const memory = static_cast<std::byte*>(::operator new[](
      std::max<std::size_t>(size, 1), std::align_val_t(memory_alignment), std::nothrow));
  if (memory == nullptr) {
    return exhausted("no memory for ", ByteCount(size), " of tensors").with_reason("MEMORY");
  }
  return AlignedBytes(memory);
}

void place_buffers(Plan& plan) {
  std::vector<Buffer*> order;
  for (Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::temporary) order.push_back(&buffer);
  }
  std::ranges::stable_sort(order, {}, &Buffer::first_step);
  // Buffers in use, by offset.
  std::vector<const Buffer*> used;
  for (Buffer* const buffer : order) {
    std::erase_if(used, [&](const Buffer* other) { return other->last_step < buffer->first_step; });
    std::size_t offset = 0;
    auto at = used.begin();
    while (at != used.end() && offset + aligned(buffer->bytes) > (*at)->offset) {
      offset = std::max(offset, (*at)->offset + aligned((*at)->bytes));
      ++at;
    }
    buffer->offset = offset;
    used.insert(at, buffer);
    plan.arena_bytes = std::max(plan.arena_bytes, offset + aligned(buffer->bytes));
  }
  for (Buffer& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::zeroed) continue;
    buffer.offset = plan.arena_bytes;
    plan.arena_bytes += aligned(buffer.bytes);
  }
}

}  // namespace gantry::dnnl_plugin
