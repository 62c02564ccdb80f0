// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <utility>

namespace gantry::vulkan {
namespace {

// A batch of this many commands is submitted, so that the device works while the host records.
constexpr std::uint32_t max_commands = 64;
// Limit of submitted batches that have not finished; at the limit the host waits for the oldest.
constexpr std::size_t max_in_flight = 32;
constexpr std::uint64_t scalar_buffer_bytes = 64 << 10;
constexpr std::uint32_t sets_in_pool = 64;
constexpr std::uint32_t buffers_in_pool = 8 * sets_in_pool;

constexpr VkPipelineStageFlags device_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags device_writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags device_reads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

void barrier(VkCommandBuffer commands, VkPipelineStageFlags next, VkAccessFlags accesses) {
  VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  all.srcAccessMask = device_writes;
  all.dstAccessMask = accesses;
  vkCmdPipelineBarrier(commands, device_stages, next, 0, 1, &all, 0, nullptr, 0, nullptr);
}

}  // namespace

Recorder::~Recorder() {
  if (queue_ != VK_NULL_HANDLE) vkQueueWaitIdle(queue_);
  if (open_) in_flight_.push_back(std::move(open_));
  discarded_.clear();
  for (auto& batch : in_flight_) idle_.push_back(std::move(batch));
  for (auto& batch : idle_) {
    for (const VkDescriptorPool pool : batch->pools)
      vkDestroyDescriptorPool(device_, pool, nullptr);
  }
  idle_.clear();
  if (timeline_ != VK_NULL_HANDLE) vkDestroySemaphore(device_, timeline_, nullptr);
  if (commands_ != VK_NULL_HANDLE) vkDestroyCommandPool(device_, commands_, nullptr);
}

Status Recorder::start() {
  vkGetDeviceQueue(device_, gpu_.queue_family, 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = gpu_.queue_family;
  GANTRY_CHECK(
      checked(vkCreateCommandPool(device_, &pool, nullptr, &commands_), "vkCreateCommandPool"));
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  GANTRY_CHECK(
      checked(vkCreateSemaphore(device_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore"));
  return {};
}

Result<std::unique_ptr<Batch>> Recorder::new_batch() {
  std::unique_ptr<Batch> batch;
  if (!idle_.empty()) {
    batch = std::move(idle_.back());
    idle_.pop_back();
  } else {
    batch = std::make_unique<Batch>();
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = commands_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    GANTRY_CHECK(checked(vkAllocateCommandBuffers(device_, &info, &batch->commands),
                         "vkAllocateCommandBuffers"));
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (const VkResult begun = vkBeginCommandBuffer(batch->commands, &begin); begun != VK_SUCCESS) {
    idle_.push_back(std::move(batch));
    return driver_error(begun, "vkBeginCommandBuffer");
  }
  return batch;
}

Result<Batch*> Recorder::begin(Lock& lock) {
  if (lost_) return *lost_;
  if (!open_) {
    // wait() releases the lock, so another thread may open a batch.
    if (in_flight_.size() >= max_in_flight) GANTRY_CHECK(wait(lock, in_flight_.front()->value));
    if (!open_) {
      GANTRY_TRY(open_, new_batch());
    }
  }
  barrier(open_->commands, device_stages, device_reads | device_writes);
  return open_.get();
}

Status Recorder::done(Batch& batch) {
  if (++batch.command_count < max_commands) return {};
  return flush();
}

Status Recorder::flush() {
  if (lost_) return *lost_;
  if (!open_) return {};
  Batch& batch = *open_;
  // Makes the device's writes visible to the host when the semaphore is signalled.
  barrier(batch.commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  if (const VkResult ended = vkEndCommandBuffer(batch.commands); ended != VK_SUCCESS)
    return lost(ended, "vkEndCommandBuffer");
  batch.value = submitted_ + 1;
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &batch.value;
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.pNext = &values;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &batch.commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  if (const VkResult result = vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE);
      result != VK_SUCCESS) {
    return lost(result, "vkQueueSubmit");
  }
  ++submitted_;
  in_flight_.push_back(std::move(open_));
  return {};
}

Result<bool> Recorder::wait_for(Lock& lock, std::uint64_t value, std::uint64_t timeout_ns) {
  if (lost_) return *lost_;
  if (value <= completed_) return true;
  if (value > submitted_) GANTRY_CHECK(flush());
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  lock.unlock();
  const VkResult result = vkWaitSemaphores(device_, &info, timeout_ns);
  lock.lock();
  if (result == VK_TIMEOUT) return false;
  if (result != VK_SUCCESS) return lost(result, "vkWaitSemaphores");
  reap();
  return true;
}

void Recorder::reap() {
  std::uint64_t reached = 0;
  if (vkGetSemaphoreCounterValue(device_, timeline_, &reached) != VK_SUCCESS) return;
  completed_ = std::max(completed_, reached);
  while (!in_flight_.empty() && in_flight_.front()->value <= completed_) {
    Batch& batch = *in_flight_.front();
    for (std::size_t i = 0; i < batch.pools_used; ++i)
      vkResetDescriptorPool(device_, batch.pools[i], 0);
    batch.pools_used = 0;
    batch.scalars_used = 0;
    batch.scalars_at = 0;
    batch.command_count = 0;
    batch.bound = VK_NULL_HANDLE;
    idle_.push_back(std::move(in_flight_.front()));
    in_flight_.pop_front();
  }
  std::erase_if(discarded_, [&](const Discarded& one) { return one.last_use <= completed_; });
}

void Recorder::discard(std::unique_ptr<Resource> resource, std::uint64_t last_use) {
  if (last_use > completed_) discarded_.push_back({last_use, std::move(resource)});
}

Error Recorder::lost(VkResult result, std::string_view call) {
  lost_ = driver_error(result, call);
  return *lost_;
}

Result<Recorder::Slot> Recorder::scalar_slot(Batch& batch, std::uint64_t size) {
  const std::uint64_t step =
      std::max<std::uint64_t>(gpu_.properties.limits.minUniformBufferOffsetAlignment, 16);
  if (batch.scalars_used == 0 || batch.scalars_at + size > scalar_buffer_bytes) {
    if (batch.scalars_used == batch.scalars.size()) {
      GANTRY_TRY(auto buffer, memory_.make(scalar_buffer_bytes, BufferUse::scalars));
      batch.scalars.push_back(std::move(buffer));
    }
    ++batch.scalars_used;
    batch.scalars_at = 0;
  }
  const Slot slot{batch.scalars[batch.scalars_used - 1].get(), batch.scalars_at};
  batch.scalars_at += (size + step - 1) / step * step;
  return slot;
}

Result<VkDescriptorSet> Recorder::descriptor_set(Batch& batch, VkDescriptorSetLayout layout) {
  for (bool fresh = false;; fresh = true) {
    if (fresh || batch.pools_used == 0) {
      if (batch.pools_used == batch.pools.size()) {
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers_in_pool},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, sets_in_pool}};
        VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
        info.maxSets = sets_in_pool;
        info.poolSizeCount = 2;
        info.pPoolSizes = sizes;
        VkDescriptorPool pool = VK_NULL_HANDLE;
        GANTRY_CHECK(checked(vkCreateDescriptorPool(device_, &info, nullptr, &pool),
                             "vkCreateDescriptorPool"));
        batch.pools.push_back(pool);
      }
      ++batch.pools_used;
      fresh = true;
    }
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = batch.pools[batch.pools_used - 1];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult made = vkAllocateDescriptorSets(device_, &info, &set);
    if (made == VK_SUCCESS) return set;
    const bool is_full = made == VK_ERROR_OUT_OF_POOL_MEMORY || made == VK_ERROR_FRAGMENTED_POOL;
    if (fresh || !is_full) return driver_error(made, "vkAllocateDescriptorSets");
  }
}

}  // namespace gantry::vulkan
