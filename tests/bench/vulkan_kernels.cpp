// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/vulkan_kernels.hpp"

#include "tests/bench/suite.hpp"

#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace gantry::bench {
namespace {

constexpr std::uint32_t max_dispatches = 1024;

struct State {
  std::mutex mutex;
  // device of every command buffer
  std::map<VkCommandBuffer, VkDevice> devices;
  // the measured device
  VkDevice device = VK_NULL_HANDLE;
  // never destroyed
  VkQueryPool pool = VK_NULL_HANDLE;
  std::uint32_t count = 0;
};
State& state() {
  static State one;
  return one;
}
std::atomic<bool> is_watching{false};

// returns  true if two timestamps fit
bool make_room(State& all, VkCommandBuffer commands) {
  const auto found = all.devices.find(commands);
  if (found == all.devices.end() || all.count == max_dispatches) return false;
  if (all.pool == VK_NULL_HANDLE) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * max_dispatches;
    if (vkCreateQueryPool(found->second, &info, nullptr, &all.pool) != VK_SUCCESS) return false;
    all.device = found->second;
  }
  return all.device == found->second;
}

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

VulkanKernels::VulkanKernels() {
  state().count = 0;
  is_watching = true;
}

VulkanKernels::~VulkanKernels() { is_watching = false; }

double VulkanKernels::device_ns(double period) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.count == 0) throw Failed("no kernel was recorded through vkCmdDispatch");
  if (all.count == max_dispatches) throw Failed("more dispatches than timestamps");
  std::vector<std::uint64_t> ticks(2 * all.count);
  if (vkGetQueryPoolResults(all.device, all.pool, 0, 2 * all.count, 8 * ticks.size(), ticks.data(),
                            8, VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    throw Failed("a dispatch has no times");
  double sum = 0;
  for (std::size_t i = 0; i < ticks.size(); i += 2)
    sum += static_cast<double>(ticks[i + 1] - ticks[i]);
  return period * sum;
}

}  // namespace gantry::bench

extern "C" [[gnu::visibility("default")]] VKAPI_ATTR VkResult VKAPI_CALL vkAllocateCommandBuffers(
    VkDevice device, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* commands) {
  using namespace gantry::bench;
  static const auto next = real(&vkAllocateCommandBuffers, "vkAllocateCommandBuffers");
  const VkResult result = next(device, info, commands);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  for (std::uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; ++i)
    all.devices[commands[i]] = device;
  return result;
}

extern "C" [[gnu::visibility("default")]] VKAPI_ATTR void VKAPI_CALL
vkCmdDispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  using namespace gantry::bench;
  static const auto next = real(&vkCmdDispatch, "vkCmdDispatch");
  if (!is_watching.load(std::memory_order_relaxed)) return next(commands, x, y, z);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (!make_room(all, commands)) return next(commands, x, y, z);
  const std::uint32_t at = 2 * all.count++;
  vkCmdResetQueryPool(commands, all.pool, at, 2);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, all.pool, at);
  next(commands, x, y, z);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, all.pool, at + 1);
}
