// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include "missing.hpp"

#include <gantry/host.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

namespace gantry::vulkan {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

std::string_view name_of_result(VkResult result) {
  static constexpr std::pair<VkResult, std::string_view> names[] = {
      {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
      {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
      {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
      {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
      {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
      {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
      {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
      {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL"},
      {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
      {VK_ERROR_INVALID_EXTERNAL_HANDLE, "VK_ERROR_INVALID_EXTERNAL_HANDLE"},
      {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV"},
      {VK_TIMEOUT, "VK_TIMEOUT"},
  };
  const auto found =
      std::ranges::find(names, result, &std::pair<VkResult, std::string_view>::first);
  return found == std::end(names) ? "an unexpected result" : found->second;
}

bool is_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_FRAGMENTED_POOL ||
         result == VK_ERROR_OUT_OF_POOL_MEMORY;
}

bool layer_is_there(const char* wanted) {
  std::uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, wanted) == 0;
  });
}

Result<VkInstance> create_instance(const VkInstanceCreateInfo& info) {
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = vkCreateInstance(&info, nullptr, &instance);
  if (result == VK_SUCCESS) return instance;
  if (result != VK_ERROR_INCOMPATIBLE_DRIVER) return driver_error(result, "vkCreateInstance");
  Error error = no_driver();
  error.native_domain = "VULKAN";
  error.native_code = result;
  return error;
}

// Returns the instance that runtimes share; the first call creates it, and a failure is not kept.
//
// It is never destroyed. Drivers do not return everything with their instance: NVIDIA's did not start
// any more after 28 instances of one process, each destroyed before the next. If the last runtime
// destroyed it, a process that creates one runtime after another would still create one for each. The
// handle lasts as long as the process, because the host never unloads the plugin (HOST-9), and a
// forked child does not use it, because the host calls no function of the plugin there (HOST-14).
Result<VkInstance> instance_of_process(const VkInstanceCreateInfo& info) {
  static constinit std::mutex mutex;
  static constinit VkInstance instance = VK_NULL_HANDLE;
  const std::lock_guard lock(mutex);
  if (instance == VK_NULL_HANDLE) {
    GANTRY_TRY(instance, create_instance(info));
  }
  return instance;
}

}  // namespace

Error driver_error(VkResult result, std::string_view call) {
  if (result == VK_ERROR_DEVICE_LOST) {
    return lost(call, " returns ", name_of_result(result), " (", static_cast<int>(result),
                "), the device does not respond or was reset; a new runtime can use it again")
        .with_reason("DRIVER_CALL")
        .native("VULKAN", result);
  }
  const Code code = is_memory(result)                            ? Code::exhausted
                    : result == VK_ERROR_INVALID_EXTERNAL_HANDLE ? Code::invalid
                                                                 : Code::unavailable;
  return fail(code, call, " returns ", name_of_result(result), " (", static_cast<int>(result), ')')
      .with_reason("DRIVER_CALL")
      .native("VULKAN", result);
}

Result<std::unique_ptr<Instance>> Instance::create(const Options& options, Log log) {
  std::unique_ptr<Instance> instance(new Instance(std::move(log)));
  GANTRY_CHECK(instance->start(options));
  GANTRY_CHECK(instance->find_gpus(options));
  return instance;
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  if (is_own_) vkDestroyInstance(instance_, nullptr);
}

Status Instance::start(const Options& options) {
  std::uint32_t version = VK_API_VERSION_1_0;
  vkEnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_2) {
    return unavailable("libvulkan.so.1 implements Vulkan ", VK_API_VERSION_MAJOR(version), '.',
                       VK_API_VERSION_MINOR(version), ", minimum is 1.2")
        .with_reason("DRIVER_TOO_OLD");
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "gantry";
  application.apiVersion = version < VK_API_VERSION_1_3 ? VK_API_VERSION_1_2 : VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkDebugUtilsMessengerCreateInfoEXT messages{
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                             VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messages.pfnUserCallback = &Instance::message;
  messages.pUserData = this;
  const VkValidationFeatureEnableEXT enabled[] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT validation{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = enabled;
  validation.pNext = &messages;
  if (options.validation) {
    if (!layer_is_there(validation_layer)) {
      return unavailable("option validation requires the layer ", validation_layer,
                         ", which is not installed")
          .with_reason("LAYER_MISSING");
    }
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    info.pNext = &validation;
  }
  if (!options.validation) {
    GANTRY_TRY(instance_, instance_of_process(info));
    return {};
  }
  GANTRY_TRY(instance_, create_instance(info));
  is_own_ = true;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  GANTRY_CHECK(checked(create(instance_, &messages, nullptr, &messenger_),
                       "vkCreateDebugUtilsMessengerEXT"));
  return {};
}

VKAPI_ATTR VkBool32 VKAPI_CALL Instance::message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT,
                                                 const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                 void* self) {
  const bool is_error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  static_cast<Instance*>(self)->log_(is_error ? GANTRY_LOG_ERROR : GANTRY_LOG_WARNING,
                                     concat("validation: ", data->pMessage));
  return VK_FALSE;
}

}  // namespace gantry::vulkan
