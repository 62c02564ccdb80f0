// SPDX-License-Identifier: Apache-2.0
//
// Records the work of one device into batches of commands, which are submitted in order to one
// queue.
//
//     begin()           returns the open batch, after a barrier against all earlier commands
//     ... vkCmd...      records one command
//     done(batch)       counts the command; submits a batch that has reached its maximum length
//     wait(value)       submits the open batch if necessary, waits, destroys discarded resources
//
// All streams of the device use one recorder, so work runs in the order of recording. This costs no
// parallelism: in one queue, a barrier of one stream blocks the others in any case.
//
// A timeline semaphore numbers batches from 1. value() is the number of the batch with the last
// recorded command; work has finished when the semaphore has reached the number of its batch.
#pragma once

#include "memory.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace gantry::vulkan {

// A command buffer and the objects that its commands use.
struct Batch {
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::uint64_t value = 0;
  std::uint32_t command_count = 0;
  // The pipeline bound last; null in a new batch.
  VkPipeline bound = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> pools;
  std::size_t pools_used = 0;
  // Uniform buffers, filled one after another.
  std::vector<std::unique_ptr<Buffer>> scalars;
  std::size_t scalars_used = 0;
  // Bytes used in the uniform buffer that is being filled.
  std::uint64_t scalars_at = 0;
};

class Recorder {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // device, gpu, memory  [in]   borrowed
  Recorder(VkDevice device, const Gpu& gpu, Memory& memory)
      : device_(device), gpu_(gpu), memory_(memory) {}
  // Waits for all work.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Status start();

  // The functions below require the mutex; those that wait release it through `lock` meanwhile.
  std::mutex& mutex() { return mutex_; }

  // Returns the open batch, ready for one command.
  //
  // returns  EXHAUSTED  out of memory
  //          others     the error that made the device unusable
  Result<Batch*> begin(Lock& lock);
  // Must be called after each command; submits a batch that has reached its maximum length.
  Status done(Batch& batch);
  // Submits the open batch.
  Status flush();
  std::uint64_t value() const { return submitted_ + (open_ ? 1 : 0); }
  // Waits for batch `value`; 0 returns at once. A failure of the device is returned here and by
  // every later call.
  Status wait(Lock& lock, std::uint64_t value) {
    GANTRY_CHECK(wait_for(lock, value, UINT64_MAX));
    return {};
  }
  // The same for a time.
  //
  // returns  false: not within the time
  Result<bool> wait_for(Lock& lock, std::uint64_t value, std::uint64_t timeout_ns);
  Status wait_for_all(Lock& lock) { return wait(lock, value()); }
  // The last batch that is known to have finished.
  std::uint64_t completed() const { return completed_; }

  // Destroys a resource when batch `last_use` has finished.
  void discard(std::unique_ptr<Resource> resource, std::uint64_t last_use);

  // Destroys discarded resources whose last use has finished.
  void collect() {
    if (!discarded_.empty()) reap();
  }

  // Space for a kernel's scalars in a uniform buffer of the batch.
  struct Slot {
    Buffer* buffer;
    std::uint64_t offset;
  };
  Result<Slot> scalar_slot(Batch& batch, std::uint64_t size);
  // Allocates a descriptor set from the batch's pools.
  Result<VkDescriptorSet> descriptor_set(Batch& batch, VkDescriptorSetLayout layout);

 private:
  Result<std::unique_ptr<Batch>> new_batch();
  void reap();
  // Records an error after which the device is unusable, and returns it.
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
