// SPDX-License-Identifier: Apache-2.0
//
// The accelerator's memory, which the host cannot address: alloc returns numbers.
//
//     handle   0xabac, 8 bits of device, 40 bits of serial number. No address of any process:
//              reading through it ends in a fault
#pragma once

#include <gantry/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace abacus {

// One piece of memory. Work that uses it holds it: memory that is freed while work is in flight is
// released after that work.
class Buffer {
 public:
  // alive    [in]   the device's counter, which includes this piece until it is destroyed
  Buffer(std::uint64_t size, std::shared_ptr<std::atomic<std::uint64_t>> alive);
  // Over memory that others have allocated and that is not counted.
  Buffer(std::byte* data, std::uint64_t size) : size_(size), data_(data) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_;
  std::unique_ptr<std::byte[]> own_;
  std::byte* data_;
  std::shared_ptr<std::atomic<std::uint64_t>> alive_;
};

// The memory of one device.
//
// thread   any
class Memory {
 public:
  Memory(std::int32_t device, std::uint64_t capacity);

  // size     [in]   0 is allowed
  // returns  EXHAUSTED  more than the device has left (DEVICE_MEMORY)
  gantry::Result<void*> alloc(std::uint64_t size);
  // Returns a handle of memory that others have allocated, which free leaves to them.
  void* import(std::byte* data, std::uint64_t size);
  // Ignores NULL, and a handle that alloc did not return.
  void free(void* handle);

  // returns  INVALID  no memory of this device, or the range is not in it (DEVICE_MEMORY)
  gantry::Result<std::shared_ptr<Buffer>> find(void* handle, std::uint64_t offset,
                                               std::uint64_t size) const;

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t alive() const { return alive_->load(); }

 private:
  void* add(std::shared_ptr<Buffer> buffer);

  std::int32_t device_;
  std::uint64_t capacity_;
  std::shared_ptr<std::atomic<std::uint64_t>> alive_;
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<void*, std::shared_ptr<Buffer>> buffers_;
};

// Memory of the scope "host": the accelerator reads and writes host memory without waiting in any
// case, so that it is plain memory.
//
// thread   any
class HostMemory {
 public:
  // alignment [in]  a power of two
  gantry::Result<void*> alloc(std::uint64_t size, std::uint64_t alignment);
  // Work that uses the memory holds it.
  //
  // returns  false  alloc did not return it
  bool free(void* data);
  // Returns the memory at an address; NULL: it is other memory of the host.
  std::shared_ptr<std::byte> find(const void* address) const;

 private:
  struct Block {
    std::shared_ptr<std::byte> data;
    std::uint64_t size;
  };
  mutable std::mutex mutex_;
  // By address.
  std::map<std::uintptr_t, Block> blocks_;
};

}  // namespace abacus
