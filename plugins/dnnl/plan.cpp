// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <new>

namespace gantry::dnnl_plugin {
namespace {

// More than any machine has, and far from the end of the range.
constexpr std::uint64_t max_arena = std::uint64_t{1} << 62;

std::size_t aligned(std::size_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

std::size_t physical_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Returns the end of the last element of a tensor, from the start of its buffer.
std::size_t end_of(const View& view) {
  if (!is_blocked(view.desc)) return view.offset + view.desc.get_size();
  const Blocking blocking = blocking_of(view.desc);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < blocking.padded.size(); ++i) {
    if (blocking.padded[i] == 0) return view.offset;
    last += (blocking.padded[i] / blocking.blocks[i] - 1) * blocking.strides[i];
  }
  return view.offset + static_cast<std::size_t>(last + blocking.inner) *
                           ::dnnl::memory::data_type_size(view.type());
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

Status place_buffers(Plan& plan) {
  // No sum of the placement wraps around if that of all sizes does not.
  std::uint64_t sum = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::temporary && buffer.kind != BufferKind::zeroed) continue;
    if (buffer.bytes > max_arena - sum) {
      return exhausted("tensors need ", ByteCount(sum), " and ", ByteCount(buffer.bytes),
                       ", maximum is ", ByteCount(max_arena))
          .with_reason("MEMORY");
    }
    sum += aligned(buffer.bytes);
    if (sum > max_arena) sum = max_arena;
  }
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
  return {};
}

Status check_views(const Plan& plan) {
  for (const View& view : plan.views) {
    const std::size_t end = end_of(view), bytes = plan.buffers[view.buffer].bytes;
    if (end > bytes) {
      return bug("view of shape ", numbers_text(view.dims()), " ends at byte ", end,
                 " of a buffer of ", ByteCount(bytes));
    }
  }
  return {};
}

}  // namespace gantry::dnnl_plugin
