// SPDX-License-Identifier: Apache-2.0
//
// Buffers of one device, and where they lie.
//
//     mapped    the host writes and reads them where they are: integrated GPUs, software devices, and GPUs that
//               show all their memory to the host
//     staged    the host reaches them through a copy by the device
//
// Each is a part of a block of memory: blocks.hpp.
#pragma once

#include "blocks.hpp"
#include "driver.hpp"

#include <atomic>
#include <cstdint>

namespace gantry::vulkan {

// Something that the device may still use after its owner has given it up: see Recorder::discard().
struct Resource {
  Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource() = default;
};

class Device;
struct Buffer;

// What alloc hands out is the address of one. A plain struct: whoever gives back something else has it looked at, and
// nothing more.
struct Handle {
  static constexpr std::uint32_t live = 0x46554256;

  // `live` for what alloc gave and free has not got back
  std::uint32_t magic = 0;
  Buffer* buffer = nullptr;
};

struct Buffer final : Resource {
  ~Buffer() override;

  // of memory for kernels' arguments
  Handle cell;
  bool is_coherent = false;
  // the host's reads are fast
  bool is_cached = false;
  VkDevice device = VK_NULL_HANDLE;
  VkBuffer handle = VK_NULL_HANDLE;
  Part memory;
  // NULL: the host cannot reach it
  std::uint8_t* mapped = nullptr;
  // bytes, as asked for
  std::uint64_t size = 0;
  const Device* owner = nullptr;
  // Recorder's value of the last work with it
  std::uint64_t last_use = 0;
};

// What a buffer is for; which memory it gets.
enum class BufferUse {
  // kernels' arguments
  data,
  // host to device, through it
  upload,
  // device to host: the host reads it fast
  download,
  // kernels' uniform buffers
  scalars
};

class Memory : private BlockSource {
 public:
  // device   borrowed
  Memory(VkDevice device, const Gpu& gpu, MemoryChoice choice);

  // returns  EXHAUSTED    memory, or more than the device allocates at once
  //          UNAVAILABLE  no type of memory is fit: option `memory` asks for what the device has not (MEMORY_TYPE)
  // thread   any
  Result<std::unique_ptr<Buffer>> make(std::uint64_t size, BufferUse use);

  // Does the host reach buffers for data?
  bool is_mapped() const { return is_mapped_; }

  // Allocations of the driver that are alive.
  std::size_t allocation_count() const { return blocks_.count(); }

 private:
  // Index of the best type among those that `allowed` has bits for; -1: none.
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
