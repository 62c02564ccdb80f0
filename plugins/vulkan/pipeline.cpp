// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <gantry/quoted.hpp>

#include <cstring>
#include <numeric>

namespace gantry::vulkan {
namespace {

Error lacks(const Gpu& gpu, const Kernel& kernel, std::string_view reason, const auto&... what) {
  return unsupported("kernel ", quoted(kernel.call.name()), " requires ", what..., " on ",
                     std::string_view(gpu.properties.deviceName))
      .with_reason(reason);
}

// Returns the newest SPIR-V version that a device of this Vulkan version accepts.
std::uint32_t newest_spirv(std::uint32_t vulkan) {
  return vulkan >= VK_API_VERSION_1_3 ? 0x00010600 : 0x00010500;
}

Status make_layouts(const Device& device, const Kernel& kernel, Pipeline& pipeline) {
  const bool uniform = kernel.shader.scalar_location == ScalarLocation::uniform_buffer;
  std::vector<VkDescriptorSetLayoutBinding> bindings(kernel.buffer_count + (uniform ? 1 : 0));
  for (std::uint32_t i = 0; i < bindings.size(); ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = i < kernel.buffer_count ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                         : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  pipeline.has_uniform_buffer = uniform;
  pipeline.pushes_descriptors =
      device.pushes_descriptors() && bindings.size() <= device.gpu().max_push_descriptors;
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  if (pipeline.pushes_descriptors)
    set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  GANTRY_CHECK(
      checked(vkCreateDescriptorSetLayout(device.handle(), &set, nullptr, &pipeline.set_layout),
              "vkCreateDescriptorSetLayout"));
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &pipeline.set_layout;
  if (kernel.shader.scalar_location == ScalarLocation::push_constants)
    pipeline.push_constant_bytes = (kernel.scalar_bytes + 3) / 4 * 4;
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, pipeline.push_constant_bytes};
  if (range.size != 0) {
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
  }
  GANTRY_CHECK(checked(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &pipeline.layout),
                       "vkCreatePipelineLayout"));
  return {};
}

}  // namespace

Pipeline::~Pipeline() {
  if (handle != VK_NULL_HANDLE) vkDestroyPipeline(device, handle, nullptr);
  if (layout != VK_NULL_HANDLE) vkDestroyPipelineLayout(device, layout, nullptr);
  if (set_layout != VK_NULL_HANDLE) vkDestroyDescriptorSetLayout(device, set_layout, nullptr);
}

Status check_kernel(const Gpu& gpu, const Kernel& kernel) {
  const ShaderFacts& shader = kernel.shader;
  const VkPhysicalDeviceLimits& limits = gpu.properties.limits;
  if (const std::uint32_t newest = newest_spirv(gpu.properties.apiVersion);
      shader.version > newest) {
    return lacks(gpu, kernel, "SHADER_VERSION", "SPIR-V ", spirv_version_text(shader.version),
                 ", newest is ", spirv_version_text(newest));
  }
  for (const std::uint32_t capability : shader.capabilities) {
    if (!gpu.has_capability(capability)) {
      return lacks(gpu, kernel, "SHADER_CAPABILITY", "SPIR-V capability ", capability,
                   ", which is missing");
    }
  }
  std::uint64_t threads = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    threads *= shader.local_size[axis];
    if (shader.local_size[axis] <= limits.maxComputeWorkGroupSize[axis]) continue;
    return lacks(gpu, kernel, "SHADER_LIMIT", shader.local_size[axis], " threads along ",
                 "xyz"[axis], ", maximum is ", limits.maxComputeWorkGroupSize[axis]);
  }
  if (threads > limits.maxComputeWorkGroupInvocations) {
    return lacks(gpu, kernel, "SHADER_LIMIT", threads, " threads in a block, maximum is ",
                 limits.maxComputeWorkGroupInvocations);
  }
  if (kernel.buffer_count > limits.maxPerStageDescriptorStorageBuffers) {
    return lacks(gpu, kernel, "SHADER_LIMIT", kernel.buffer_count, " buffers, maximum is ",
                 limits.maxPerStageDescriptorStorageBuffers);
  }
  const bool pushed = shader.scalar_location == ScalarLocation::push_constants;
  if (pushed && kernel.scalar_bytes > limits.maxPushConstantsSize) {
    return lacks(gpu, kernel, "SHADER_LIMIT", kernel.scalar_bytes,
                 " bytes of push constants, maximum is ", limits.maxPushConstantsSize);
  }
  return {};
}

