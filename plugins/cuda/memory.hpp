// SPDX-License-Identifier: Apache-2.0
//
// The memory of one device: live allocations, their bytes, deferred frees, and a pool of the driver
// for memory that is allocated in stream order.
#pragma once

#include "driver.hpp"

#include <gantry/device.h>
#include <gantry/handle.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gantry::cuda {

class Memory {
 public:
  // index    [in]   of the device
  Memory(const Driver& driver, Host host, int index)
      : driver_(driver), host_(host), index_(index) {}

  // Allocates; the device's context is current. See gantry_device_table.alloc. Memory in stream order
  // is from the pool, unless the driver has none or the stream is captured: the graph would own it.
  //
  // stream   [in]   that of `what`
  // returns  EXHAUSTED    out of memory (DEVICE_MEMORY)
  //          UNSUPPORTED  a memory scope other than "global" and "host" (MEMORY_SCOPE)
  //          INVALID      the alignment is not a power of two (ALIGNMENT)
  // thread   any
  Result<void*> alloc(const gantry_alloc& what, CUstream stream);

  // Frees memory. cuMemFree waits for work in flight. It fails while a stream is captured; the next
  // alloc or free tries again.
  //
  // thread   any
  void free(void* data);
  // The same in stream order, without waiting, for memory from the pool.
  Status free_in_stream(void* data, CUstream stream);
  // See gantry_device_table.memory_import; the device's context is current.
  Result<void*> import(const gantry_external& what);
  // Returns unused memory of the pool to the driver.
  Status trim();

  // Returns the requested bytes of all live allocations.
  std::int64_t live_bytes() const;

  // Frees all remaining memory.
  void close();

 private:
  struct Block {
    // The driver's address; the caller's may be higher because of its alignment.
    CUdeviceptr base;
    std::uint64_t size;
    bool is_pooled = false;
    // The base of memory of scope "host" instead.
    void* host = nullptr;
    // Memory of others: host memory that is registered, the driver's object of a descriptor, or
    // neither.
    bool is_imported = false;
    void* registered = nullptr;
    CUexternalMemory external = nullptr;
  };
  Result<Block> import_host(const gantry_external& what);
  Result<Block> import_descriptor(const gantry_external& what);
  static std::int64_t counted(const Block& block);
  Result<void*> add(const Block& block, void* data);
  Result<void*> alloc_host(const gantry_alloc& what);
  Status freed(const Block& block) const;
  // Returns the pool, which the first call creates; NULL: the device has none.
  Result<CUmemoryPool> pool();
  Result<bool> is_captured(CUstream stream) const;
  // Removes a block that alloc returned; nullopt: there is none at `data`, which is logged.
  std::optional<Block> take(void* data);
  void release(const Block& block);
  void retry();

  const Driver& driver_;
  Host host_;
  int index_;
  std::mutex pool_mutex_;
  bool has_looked_for_pool_ = false;
  CUmemoryPool pool_ = nullptr;
  mutable std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::vector<Block> refused_;
  std::int64_t live_bytes_ = 0;
};

}  // namespace gantry::cuda
