// SPDX-License-Identifier: Apache-2.0
//
// The work of one device: command buffers filled between two waits, submitted in order to one queue.
//
//     begin()           a command buffer, behind a barrier against all that was recorded before
//     ... vkCmd...      one command
//     done(...)         notes what it used; submits when the batch is long
//     wait(value)       submits what is open, waits, frees what was discarded
//
// All streams of the device record here, so the order of recording is the order of work. Nothing is lost by it: with
// one queue, a barrier of one stream holds up the others anyway.
//
// Batches are numbered from 1 by a timeline semaphore. value() is the number of the batch that holds all that is
// recorded now; work is done when the semaphore has reached its number.
#pragma once

#include "memory.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gantry::vulkan {

// One command buffer and what its commands refer to.
struct Batch {
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::uint64_t value = 0;
  std::uint32_t command_count = 0;
  // while it is open
  VkPipeline bound = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> pools;
  std::size_t pools_used = 0;
  // uniform buffers, filled one after the other
  std::vector<std::unique_ptr<Buffer>> scalars;
  std::size_t scalars_used = 0;
  // in the one that is being filled
  std::uint64_t scalars_at = 0;
};

class Recorder {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // device, memory   borrowed
  Recorder(VkDevice device, const Gpu& gpu, Memory& memory)
      : device_(device), gpu_(gpu), memory_(memory) {}
  // waits
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Status start();

  // Everything below: `lock` holds the mutex; waiting gives it up meanwhile.
  std::mutex& mutex() { return mutex_; }

  // returns  what failed in the device before; EXHAUSTED
  Result<Batch*> begin(Lock& lock);
  // The command is recorded. Where it makes the batch long, the batch is submitted.
  Status done(Batch& batch);
  // Submits what is open.
  Status flush() { return submit(); }
  std::uint64_t value() const { return submitted_ + (open_ ? 1 : 0); }
  // Waits for batch `value`; 0 needs no waiting. Failures of the device are told here, and from then on by every call.
  Status wait(Lock& lock, std::uint64_t value);
  Status wait_for_all(Lock& lock) { return wait(lock, value()); }

  // Destroys something when batch `last_use` is done.
  void discard(std::unique_ptr<Resource> resource, std::uint64_t last_use);

  // Destroys what was discarded and is no longer used.
  void collect() {
    if (!discarded_.empty()) reap();
  }

  // Room for a kernel's scalars in a uniform buffer of the batch.
  struct Slot {
    Buffer* buffer;
    std::uint64_t offset;
  };
  Result<Slot> scalar_slot(Batch& batch, std::uint64_t size);
  // A descriptor set from the batch's pools.
  Result<VkDescriptorSet> descriptor_set(Batch& batch, VkDescriptorSetLayout layout);

 private:
  Result<std::unique_ptr<Batch>> new_batch();
  Status submit();
  void reap();
  // From now on the device is of no use.
  Error lost(VkResult result, std::string_view call);

  VkDevice device_;
  const Gpu& gpu_;
  Memory& memory_;
  std::mutex mutex_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  std::unique_ptr<Batch> open_;
  std::deque<std::unique_ptr<Batch>> in_flight_;
  std::vector<std::unique_ptr<Batch>> idle_;
  struct Discarded {
    std::uint64_t last_use;
    std::unique_ptr<Resource> resource;
  };
  std::vector<Discarded> discarded_;
  std::optional<Error> lost_;
};

}  // namespace gantry::vulkan
