// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gantry::cuda {

Result<void*> Memory::alloc(const gantry_alloc& what) {
  const std::string_view scope = view_of(what.scope);
  if (!scope.empty() && scope != "global") {
    return unsupported("memory scope ", quoted(scope), " is not supported, \"global\" is")
        .with_reason("MEMORY_SCOPE");
  }
  if (what.alignment != 0 && !std::has_single_bit(what.alignment)) {
    return invalid("alignment is ", what.alignment, ", expected a power of two")
        .with_reason("ALIGNMENT");
  }
  // Alignment in bytes that cuMemAlloc guarantees.
  constexpr std::uint64_t driver_alignment = 256;
  const std::uint64_t room =
      what.alignment > driver_alignment ? what.alignment - driver_alignment : 0;
  const std::uint64_t bytes = std::max<std::uint64_t>(what.size, 1);
  if (bytes > UINT64_MAX - room) {
    return exhausted("allocation of ", ByteCount(what.size), " at a multiple of ", what.alignment,
                     " is more than any memory")
        .with_reason("DEVICE_MEMORY");
  }
  retry();
  CUdeviceptr base = 0;
  Status made = driver_.call(driver_.mem_alloc, &base, bytes + room);
  if (!made.ok()) return std::move(made).failure().at("while allocating ", ByteCount(what.size));
  const CUdeviceptr mask = what.alignment > driver_alignment ? what.alignment - 1 : 0;
  void* const data = reinterpret_cast<void*>((base + mask) & ~mask);
  const Block block{base, what.size};
  try {
    const std::lock_guard lock(mutex_);
    blocks_.emplace(data, block);
    live_bytes_ += static_cast<std::int64_t>(block.size);
  } catch (...) {
    driver_.mem_free.function(base);
    throw;
  }
  return data;
}

void Memory::free(void* data) {
  if (data == nullptr) return;
  Block block{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) {
      host_.log(GANTRY_LOG_ERROR, {"free of ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                                   ", which alloc did not return"});
      return;
    }
    block = found->second;
    blocks_.erase(found);
  }
  retry();
  release(block);
}

std::int64_t Memory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

void Memory::close() {
  retry();
  for (const auto& [data, block] : blocks_) release(block);
  blocks_.clear();
}

// Frees a block, or defers it if the driver rejects the call during a capture.
void Memory::release(const Block& block) {
  const Status freed = driver_.call(driver_.mem_free, block.base);
  const bool is_refused =
      !freed.ok() && freed.error().native_code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!freed.ok() && !is_refused) {
    host_.log(GANTRY_LOG_WARNING,
              Message(freed.error().message).at("while freeing ", ByteCount(block.size)));
  }
  const std::lock_guard lock(mutex_);
  if (is_refused) {
    refused_.push_back(block);
  } else {
    live_bytes_ -= static_cast<std::int64_t>(block.size);
  }
}

void Memory::retry() {
  std::vector<Block> again;
  {
    const std::lock_guard lock(mutex_);
    again.swap(refused_);
  }
  for (const Block& block : again) release(block);
}

}  // namespace gantry::cuda
