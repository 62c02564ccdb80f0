// SPDX-License-Identifier: Apache-2.0
//
// A plugin that was created for one runtime.
#pragma once

#include "core/engine/runtime/host_table.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace gantry {

class PluginInstance {
 public:
  // Resolves the plugin's options, reserves the numbers of its devices, creates it and registers
  // the devices. What `create` changes of a ProcessState is restored, with a warning.
  //
  // state    [in]   borrowed, outlives the instance
  // returns  the plugin's own error; CONFIG_KEY, CONFIG_VALUE; invalid if a device name or number
  //          is in use
  static Result<std::shared_ptr<PluginInstance>> create(RuntimeState& state,
                                                        std::shared_ptr<const LoadedPlugin> plugin,
                                                        const Manifest& manifest);
  // Destroys the plugin's self. Precondition: its tensors, modules and functions are destroyed.
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  const LoadedPlugin& plugin() const { return *plugin_; }
  void* self() const { return self_; }
  PluginHost& host() { return host_; }
  // Held while a payload is loaded, unless the loader is parallel.
  std::mutex& load_mutex() { return load_mutex_; }

 private:
  PluginInstance() = default;

  PluginHost host_;
  std::shared_ptr<const LoadedPlugin> plugin_;
  void* self_ = nullptr;
  bool created_ = false;
  std::mutex load_mutex_;
};

// The instance that ChoiceOptions::activate of a runtime creates.
inline PluginInstance& instance_of(const ActivePlugin& plugin) {
  return *static_cast<PluginInstance*>(plugin.instance.get());
}

}  // namespace gantry
