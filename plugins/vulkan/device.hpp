// SPDX-License-Identifier: Apache-2.0
//
// A started device: memory, copies, dispatches and events.
#pragma once

#include "recorder.hpp"

#include <gantry/device.h>
#include <gantry/device_loss.hpp>
#include <gantry/device_spans.hpp>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

namespace gantry::vulkan {

// kDLVulkan of DLPack.
constexpr std::int32_t vulkan_type = 7;

// A kernel compiled for one device.
struct Pipeline final : Resource {
  ~Pipeline() override;

  VkDevice device = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline handle = VK_NULL_HANDLE;
  bool pushes_descriptors = false;
  // True: scalars are in a uniform buffer, at the binding after the last storage buffer.
  bool has_uniform_buffer = false;
  // A multiple of 4.
  std::uint32_t push_constant_bytes = 0;
};

// A buffer as an argument of a dispatch.
struct Bound {
  Buffer* buffer;
  std::uint64_t offset;
};

struct Dispatch {
  const Pipeline* pipeline;
  // Indexed by binding.
  std::span<const Bound> buffers;
  // The scalar block: push constants or uniform buffer.
  std::span<const std::uint8_t> scalars;
  std::array<std::uint32_t, 3> grid;
  // For the trace.
  std::string_view name;
  std::array<std::uint32_t, 3> block;
};

// Timestamps before and after a dispatch.
struct Timestamps final : Resource {
  ~Timestamps() override;

  VkDevice device = VK_NULL_HANDLE;
  VkQueryPool query = VK_NULL_HANDLE;
  // Recorder::value() of the dispatch.
  std::uint64_t value = 0;
};

// An event: a timestamp in the device's order of work.
struct Event final : Resource {
  ~Event() override;

  VkDevice device = VK_NULL_HANDLE;
  // NULL: the queue has no clock, or the event no time.
  VkQueryPool query = VK_NULL_HANDLE;
  // Recorder::value() of the last record; 0: never recorded.
  std::uint64_t value = 0;
};

class Device {
 public:
  // Starts a device.
  //
  // host     [in]   for the trace
  // index    [in]   for messages
  // returns  UNAVAILABLE  option descriptors is push, the device lacks the extension
  //                       (EXTENSION_MISSING)
  //          others       see driver_error()
  static Result<std::unique_ptr<Device>> create(Host host, const Gpu& gpu, std::int32_t index,
                                                const Options& options);
  // Waits for all work.
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

  // Allocates memory for kernels' arguments. If memory is exhausted, waits for all work, so that
  // freed buffers are destroyed, and tries again.
  Result<Buffer*> alloc(std::uint64_t size);
  // Allocates memory of the host that the device copies without waiting.
  //
  // returns  UNSUPPORTED  no memory of the device is visible to the host, coherent and cached
  //                       (MEMORY_SCOPE)
  Result<void*> alloc_host(std::uint64_t size, std::uint64_t alignment);
  // returns  false  alloc_host() did not return it
  bool free_host(void* data);
  void free(Buffer* buffer);
  // Creates a buffer over host memory, or over a part of a VkBuffer or of a descriptor's memory.
  //
  // returns  INVALID  the part begins where no kernel's buffer can (ALIGNMENT)
  //          others   see Memory::import_host() and import_descriptor()
  Result<Buffer*> import_memory(const gantry_external& what);
  // Destroys freed buffers whose work has finished, and returns memory without buffers to the driver.
  void trim();
  // returns  INVALID  data is not a buffer of this device (DEVICE_DATA)
  Result<Buffer*> buffer_at(void* data) const;

  Status copy(const gantry_copy& what);
  // pattern  [in]   1, 2 or 4 bytes, whose number divides offset and size
  Status fill(Buffer& buffer, std::uint64_t offset, std::uint64_t size,
              std::span<const std::uint8_t> pattern);
  Status dispatch(const Dispatch& what);
  Status synchronize();

