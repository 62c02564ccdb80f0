// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device.hpp>
#include <gantry/external_memory.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gantry::cuda {
namespace {

// During a capture of another thread; the call is repeated after it.
bool is_refused(const Status& status) {
  return !status.ok() && status.error().native_code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Returns the bytes to allocate so that an aligned address is among the first `room` ones.
//
// returns  exhausted
Result<std::size_t> bytes_with_room(const gantry_alloc& what, std::uint64_t room) {
  const std::uint64_t bytes = std::max<std::uint64_t>(what.size, 1);
  if (bytes <= UINT64_MAX - room) return bytes + room;
  return exhausted("allocation of ", ByteCount(what.size), " at a multiple of ", what.alignment,
                   " is more than any memory")
      .with_reason("DEVICE_MEMORY");
}

}  // namespace

Result<CUmemoryPool> Memory::pool() {
  const std::lock_guard lock(pool_mutex_);
  if (has_looked_for_pool_) return pool_;
  if (driver_.mem_free_in_stream.function == nullptr) return nullptr;
  CUdevice device = 0;
  int is_supported = 0;
  GANTRY_CHECK(driver_.call(driver_.device_get, &device, index_));
  GANTRY_CHECK(driver_.call(driver_.device_get_attribute, &is_supported,
                            CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device));
  if (is_supported != 0) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, index_};
    CUmemoryPool made = nullptr;
    GANTRY_CHECK(
        driver_.call(driver_.pool_create, &made, const_cast<const CUmemPoolProps*>(&properties)));
    // Otherwise unused memory returns to the driver whenever a stream is synchronized.
    cuuint64_t kept = UINT64_MAX;
    Status set = driver_.call(driver_.pool_set_attribute, made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                              static_cast<void*>(&kept));
    if (!set.ok()) {
      driver_.pool_destroy.function(made);
      return std::move(set).failure();
    }
    pool_ = made;
  }
  has_looked_for_pool_ = true;
  return pool_;
}

