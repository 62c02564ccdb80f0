// SPDX-License-Identifier: Apache-2.0
//
// Buffers of one device.
//
//     mapped    the host reads and writes them directly: integrated GPUs, software devices, and
//               GPUs whose whole memory is visible to the host
//     staged    the device copies between them and buffers that the host can access
//
// Each buffer is a part of a block of memory, see blocks.hpp.
#pragma once

#include "blocks.hpp"
#include "driver.hpp"

#include <gantry/device.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace gantry::vulkan {

// An object that the device may use after its owner has released it, see Recorder::discard().
struct Resource {
  Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource() = default;
};

class Device;
struct Buffer;

// alloc returns the address of one. It is a plain struct so that checking a pointer that is not a
// handle reads only the magic.
struct Handle {
  static constexpr std::uint32_t live = 0x46554256;

  // `live` between alloc and free.
  std::uint32_t magic = 0;
  Buffer* buffer = nullptr;
};

struct Buffer final : Resource {
  ~Buffer() override;

  // Set for buffers that Device::alloc() returns.
  Handle cell;
  bool is_coherent = false;
  // True: the host caches the memory, its reads are fast.
  bool is_cached = false;
  VkDevice device = VK_NULL_HANDLE;
  VkBuffer handle = VK_NULL_HANDLE;
  Part memory;
  // NULL: the host cannot access the memory.
  std::uint8_t* mapped = nullptr;
  // Requested bytes; the driver's buffer may be larger.
  std::uint64_t size = 0;
  const Device* owner = nullptr;
  // Recorder::value() of the last work that uses the buffer.
  std::uint64_t last_use = 0;
  // Offset of the first byte in the driver's buffer.
  std::uint64_t base = 0;
  // Memory of others: the driver's buffer is theirs, or `imported` is their memory.
  bool is_imported = false;
  VkDeviceMemory imported = VK_NULL_HANDLE;
  // The queue family that others use the memory of a descriptor with; nullopt: not of a descriptor.
  std::optional<std::uint32_t> other_family;
};

// The purpose of a buffer, which determines its memory type.
enum class BufferUse {
  // Arguments of kernels.
  data,
  // The same in memory of a descriptor.
  imported,
  // Staging from host to device.
  upload,
  // Staging from device to host; cached memory is preferred.
  download,
  // Uniform buffers of kernels.
  scalars
};

class Memory : private BlockSource {
 public:
  // device   [in]   borrowed
  Memory(VkDevice device, const Gpu& gpu, MemoryChoice choice);

  // Creates a buffer.
  //
  // returns  EXHAUSTED    out of memory, or size exceeds the limit of one allocation (MEMORY)
  //          UNAVAILABLE  the device has no memory type that use and option `memory` require
  //                       (MEMORY_TYPE)
  // thread   any
  Result<std::unique_ptr<Buffer>> make(std::uint64_t size, BufferUse use);

  // Returns memory that no buffer uses to the driver.
  void trim() { blocks_.trim(); }

  // Creates a buffer over host memory.
  //
  // returns  INVALID      address or size have no alignment that the driver requires (ALIGNMENT)
  //          UNSUPPORTED  the driver does not import host memory (EXTERNAL_KIND)
  Result<std::unique_ptr<Buffer>> import_host(void* address, std::uint64_t size);

  // returns  INVALID  no kernel's buffer begins at this offset in memory of others (ALIGNMENT)
  Status check_offset(std::uint64_t offset) const;

  // Creates a buffer over memory up to `what.size` after `what.offset`.
  //
  // returns  INVALID      see external_memory.hpp; the offset (ALIGNMENT); the driver does not know
  //                       the descriptor (DRIVER_CALL)
  //          EXHAUSTED    out of memory, or of open files
  //          UNSUPPORTED  the driver does not import this kind, or has no type for this memory
  //                       (EXTERNAL_KIND)
  Result<std::unique_ptr<Buffer>> import_descriptor(const gantry_external& what);

  // True if the host accesses buffers of BufferUse::data directly.
  bool is_mapped() const { return is_mapped_; }

  // Returns the number of the driver's live allocations.
  std::size_t allocation_count() const { return blocks_.count(); }

 private:
  // Creates a buffer for memory of this kind, without memory.
  //
  // needs    [out]  of its memory
  Result<std::unique_ptr<Buffer>> external_buffer(std::uint64_t size,
                                                  VkExternalMemoryHandleTypeFlagBits kind,
                                                  VkMemoryRequirements* needs) const;
  // Imports memory and binds the buffer to it. buffer.imported is set if it is imported.
  //
  // import   [in]   VkMemoryAllocateInfo.pNext
  Status bind_import(Buffer& buffer, const void* import, std::uint64_t size, int type) const;
  // Returns the index of the best type whose bit is set in `allowed`; -1: none.
  int type_for(std::uint32_t allowed, BufferUse use) const;
  Result<VkDeviceMemory> allocate(std::uint32_t type, std::uint64_t size) override;
  Result<std::uint8_t*> map(VkDeviceMemory memory) override;
  void free(VkDeviceMemory memory) override;

  VkDevice device_;
  const Gpu& gpu_;
  MemoryChoice choice_;
  bool is_mapped_ = false;
  Blocks blocks_;
};

}  // namespace gantry::vulkan