  // timed    [in]   false: it only orders work
  Result<std::unique_ptr<Event>> new_event(bool timed);
  Status record(Event& event);
  // returns  INVALID      an event was never recorded, or has no time (EVENT)
  //          UNSUPPORTED  the queue has no clock (NO_CLOCK)
  Result<std::int64_t> nanoseconds_between(Event& start, Event& stop);
  // Submits the event's work and waits for it for a time.
  //
  // returns  false: not within the time. INVALID: the event was never recorded (EVENT)
  Result<bool> is_reached(const Event& event, std::int64_t timeout_ns);
  // Destroys the resource after all work recorded so far has finished.
  void discard(std::unique_ptr<Resource> resource);

  DeviceLoss loss;

 private:
  Device(Host host, const Gpu& gpu, std::int32_t index)
      : gpu_(gpu), index_(index), spans_(host, concat("vulkan:", index)) {}
  Status start(const Options& options);
  // Returns timestamps for a dispatch; NULL: nothing is recorded, or the device cannot measure it.
  std::unique_ptr<Timestamps> new_timestamps() const;
  // Records the dispatches that have finished in the trace.
  //
  // lock     [in]   holds the recorder's mutex
  void finished(Recorder::Lock& lock);
  // A tick of the device's clock, and the same moment on the trace's clock.
  struct Anchor {
    std::uint64_t ticks;
    std::int64_t trace_ns;
  };
  std::optional<Anchor> anchor(Recorder::Lock& lock);
  // Nanoseconds between two times of the device's clock.
  std::int64_t nanoseconds(std::uint64_t from_ticks, std::uint64_t to_ticks) const;
  Result<Buffer*> staging(std::unique_ptr<Buffer>& kept, BufferUse use);
  Status upload(const std::uint8_t* from, Buffer& to, std::uint64_t offset, std::uint64_t size);
  Status download(Buffer& from, std::uint64_t offset, std::uint8_t* to, std::uint64_t size);
  // A part of memory of alloc_host().
  struct HostPart {
    Buffer* buffer;
    std::uint64_t offset;
  };
  std::optional<HostPart> host_part(const gantry_location& location, std::uint64_t size);
  // Copies between memory of alloc_host() and a buffer in the order of work.
  Status copy_with_host(const HostPart& part, Buffer& buffer, const gantry_copy& what,
                        bool to_host);
  // Records a copy between buffers; `lock` holds the recorder's mutex.
  Status record_copy(Recorder::Lock& lock, Buffer& from, std::uint64_t from_offset, Buffer& to,
                     std::uint64_t to_offset, std::uint64_t size);
  // Records that a queue family takes over memory which others share; `lock` holds the recorder's
  // mutex. Without it, its content is undefined for the new owner.
  Status transfer(Recorder::Lock& lock, Buffer& buffer, std::uint32_t from, std::uint32_t to);
  Status record_fill(Buffer& buffer, std::uint64_t offset, std::uint64_t size,
                     std::uint32_t pattern);
  // Makes the host's writes visible to the device, or the device's to the host; no effect on
  // coherent memory.
  Status sync_mapped(const Buffer& buffer, bool host_wrote) const;

  const Gpu& gpu_;
  std::int32_t index_;
  VkDevice device_ = VK_NULL_HANDLE;
  // NULL: buffers are bound with descriptor sets.
  PFN_vkCmdPushDescriptorSetKHR push_descriptors_ = nullptr;
  // NULL: the driver cannot read two clocks at the same moment.
  PFN_vkGetCalibratedTimestampsEXT calibrated_timestamps_ = nullptr;
  // Of all streams, which have one order.
  DeviceSpans<std::unique_ptr<Timestamps>> spans_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Recorder> recorder_;
  std::atomic<std::int64_t> allocated_bytes_{0};
  std::mutex host_mutex_;
  // Memory of alloc_host(), by its address.
  std::map<std::uintptr_t, std::unique_ptr<Buffer>> host_buffers_;
  // Locked before the recorder's mutex.
  std::mutex staging_mutex_;
  std::array<std::unique_ptr<Buffer>, 2> uploads_;
  std::size_t upload_turn_ = 0;
  // Bytes used in the current upload buffer since it was last waited for.
  std::uint64_t upload_used_ = 0;
  std::array<std::unique_ptr<Buffer>, 2> downloads_;
};

}  // namespace gantry::vulkan