Result<bool> Memory::is_captured(CUstream stream) const {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  GANTRY_CHECK(driver_.call(driver_.stream_is_capturing, stream, &capture));
  return capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<void*> Memory::alloc(const gantry_alloc& what, CUstream stream) {
  const std::string_view scope = view_of(what.scope);
  const bool is_host = scope == GANTRY_SCOPE_HOST;
  if (!scope.empty() && scope != GANTRY_SCOPE_GLOBAL && !is_host) {
    return unsupported("memory scope ", quoted(scope),
                       " is not supported, \"global\" and \"host\" are")
        .with_reason("MEMORY_SCOPE");
  }
  if (what.alignment != 0 && !std::has_single_bit(what.alignment)) {
    return invalid("alignment is ", what.alignment, ", expected a power of two")
        .with_reason("ALIGNMENT");
  }
  if (is_host) return alloc_host(what);
  // Alignment in bytes that cuMemAlloc guarantees.
  constexpr std::uint64_t driver_alignment = 256;
  const std::uint64_t room =
      what.alignment > driver_alignment ? what.alignment - driver_alignment : 0;
  GANTRY_TRY(const std::size_t bytes, bytes_with_room(what, room));
  retry();
  CUmemoryPool from = nullptr;
  if ((what.flags & GANTRY_ALLOC_IN_STREAM) != 0) {
    GANTRY_TRY(const bool captured, is_captured(stream));
    if (!captured) {
      GANTRY_TRY(from, pool());
    }
  }
  CUdeviceptr base = 0;
  Status made = from != nullptr
                    ? driver_.call(driver_.mem_alloc_in_stream, &base, bytes, from, stream)
                    : driver_.call(driver_.mem_alloc, &base, bytes);
  if (!made.ok()) return std::move(made).failure().at("while allocating ", ByteCount(what.size));
  const CUdeviceptr mask = what.alignment > driver_alignment ? what.alignment - 1 : 0;
  void* const data = reinterpret_cast<void*>((base + mask) & ~mask);
  return add({base, what.size, from != nullptr, nullptr}, data);
}

// Memory of others does not count.
std::int64_t Memory::counted(const Block& block) {
  return block.is_imported ? 0 : static_cast<std::int64_t>(block.size);
}

Result<void*> Memory::add(const Block& block, void* data) {
  bool is_new = false;
  try {
    const std::lock_guard lock(mutex_);
    is_new = blocks_.emplace(data, block).second;
    if (is_new) live_bytes_ += counted(block);
  } catch (...) {
    static_cast<void>(freed(block).ok());
    throw;
  }
  if (is_new) return data;
  static_cast<void>(freed(block).ok());
  return invalid("memory at ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                 " is imported already, or was allocated by this plugin")
      .with_reason("ARGUMENT");
}

// Page-locked memory, which the device copies without waiting.
Result<void*> Memory::alloc_host(const gantry_alloc& what) {
  const std::uint64_t room = std::max<std::uint64_t>(what.alignment, 1) - 1;
  GANTRY_TRY(const std::size_t bytes, bytes_with_room(what, room));
  retry();
  void* base = nullptr;
  Status made = driver_.call(driver_.mem_host_alloc, &base, bytes,
                             static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE));
  if (!made.ok())
    return std::move(made).failure().at("while allocating ", ByteCount(what.size), " of the host");
  const std::uintptr_t address = (reinterpret_cast<std::uintptr_t>(base) + room) & ~room;
  return add({0, what.size, false, base}, reinterpret_cast<void*>(address));
}

// Page-locks memory that others have allocated.
Result<Memory::Block> Memory::import_host(const gantry_external& what) {
  void* const first = static_cast<char*>(what.handle) + what.offset;
  Status locked = driver_.call(driver_.host_register, first, std::size_t{what.size},
                               static_cast<unsigned>(CU_MEMHOSTREGISTER_DEVICEMAP));
  if (!locked.ok())
    return std::move(locked).failure().at("while importing host memory of ", ByteCount(what.size));
  Block block{0, what.size};
  block.registered = first;
  Status found = driver_.call(driver_.host_device_pointer, &block.base, first, 0u);
  if (found.ok()) return block;
  driver_.host_unregister.function(first);
  return std::move(found).failure();
}

// The driver takes over the descriptor that it imports.
Result<Memory::Block> Memory::import_descriptor(const gantry_external& what) {
  GANTRY_TRY(Descriptor own, copy_of_descriptor(what));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory{};
  memory.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  memory.handle.fd = own.get();
  memory.size = what.offset + what.size;
  Block block{0, what.size};
  Status imported = driver_.call(driver_.external_import, &block.external,
                                 const_cast<const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*>(&memory));
  if (!imported.ok())
    return std::move(imported).failure().at("while importing descriptor ", what.fd);
  static_cast<void>(own.release());
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.offset = what.offset;
  part.size = what.size;
  Status mapped = driver_.call(driver_.external_map, &block.base, block.external,
                               const_cast<const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*>(&part));
  if (mapped.ok()) return block;
  driver_.external_destroy.function(block.external);
  return std::move(mapped).failure().at("while importing descriptor ", what.fd);
}

Result<void*> Memory::import(const gantry_external& what) {
  GANTRY_CHECK(check_external_range(what));
  Block block{reinterpret_cast<CUdeviceptr>(what.handle) + what.offset, what.size};
  if (what.kind == GANTRY_EXTERNAL_HOST) {
    GANTRY_TRY(block, import_host(what));
  } else if (what.kind == GANTRY_EXTERNAL_FD) {
    GANTRY_TRY(block, import_descriptor(what));
  } else if (what.kind != GANTRY_EXTERNAL_NATIVE) {
    return no_external_kind("cuda", what.kind);
  }
  block.is_imported = true;
  return add(block, reinterpret_cast<void*>(block.base));
}

// cuMemFree waits for the device's work, the other functions are not documented to.
Status Memory::freed(const Block& block) const {
  if (!block.is_imported && block.host == nullptr)
    return driver_.call(driver_.mem_free, block.base);
  Status first = driver_.call(driver_.context_synchronize);
  if (is_refused(first)) return first;
  // After another failure the device does no more work, and the memory is released all the same.
  const auto report = [&](Status other) {
    if (first.ok()) first = std::move(other);
  };
  if (!block.is_imported) {
    report(driver_.call(driver_.mem_free_host, block.host));
  } else if (block.registered != nullptr) {
    report(driver_.call(driver_.host_unregister, block.registered));
  } else if (block.external != nullptr) {
    report(driver_.call(driver_.mem_free, block.base));
    report(driver_.call(driver_.external_destroy, block.external));
  }
  return first;
}

std::optional<Memory::Block> Memory::take(void* data) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end()) {
    host_.log(GANTRY_LOG_ERROR, {"free of ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                                 ", which alloc did not return"});
    return std::nullopt;
  }
  const Block block = found->second;
  blocks_.erase(found);
  return block;
}

void Memory::free(void* data) {
  if (data == nullptr) return;
  const std::optional<Block> block = take(data);
  if (!block) return;
  retry();
  release(*block);
}

Status Memory::free_in_stream(void* data, CUstream stream) {
  if (data == nullptr) return {};
  const std::optional<Block> block = take(data);
  if (!block) return {};
  retry();
  const Result<bool> captured = is_captured(stream);
  if (!block->is_pooled || !captured.ok() || *captured) {
    release(*block);
    return captured.ok() ? Status() : Status(captured.error());
  }
  Status freed = driver_.call(driver_.mem_free_in_stream, block->base, stream);
  const std::lock_guard lock(mutex_);
  live_bytes_ -= counted(*block);
  return freed;
}

Status Memory::trim() {
  const std::lock_guard lock(pool_mutex_);
  if (pool_ == nullptr) return {};
  return driver_.call(driver_.pool_trim, pool_, std::size_t{0});
}

std::int64_t Memory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

void Memory::close() {
  retry();
  for (const auto& [data, block] : blocks_) release(block);
  blocks_.clear();
  if (pool_ != nullptr) driver_.pool_destroy.function(pool_);
}

// Frees a block, or defers it if the driver rejects the call during a capture.
void Memory::release(const Block& block) {
  const Status done = freed(block);
  const bool is_deferred = is_refused(done);
  if (!done.ok() && !is_deferred) {
    host_.log(GANTRY_LOG_WARNING,
              Message(done.error().message).at("while freeing ", ByteCount(block.size)));
  }
  const std::lock_guard lock(mutex_);
  if (is_deferred) {
    refused_.push_back(block);
  } else {
    live_bytes_ -= counted(block);
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
