// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include "missing.hpp"

#include <gantry/host.h>

#include <algorithm>
#include <cstring>
#include <iterator>
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

}  // namespace

Error driver_error(VkResult result, std::string_view call) {
  if (result == VK_ERROR_DEVICE_LOST) {
    return lost(call, " returns ", name_of_result(result), " (", static_cast<int>(result),
                "), the device does not respond or was reset; a new runtime can use it again")
        .with_reason("DRIVER_CALL")
        .native("VULKAN", result);
  }
  const Code code = is_memory(result) ? Code::exhausted : Code::unavailable;
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
  if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
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
  const VkResult result = vkCreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    Error error = no_driver();
    error.native_domain = "VULKAN";
    error.native_code = result;
    return error;
  }
  if (result != VK_SUCCESS) return driver_error(result, "vkCreateInstance");
  if (!options.validation) return {};
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
