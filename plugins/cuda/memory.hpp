// SPDX-License-Identifier: Apache-2.0
//
// The memory of one device: what alloc gave, how much is alive, what could not be freed yet.
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
  // returns  EXHAUSTED, UNSUPPORTED (a scope), INVALID (an alignment that is no power of two)
  // thread   any
  Result<void*> alloc(const gantry_alloc& what);

  // Frees. The driver waits for the work in flight on memory of cuMemAlloc, so nothing is deferred but what it refuses while
  // a stream is captured: the next alloc or free tries again.
  //
  // thread   any
  void free(void* data);

  // Bytes alive now, as they were asked for.
  std::int64_t live_bytes() const;

  // Frees what is left.
  void close();

 private:
  struct Block {
    // what the driver gave: alignment may lie between it and the address
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
