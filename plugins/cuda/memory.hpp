// SPDX-License-Identifier: Apache-2.0
//
// The memory of one device: live allocations, their bytes, and deferred frees.
#pragma once

#include "driver.hpp"

#include <gantry/device.h>
#include <gantry/handle.hpp>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace gantry::cuda {

class Memory {
 public:
  Memory(const Driver& driver, Host host) : driver_(driver), host_(host) {}

  // Allocates; the device's context is current. See gantry_device_table.alloc.
  //
  // returns  EXHAUSTED    out of memory (DEVICE_MEMORY)
  //          UNSUPPORTED  a memory scope other than "global" (MEMORY_SCOPE)
  //          INVALID      the alignment is not a power of two (ALIGNMENT)
  // thread   any
  Result<void*> alloc(const gantry_alloc& what);

  // Frees memory. cuMemFree waits for work in flight. It fails while a stream is captured; the next
  // alloc or free tries again.
  //
  // thread   any
  void free(void* data);

  // Returns the requested bytes of all live allocations.
  std::int64_t live_bytes() const;

  // Frees all remaining memory.
  void close();

 private:
  struct Block {
    // The driver's address; the caller's may be higher because of its alignment.
    CUdeviceptr base;
    std::uint64_t size;
  };
  void release(const Block& block);
  void retry();

  const Driver& driver_;
  Host host_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::vector<Block> refused_;
  std::int64_t live_bytes_ = 0;
};

}  // namespace gantry::cuda