Result<std::unique_ptr<Pipeline>> build_pipeline(const Device& device, const Kernel& kernel,
                                                 VkPipelineCache cache) {
  GANTRY_CHECK(check_kernel(device.gpu(), kernel));
  auto pipeline = std::make_unique<Pipeline>();
  pipeline->device = device.handle();
  GANTRY_CHECK(make_layouts(device, kernel, *pipeline));

  // Words in a payload have no alignment; drivers require aligned words.
  std::vector<std::uint32_t> aligned;
  VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  code.codeSize = kernel.words.size();
  if (reinterpret_cast<std::uintptr_t>(kernel.words.data()) % alignof(std::uint32_t) == 0) {
    code.pCode = reinterpret_cast<const std::uint32_t*>(kernel.words.data());
  } else {
    aligned.resize(kernel.words.size() / sizeof(std::uint32_t));
    std::memcpy(aligned.data(), kernel.words.data(), kernel.words.size());
    code.pCode = aligned.data();
  }
  VkShaderModule shader = VK_NULL_HANDLE;
  const auto of_kernel = [&](VkResult result, std::string_view call) {
    return driver_error(result, call).at("while compiling kernel ", quoted(kernel.call.name()));
  };
  if (const VkResult made = vkCreateShaderModule(device.handle(), &code, nullptr, &shader);
      made != VK_SUCCESS) {
    return of_kernel(made, "vkCreateShaderModule");
  }
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = shader;
  info.stage.pName = kernel.shader.entry_point.c_str();
  info.layout = pipeline->layout;
  const VkResult made =
      vkCreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &pipeline->handle);
  vkDestroyShaderModule(device.handle(), shader, nullptr);
  if (made != VK_SUCCESS) return of_kernel(made, "vkCreateComputePipelines");
  return pipeline;
}

bool is_cache_of(const VkPhysicalDeviceProperties& properties,
                 std::span<const std::uint8_t> bytes) {
  VkPipelineCacheHeaderVersionOne header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= bytes.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == properties.vendorID && header.deviceID == properties.deviceID &&
         std::memcmp(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

PipelineCache::PipelineCache(const Device& device, DiskCache* disk, std::string_view module)
    : device_(device), disk_(disk) {
  const VkPhysicalDeviceProperties& properties = device.gpu().properties;
  const std::string_view uuid(reinterpret_cast<const char*>(properties.pipelineCacheUUID),
                              VK_UUID_SIZE);
  key_ = DiskCache::key(
      {"vulkan pipelines 1", std::string_view(properties.deviceName),
       concat(properties.vendorID, ' ', properties.deviceID, ' ', properties.driverVersion), uuid,
       module});
  if (disk_ != nullptr) {
    if (auto kept = disk_->load(key_); kept && is_cache_of(properties, *kept))
      loaded_ = std::move(*kept);
  }
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = loaded_.size();
  info.pInitialData = loaded_.data();
  // Not an error: kernels compile without a cache.
  if (vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_) != VK_SUCCESS)
    cache_ = VK_NULL_HANDLE;
}

PipelineCache::~PipelineCache() {
  save();
  if (cache_ != VK_NULL_HANDLE) vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

void PipelineCache::save() {
  if (cache_ == VK_NULL_HANDLE || disk_ == nullptr) return;
  std::size_t size = 0;
  if (vkGetPipelineCacheData(device_.handle(), cache_, &size, nullptr) != VK_SUCCESS) return;
  std::vector<std::uint8_t> bytes(size);
  if (vkGetPipelineCacheData(device_.handle(), cache_, &size, bytes.data()) != VK_SUCCESS) return;
  bytes.resize(size);
  if (bytes == loaded_) return;
  if (disk_->store(key_, bytes)) loaded_ = std::move(bytes);
}

}  // namespace gantry::vulkan
