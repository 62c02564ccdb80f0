// SPDX-License-Identifier: Apache-2.0
//
// Compares the Vulkan plugin with the driver: launches, copies, a first run with and without cached
// pipelines, the host's share of a model's run, and the memory growth of repeated executors.
#include "tests/bench/child.hpp"
#include "tests/bench/device_rows.hpp"
#include "tests/bench/vulkan_kernels.hpp"

#include <vulkan/vulkan.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace gantry::bench {
namespace {

void vk(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw Failed(format(what, static_cast<double>(result)));
}

// The words of the only shader of an artifact.
std::vector<std::uint32_t> shader_of(const std::filesystem::path& artifact) {
  std::ifstream file(artifact, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = bytes.find("\x03\x02\x23\x07");
  if (at == std::string::npos) throw Failed("no SPIR-V in " + artifact.string());
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + at - sizeof count, sizeof count);
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), bytes.data() + at, 4 * count);
  return words;
}

struct RawBuffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  // NULL if the device's memory is not mappable
  void* mapped = nullptr;
};

// Uses the same device, kernel and kind of memory with the driver's functions. The objects are
// never destroyed.
struct Raw {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice gpu = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  PFN_vkCmdPushDescriptorSetKHR push = nullptr;

  Raw(const std::string& device_name, const std::vector<std::uint32_t>& shader) {
    make_device(device_name);
    make_pipeline(shader);
  }

