// SPDX-License-Identifier: Apache-2.0
//
// One device at work: memory, copies, dispatches, marks in its order of work.
#pragma once

#include "recorder.hpp"

#include <gantry/device.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>

namespace gantry::vulkan {

// DLPack's
constexpr std::int32_t vulkan_type = 7;

// A kernel as one device runs it.
struct Pipeline final : Resource {
  ~Pipeline() override;

  VkDevice device = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline handle = VK_NULL_HANDLE;
  bool pushes_descriptors = false;
  // at the binding behind the last buffer
  bool has_uniform_buffer = false;
  // a multiple of 4
  std::uint32_t push_constant_bytes = 0;
};

// A buffer as an argument of a dispatch.
struct Bound {
  Buffer* buffer;
  std::uint64_t offset;
};

struct Dispatch {
  const Pipeline* pipeline;
  // by binding
  std::span<const Bound> buffers;
  // the block
  std::span<const std::uint8_t> scalars;
  std::array<std::uint32_t, 3> grid;
};

// A mark: a timestamp in the order of work.
struct Event final : Resource {
  ~Event() override;

  VkDevice device = VK_NULL_HANDLE;
  // NULL: the queue has no clock
  VkQueryPool query = VK_NULL_HANDLE;
  // Recorder's, of the last record; 0: none
  std::uint64_t value = 0;
};

class Device {
 public:
  // index    [in]   for messages
  // returns  what the driver says
  static Result<std::unique_ptr<Device>> create(const Gpu& gpu, std::int32_t index,
                                                const Options& options);
  // waits
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Gpu& gpu() const { return gpu_; }
  VkDevice handle() const { return device_; }
  std::int32_t index() const { return index_; }
  bool pushes_descriptors() const { return push_descriptors_ != nullptr; }
  bool is_mapped() const { return memory_->is_mapped(); }
  std::size_t allocation_count() const { return memory_->allocation_count(); }
  std::int64_t allocated_bytes() const { return allocated_bytes_.load(std::memory_order_relaxed); }

  // Memory for kernels' arguments. Where there is none, waits for what was freed and tries again.
  Result<Buffer*> alloc(std::uint64_t size);
  void free(Buffer* buffer);
  // returns  INVALID  no buffer of this device (HANDLE)
  Result<Buffer*> buffer_at(void* data) const;

  Status copy(const gantry_copy& what);
  Status dispatch(const Dispatch& what);
  Status synchronize();

  Result<std::unique_ptr<Event>> new_event();
  Status record(Event& event);
  // returns  INVALID a mark that was not set; UNSUPPORTED the queue has no clock
  Result<std::int64_t> nanoseconds_between(Event& start, Event& stop);
  // Destroys it when nothing that is recorded now uses it.
  void discard(std::unique_ptr<Resource> resource);

 private:
  Device(const Gpu& gpu, std::int32_t index) : gpu_(gpu), index_(index) {}
  Status start(const Options& options);
  Result<Buffer*> staging(std::unique_ptr<Buffer>& kept, BufferUse use);
  Status upload(const std::uint8_t* from, Buffer& to, std::uint64_t offset, std::uint64_t size);
  Status download(Buffer& from, std::uint64_t offset, std::uint8_t* to, std::uint64_t size);
  // Records one copy between buffers; `lock` holds the recorder's mutex.
  Status record_copy(Recorder::Lock& lock, Buffer& from, std::uint64_t from_offset, Buffer& to,
                     std::uint64_t to_offset, std::uint64_t size);
  // Makes the host's writes seen by the device, or the device's by the host, where the memory does not by itself.
  Status sync_mapped(const Buffer& buffer, bool host_wrote) const;

  const Gpu& gpu_;
  std::int32_t index_;
  VkDevice device_ = VK_NULL_HANDLE;
  // NULL: descriptor sets
  PFN_vkCmdPushDescriptorSetKHR push_descriptors_ = nullptr;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Recorder> recorder_;
  std::atomic<std::int64_t> allocated_bytes_{0};
  // taken before the recorder's
  std::mutex staging_mutex_;
  std::array<std::unique_ptr<Buffer>, 2> uploads_;
  std::size_t upload_turn_ = 0;
  // bytes of the one whose turn it is, since it was last waited for
  std::uint64_t upload_used_ = 0;
  std::array<std::unique_ptr<Buffer>, 2> downloads_;
};

}  // namespace gantry::vulkan