  RawBuffer buffer(std::uint64_t bytes) const {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    RawBuffer made;
    vk(vkCreateBuffer(device, &info, nullptr, &made.handle), "vkCreateBuffer: %.0f");
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device, made.handle, &needs);
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
    VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocation.allocationSize = needs.size;
    constexpr VkMemoryPropertyFlags shown =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    for (std::uint32_t i = memory.memoryTypeCount; i-- > 0;) {
      if ((needs.memoryTypeBits >> i & 1u) != 0 &&
          (memory.memoryTypes[i].propertyFlags & shown) == shown)
        allocation.memoryTypeIndex = i;
    }
    vk(vkAllocateMemory(device, &allocation, nullptr, &made.memory), "vkAllocateMemory: %.0f");
    vk(vkBindBufferMemory(device, made.handle, made.memory, 0), "vkBindBufferMemory: %.0f");
    if (vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped) != VK_SUCCESS)
      made.mapped = nullptr;
    return made;
  }

  void begin() const {
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    vk(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer: %.0f");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  }
  void dispatch(const std::array<RawBuffer, 3>& buffers) const {
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                         nullptr);
    std::array<VkDescriptorBufferInfo, 3> infos{};
    for (std::size_t i = 0; i < 3; ++i) infos[i] = {buffers[i].handle, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.descriptorCount = 3;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos.data();
    push(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    const std::array<std::uint64_t, 4> scalars{kElements, 1, 1, 1};
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof scalars,
                       scalars.data());
    vkCmdDispatch(commands, kElements / 64, 1, 1);
  }
  void run() const {
    vk(vkEndCommandBuffer(commands), "vkEndCommandBuffer: %.0f");
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    vk(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit: %.0f");
    vk(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences: %.0f");
    vk(vkResetFences(device, 1, &fence), "vkResetFences: %.0f");
  }

 private:
  void make_device(const std::string& device_name) {
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &application;
    vk(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance: %.0f");
    std::uint32_t count = 0;
    vkEnumeratePhysicalDevices(instance, &count, nullptr);
    std::vector<VkPhysicalDevice> all(count);
    vkEnumeratePhysicalDevices(instance, &count, all.data());
    for (const VkPhysicalDevice one : all) {
      VkPhysicalDeviceProperties properties{};
      vkGetPhysicalDeviceProperties(one, &properties);
      if (device_name == properties.deviceName) gpu = one;
    }
    if (gpu == VK_NULL_HANDLE) throw Failed("no device " + device_name);
    std::uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(gpu, &families, nullptr);
    std::vector<VkQueueFamilyProperties> queues(families);
    vkGetPhysicalDeviceQueueFamilyProperties(gpu, &families, queues.data());
    std::uint32_t family = 0;
    while ((queues.at(family).queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
    const float priority = 1;
    VkDeviceQueueCreateInfo wanted{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    wanted.queueFamilyIndex = family;
    wanted.queueCount = 1;
    wanted.pQueuePriorities = &priority;
    const char* extension = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    VkDeviceCreateInfo made{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    made.queueCreateInfoCount = 1;
    made.pQueueCreateInfos = &wanted;
    made.enabledExtensionCount = 1;
    made.ppEnabledExtensionNames = &extension;
    vk(vkCreateDevice(gpu, &made, nullptr, &device), "vkCreateDevice: %.0f");
    push = reinterpret_cast<PFN_vkCmdPushDescriptorSetKHR>(
        vkGetDeviceProcAddr(device, "vkCmdPushDescriptorSetKHR"));
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_info.queueFamilyIndex = family;
    VkCommandPool pool = VK_NULL_HANDLE;
    vk(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool: %.0f");
    VkCommandBufferAllocateInfo buffer_info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    buffer_info.commandPool = pool;
    buffer_info.commandBufferCount = 1;
    vk(vkAllocateCommandBuffers(device, &buffer_info, &commands), "vkAllocateCommandBuffers: %.0f");
    VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    vk(vkCreateFence(device, &fence_info, nullptr, &fence), "vkCreateFence: %.0f");
  }

  void make_pipeline(const std::vector<std::uint32_t>& words) {
    std::array<VkDescriptorSetLayoutBinding, 3> bindings{};
    for (std::uint32_t i = 0; i < 3; ++i) {
      bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    }
    VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set_info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    set_info.bindingCount = 3;
    set_info.pBindings = bindings.data();
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    vk(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set), "set layout: %.0f");
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 32};
    VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &range;
    vk(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), "pipeline layout: %.0f");
    VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    code.codeSize = 4 * words.size();
    code.pCode = words.data();
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "axpy2_kernel0";
    info.layout = layout;
    vk(vkCreateShaderModule(device, &code, nullptr, &info.stage.module), "shader: %.0f");
    vk(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
       "pipeline: %.0f");
  }
};

Way launches(const Raw& raw) {
  const std::array buffers{raw.buffer(4 * kElements), raw.buffer(4 * kElements),
                           raw.buffer(4 * kElements)};
  return [&raw, buffers] {
    raw.begin();
    for (int i = 0; i < kLaunches; ++i) raw.dispatch(buffers);
    raw.run();
  };
}

// The host copies if the device's memory is mappable, so the host's rate is the baseline.
Copy copy(const std::shared_ptr<Raw>& raw, void* bytes) {
  const auto give_back = [raw](RawBuffer* buffer) {
    vkDestroyBuffer(raw->device, buffer->handle, nullptr);
    vkFreeMemory(raw->device, buffer->memory, nullptr);
    delete buffer;
  };
  const std::shared_ptr<RawBuffer> buffer(new RawBuffer(raw->buffer(kCopyBytes)), give_back);
  if (buffer->mapped == nullptr) throw Failed("the device's memory is not mappable");
  return [=](bool to_device) {
    std::memcpy(to_device ? buffer->mapped : bytes, to_device ? bytes : buffer->mapped, kCopyBytes);
    benchmark::ClobberMemory();
  };
}

// Runs a process that loads resnet20 and runs it once, each time with an empty driver cache.
void add_first_runs(Suite& suite) {
  const std::filesystem::path directory = suite.fixtures / "vulkan";
  const auto run = [directory, golden = suite.golden, tree = suite.build_tree](bool warm) {
    std::filesystem::remove_all(directory / "driver");
    if (!warm) std::filesystem::remove_all(directory / "ours");
    std::filesystem::create_directories(directory / "driver");
    run_child({"/usr/bin/env", "MESA_SHADER_CACHE_DIR=" + (directory / "driver").string(),
               "XDG_CACHE_HOME=" + (directory / "ours").string(),
               (tree / "tests/gantry_bench_memory").string(), "cycles",
               (golden / "tvm-0.12/resnet20_vulkan.so").string(),
               (tree / "share/gantry/plugins.d").string(), "vulkan:0", "1"});
    return 0;
  };
  for (const bool warm : {false, true}) {
    bench(warm ? "vulkan/first run/warm" : "vulkan/first run/cold",
          [=](benchmark::State& state) {
            if (warm && !std::filesystem::exists(directory / "ours")) run(false);
            timed(state, [=] { return run(warm); });
          })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(5);
  }
  suite.figure("Vulkan, first run of resnet20 with pipelines on disk", [](const Times& times) {
    const double cold = times.median("vulkan/first run/cold");
    return Row{1.1, times.median("vulkan/first run/warm") / cold, "x cold",
               format("cold %.2f s", cold / 1e9)};
  });
}

// Adds the share of a run that is not kernel time on the device, measured by the device's clock.
void add_overhead(Suite& suite, const std::shared_ptr<OnDevice>& ours,
                  const std::shared_ptr<Raw>& raw) {
  const Module model =
      or_fail(ours->runtime.load((suite.golden / "tvm-0.12/resnet20_vulkan.so").string()));
  const auto executor =
      std::make_shared<Executor>(or_fail(Executor::create(ours->runtime, model, {"vulkan:0"})));
  // share of each run that is not the device's
  const auto parts = std::make_shared<std::vector<double>>();
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(raw->gpu, &properties);
  const double period = static_cast<double>(properties.limits.timestampPeriod);
  bench("vulkan/resnet20",
        [ours, executor, parts, period](benchmark::State& state) {
          // Compile the pipelines before the measurement.
          if (parts->empty()) {
            or_fail(executor->run());
            ours->synchronize();
          }
          for ([[maybe_unused]] auto _ : state) {
            VulkanKernels kernels;
            const auto begun = std::chrono::steady_clock::now();
            or_fail(executor->run());
            ours->synchronize();
            const std::chrono::duration<double, std::nano> whole =
                std::chrono::steady_clock::now() - begun;
            parts->push_back(1 - kernels.device_ns(period) / whole.count());
            state.SetIterationTime(whole.count() / 1e9);
          }
        })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(5);
  suite.figure("Vulkan, resnet20 steady run, not the device's time", [parts](const Times& times) {
    const double whole = times.median("vulkan/resnet20");
    return Row{0.05, median_of(*parts), "of the run", format("%.1f ms in all", whole / 1e6)};
  });
}

}  // namespace

void add_vulkan(Suite& suite) {
  const auto ours = on_device(suite, "axpy2_vulkan.so", "vulkan:0");
  if (ours == nullptr) return;
  const auto raw = std::make_shared<Raw>(ours->attribute("name"),
                                         shader_of(suite.golden / "tvm-0.12/axpy2_vulkan.so"));
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(kCopyBytes, 1);
  add_launches(
      suite, "Vulkan", ours, [raw] { return launches(*raw); }, 1.2);
  add_copies(
      suite, "Vulkan", "", ours, bytes->data(), [raw, bytes] { return copy(raw, bytes->data()); },
      Clock::thread);
  add_first_runs(suite);
  add_overhead(suite, ours, raw);
  add_cycles(suite, "Vulkan", "digits_mlp_vulkan.so", ours->name);
}

}  // namespace gantry::bench
